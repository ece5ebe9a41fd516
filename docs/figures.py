# SPDX-License-Identifier: Apache-2.0
"""Makes all that README and docs show of what the code does: printed outputs and pictures. `make figures` calls it.

A block of text after `<!-- prints: COMMAND -->` is what the command prints; `(slow)` after `prints` keeps it out of the
tests. Commands run in one folder, in the order of the pages. A comment after the last line of a page's Python blocks is
what they print. Pictures are made by the functions below, from a run of the demo and from simulated runs.

    python docs/figures.py            all of them, in minutes
    python docs/figures.py --outputs  without the pictures
    python docs/figures.py --quick    the outputs that a test compares
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main as panda_dynamics
from panda_dynamics_ros.reporting.plots import BLUE, GREEN, GREY, ORANGE, RED, Figure, styled

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
IMAGES = ROOT / "docs" / "images"
PRINTED = re.compile(
    r"(<!-- prints(?P<slow> \(slow\))?: (?P<command>.+?) -->\n```text\n)(?P<text>.*?)(?=^```$)", re.M | re.S
)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
PROMISE = re.compile(r"(?<=  # )[^#\n]+(?=\n\Z)")
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
ARMS = (1, 2, 3, 4, 5)
"""Seeds of the simulated arms that the methods are compared on."""


def printed_by(command: str) -> str:
    """What a `panda-dynamics` command prints to standard output, without the list of files and trailing blanks."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert panda_dynamics(shlex.split(command)[1:]) == 0, command
    lines = [line.rstrip() for line in out.getvalue().splitlines() if not line.startswith("written: ")]
    return "\n".join(lines) + "\n"


def printed_by_python(page: str) -> str:
    """The last line that a page's Python blocks print."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec("".join(PYTHON.findall(page)), {})
    return out.getvalue().rstrip().splitlines()[-1]


@contextlib.contextmanager
def workshop() -> Iterator[Path]:
    """A folder in which commands run."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(here)


def renewed(page: str, quick: bool) -> str:
    """The text of a page with what its commands, and the last line of README's code, print today."""

    def block(match: re.Match[str]) -> str:
        return match[0] if quick and match["slow"] else match[1] + printed_by(match["command"])

    page = PRINTED.sub(block, page)
    code = list(PYTHON.finditer(page))
    if code and PROMISE.search(code[-1][1]):
        first, last = code[-1].span(1)
        page = page[:first] + PROMISE.sub(lambda _: printed_by_python(page), page[first:last]) + page[last:]
    return page


def differences(old: str, new: str) -> list[str]:
    """Lines of the new text whose words differ, or whose numbers differ by more than two units of the last place.

    Processors round differently; two units of what is printed are more than they can be apart.
    """
    found = []
    for before, after in zip(old.splitlines(), new.splitlines(), strict=False):
        numbers = list(zip(NUMBER.findall(before), NUMBER.findall(after), strict=False))
        near = all(abs(float(a) - float(b)) <= 2.01 * 10.0 ** -len(b.partition(".")[2]) for a, b in numbers)
        words = [" ".join(NUMBER.sub("0", line).replace("─", "").split()) for line in (before, after)]
        if not near or words[0] != words[1]:
            found.append(after)
    return found + ([] if len(old.splitlines()) == len(new.splitlines()) else ["another number of lines"])


def demo_pictures() -> None:
    """Pictures of one run of the demo: still, moving, and in the web page; the last two by Chromium."""
    sys.path.append(str(ROOT / "test"))
    from browser import chromium

    with workshop() as folder:
        subprocess.run([sys.executable, "-m", "panda_dynamics_ros.cli", "demo", "--output", "demo"], check=True)
        (IMAGES / "demo_payload.png").write_bytes((folder / "demo" / "payload.png").read_bytes())
        if chromium() is None:
            print("demo.webp and view.png stay what they were: expected a Chromium, got none")
            return
        script = [sys.executable, str(ROOT / "docs" / "moving_picture.py")]
        subprocess.run([*script, str(folder / "demo" / "recording"), str(IMAGES / "demo.webp")], check=True)
        page_picture(folder / "demo" / "recording")


def page_picture(recording: Path) -> None:
    """The web page of a replay."""
    words = ["replay", str(recording), "--view", "--rate", "1", "--output", "viewed", "--bag-format", "none"]
    from browser import open_page

    process = subprocess.Popen(
        [sys.executable, "-m", "panda_dynamics_ros.cli", *words],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        address = next(line.split()[-1] for line in process.stderr if line.startswith("live view: "))
        with open_page(address) as page:
            page.wait_for_text("detected pick")
            page.evaluate("document.querySelectorAll('[class*=Notification-close]').forEach(each => each.click())")
            time.sleep(4.0)  # until the picture has settled
            page.screenshot(IMAGES / "view.png")
    finally:
        process.kill()
        process.wait()


@styled
def methods_picture() -> None:
    """How far each method is from the truth over time: the median of five simulated arms that differ from the model."""
    errors = [methods_errors(seed) for seed in ARMS]
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    axes = figure.subplots()
    time = errors[0][0]
    for name, colour in zip(errors[0][1], (BLUE, GREY, ORANGE, GREEN, RED), strict=True):
        middle = np.median([1e3 * each[1][name] for each in errors], axis=0)
        axes.plot(time, middle, color=colour, label=name, linewidth=1.6)
    axes.set(yscale="log", xlabel="time since the start of a run with 1 kg (s)", ylabel="error of the mass (g), median")
    axes.set_yticks([2, 5, 10, 20, 50], labels=["2", "5", "10", "20", "50"])
    axes.tick_params(which="minor", labelleft=False)
    axes.grid(alpha=0.25, which="both")
    figure.legend(loc="outside upper center", ncols=5, fontsize=9)
    figure.savefig(IMAGES / "methods.png", dpi=110)


def methods_errors(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times (K,), s, and by method the error (K,), kg, of the mass of a payload of 1 kg on one simulated arm."""
    from panda_dynamics_ros.estimation import smooth_payloads
    from panda_dynamics_ros.estimation.paired_runs import weigh_paired_runs
    from panda_dynamics_ros.simulation import SimulatedPanda, exciting_motion
    from panda_dynamics_ros.simulation.motion_search import READY, weighing_motion
    from panda_dynamics_ros.simulation.plant import simulated_runs
    from panda_dynamics_ros.simulation.realism import Realism

    robot = pdr.load_robot("panda")
    truth = pdr.InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.0017 * np.eye(3))
    motion = weighing_motion(robot, list(READY), trials=200, seed=0)
    unloaded, loaded = simulated_runs(robot, motion, truth, "AB", seed)
    time = np.arange(0.5, loaded.duration_s, 0.1)
    known = np.searchsorted(loaded.stamp, loaded.stamp[0] + time) - 1
    rows = loaded.stamp, loaded.q, loaded.dq, loaded.tau
    # An unloaded run of the same arm on an exciting motion of a minute.
    searched = exciting_motion(robot, seed)
    plant = SimulatedPanda(
        robot, seed=seed, realism=Realism.repeating(), excitation=searched, arm_excitation=searched, noise_seed=seed
    )
    fit = pdr.identify(plant.record(60.0), robot)
    mapped = pdr.learn_residual([unloaded], robot)
    online = {"online": robot, "online, identified arm": fit.robot, "online, residual map": mapped}
    errors = {name: np.abs(pdr.replay(loaded, arm).mass[known] - 1.0) for name, arm in online.items()}
    (segment, *_), weighed = smooth_payloads(robot, *rows), weigh_paired_runs(robot, [loaded], [unloaded])
    for name, mass in (
        ("smoothed (all samples)", segment.estimate.mass),
        ("weighed (paired runs)", weighed.estimate.mass),
    ):
        errors[name] = np.full(len(time), abs(mass - 1.0))
    return time, errors


PICK = 14.0
"""s, of the pick at rest in the pictures of the estimator."""


@styled
def estimator_pictures() -> None:
    """What the estimator learns about a simulated arm that differs from its model, and what happens at a pick."""
    from panda_dynamics_ros.estimation import PayloadEstimator
    from panda_dynamics_ros.simulation import SimulatedPanda, exciting_motion

    robot = pdr.load_robot("panda")
    motion = replace(exciting_motion(robot, 3), pauses=((PICK - 1.0, 2.5),))
    plant, estimator = SimulatedPanda(robot, seed=3, excitation=motion), PayloadEstimator(robot)
    body = pdr.InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.0017 * np.eye(3))
    rows = []
    for k in range(24_000):
        if k == round(1e3 * PICK):
            plant.attach(body)
        stamp, q, dq, tau = plant.step()
        estimate = estimator.update(stamp, q, dq, tau)
        if k % 20 == 0:
            errors = estimator.arm_errors
            mass = estimate.mass, estimate.mass_margin
            rows.append(
                [
                    stamp,
                    *mass,
                    *errors.offset,
                    *errors.offset_std,
                    *errors.friction,
                    *errors.friction_std,
                    *estimator.residual,
                ]
            )
    time, mass, margin, *joints = np.array(rows).T
    learnt = np.array(joints).reshape(5, 7, -1)
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for axes, (row, title) in zip(
        figure.subplots(1, 2),
        ((0, "torque offset (N m)"), (2, "dry friction beyond the published (share)")),
        strict=True,
    ):
        for joint, colour in ((2, BLUE), (4, ORANGE)):
            mean, std = learnt[row, joint - 1], learnt[row + 1, joint - 1]
            axes.plot(time, mean, color=colour, label=f"joint {joint}")
            axes.fill_between(time, mean - 2.0 * std, mean + 2.0 * std, color=colour, alpha=0.15, linewidth=0.0)
        axes.set(xlabel="time (s)", title=title)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=9)
    figure.savefig(IMAGES / "learnt.png", dpi=110)
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for joint, colour in ((2, BLUE), (4, ORANGE), (6, GREEN)):
        upper.plot(time, learnt[4, joint - 1], color=colour, label=f"joint {joint}")
    upper.set(ylabel="unexplained torque (N m)")
    lower.plot(time, mass, color=RED, label="mass")
    lower.fill_between(time, mass - margin, mass + margin, color=RED, alpha=0.15, linewidth=0.0, label="95 % interval")
    lower.set(xlabel="time (s)", ylabel="mass (kg)", xlim=(PICK - 1.0, PICK + 4.0), ylim=(-0.3, 1.6))
    for axes in (upper, lower):
        axes.axvline(PICK, color=GREY, linestyle="--", linewidth=1.0)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=9, loc="upper right")
    figure.savefig(IMAGES / "event.png", dpi=110)


PICTURES: tuple[Callable[[], None], ...] = (estimator_pictures, methods_picture, demo_pictures)


def main() -> None:
    """Write what is shown anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the outputs of commands that take seconds")
    parser.add_argument("--outputs", action="store_true", help="no pictures")
    args = parser.parse_args()
    with workshop():
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            page.write_text(renewed(text, args.quick), encoding="utf-8")
    for picture in () if args.quick or args.outputs else PICTURES:
        print(picture.__name__, flush=True)
        picture()


if __name__ == "__main__":
    main()
