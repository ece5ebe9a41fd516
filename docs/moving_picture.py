# SPDX-License-Identifier: Apache-2.0
"""The moving picture of README.md: the arm of a demo, and beside it what the payload estimator knows at that moment.

    panda-dynamics demo --output demo_output
    python docs/moving_picture.py demo_output docs/images/demo.webp

It replays the demo's recording through the pipeline of the nodes and draws a frame for each fifth of a second.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from panda_dynamics_ros import JointDataset, load_dataset, load_robot
from panda_dynamics_ros.estimation.estimate import NORMAL_95
from panda_dynamics_ros.recordings.replay import Replay, replay
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.reporting.scene_picture import draw_scene, scene_points

STEP, SPEED = 0.2, 2.0  # s of the recording between two frames; times real time
HEIGHT = 400  # px
BLUE, RED = "#1f5fa8", "#c0392b"


def known_at(result: Replay, sample: int) -> int:
    """Index among the published estimates of the last one up to a sample; -1 before the first."""
    return int(np.searchsorted(result.published, sample, side="right")) - 1


def mass_picture(result: Replay, truth: np.ndarray, sample: int) -> Image.Image:
    """The estimated mass up to a sample with its 95 % interval, and what the arm truly carries."""
    time = result.stamp - result.stamp[0]
    figure = Figure(figsize=(4.0, HEIGHT / 100.0), dpi=100, layout="constrained")
    axes = figure.subplots()
    known = slice(0, sample + 1, 10)
    mass, band = result.mass[known], NORMAL_95 * result.mass_std[known]
    axes.fill_between(time[known], mass - band, mass + band, color=BLUE, alpha=0.18, linewidth=0)
    axes.plot(time[known], truth[known], color=RED, linewidth=1.2, linestyle="--", label="carried")
    axes.plot(time[known], mass, color=BLUE, linewidth=1.8, label="estimated, with 95 % interval")
    axes.set(xlim=(0.0, time[-1]), ylim=(-0.3, 1.4 * truth.max()), xlabel="time (s)", ylabel="payload mass (kg)")
    margin = NORMAL_95 * result.mass_std[sample]
    axes.set_title(f"{result.mass[sample]:.2f} ± {margin:.2f} kg (95 %)", fontsize=15, color=BLUE)
    axes.legend(loc="upper left", fontsize=9)
    axes.grid(alpha=0.25)
    picture = io.BytesIO()
    figure.savefig(picture)
    return Image.open(picture).convert("RGB")


def carried_mass(demo: Path, data: JointDataset) -> np.ndarray:
    """(N,), kg: what the simulated arm carried at each sample, from the demo's summary."""
    summary = json.loads((demo / "summary.json").read_text(encoding="utf-8"))
    mass, time = np.zeros(len(data.stamp)), data.stamp - data.stamp[0]
    for event in summary["events"]:
        if event["kind"] in ("picked", "released"):
            mass[time >= event["stamp"]] = summary["truth"]["mass"] if event["kind"] == "picked" else 0.0
    return mass


def frames(demo: Path, folder: Path) -> list[Image.Image]:
    """The pictures of a demo in its output folder, one for each `STEP`; `folder` is for files on the way."""
    robot = load_robot("panda")
    data = load_dataset(demo / "recording", robot)
    result, truth, scene = replay(data, robot), carried_mass(demo, data), ArmScene(robot)
    samples = np.searchsorted(data.stamp, np.arange(data.stamp[0] + 1.0, data.stamp[-1], STEP))
    scenes = [scene.at(data.q[k], result.estimates[known_at(result, k)]) for k in samples]
    around = np.concatenate([scene_points(each) for each in scenes[::5]])
    pictures = []
    for k, each in zip(samples, scenes, strict=True):
        with Image.open(draw_scene(each, folder / "scene.png", around)) as drawn:
            arm = drawn.convert("RGB").resize((HEIGHT * drawn.width // drawn.height, HEIGHT), Image.Resampling.LANCZOS)
        chart = mass_picture(result, truth, k)
        picture = Image.new("RGB", (arm.width + chart.width, HEIGHT), "white")
        picture.paste(arm, (0, 0))
        picture.paste(chart, (arm.width, 0))
        pictures.append(picture)
    return pictures


def main() -> None:
    """Write the moving picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="output folder of `panda-dynamics demo`")
    parser.add_argument("picture", type=Path, help="file to write: .webp, .gif or .png")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, *others = frames(args.demo, Path(folder))
    duration = round(1000.0 * STEP / SPEED)  # ms
    first.save(args.picture, save_all=True, append_images=others, duration=duration, loop=0, quality=70, method=4)


if __name__ == "__main__":
    main()
