# SPDX-License-Identifier: Apache-2.0
"""Objects and pushes on a real Panda that stands, with a force sensor at its flange as the truth.

    python -m benchmarks.real_loads RECORDING.csv ...

Columns: t (s); q1.. and dq1.. (rad, rad/s); tau_ext1.. (N m, with Franka's sign); fx, fy, fz (N, of the sensor). The
torques are those of the model's gravity plus tau_ext: the arm's own errors are not in them, but friction, hysteresis
and drift are. A load is a force of more than 2 N that stays for at least two seconds and varies by less than a tenth;
any other force of more than 4 N is a push. Its force by the torques is the one at the flange that explains them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.common import Z95, console, table
from panda_dynamics_ros import ArmMonitor, PayloadEstimate
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import contact_wrench

TOUCHED, PUSHED = 2.0, 4.0  # N
LEAST, VARIES, EDGE = 2.0, 0.1, 0.3  # s; share of the force; s left out where it comes and goes
SETTLED, RISING = 1.5, 1.0  # s: after the start; before 4 N, while the force rises
GRAVITY, STRONG = 9.81, 0.8  # m/s^2; share of the largest force from which on forces are compared


class Touch(NamedTuple):
    """A force from `start` to `end`, s, of `force` N: its median as a load, else its largest value."""

    start: float
    end: float
    force: float
    is_load: bool


def touches(stamp: FloatArray, force: FloatArray) -> list[Touch]:
    """Stretches (N,) in which the force exceeds `TOUCHED`, and which begin after `SETTLED`."""
    on = np.concatenate(([False], force > TOUCHED, [False]))
    edges = np.flatnonzero(np.diff(on.astype(int))).reshape(-1, 2)
    found = []
    for first, end in edges:
        start, last = float(stamp[first]), float(stamp[end - 1])
        middle = force[(stamp > start + EDGE) & (stamp < last - EDGE)]
        median = float(np.median(middle)) if middle.size else 0.0
        is_load = last - start > LEAST and float(np.ptp(np.percentile(middle, (5, 95)))) < VARIES * median
        if start - stamp[0] > SETTLED:
            found.append(Touch(start, last, median if is_load else float(force[first:end].max()), is_load))
    return found


def examine(path: Path, loads: list[list[str]], pushes: list[list[str]]) -> None:
    """Add a row for each load and push of a recording."""
    log, panda = np.genfromtxt(path, delimiter=",", names=True), pdr.load_robot("panda")
    q, dq, tau_ext = (np.column_stack([log[f"{name}{k}"] for k in range(1, 8)]) for name in ("q", "dq", "tau_ext"))
    force = np.linalg.norm(np.column_stack([log[name] for name in ("fx", "fy", "fz")]), axis=1)
    samples = log["t"], q, dq, panda.gravity_torques(q) + tau_ext
    found = ArmMonitor(panda).update_rows(*samples)
    external = ArmMonitor(panda).update_rows(*samples, payload=False).external_torques  # none of them a payload's
    felt = np.linalg.norm(contact_wrench(panda, q, external).wrench[:, :3], axis=1)
    last = {contact.start: contact for _, contact in found.contacts}
    ends = [np.inf if contact.end is None else contact.end for contact in last.values()]
    said = dict.fromkeys(last, "contact")
    said |= {e.event.stamp: e.event.kind for _, e, _ in found.estimates if e.event is not None}
    for touch in touches(log["t"], force):
        first = (
            touch.start
            if touch.is_load
            else float(log["t"][(force > PUSHED) & (log["t"] >= touch.start)].min(initial=np.inf))
        )
        events = sorted((stamp - first, kind) for stamp, kind in said.items() if -RISING < stamp - first < LEAST)
        noticed = [f"{1e3 * delay:+.0f} ms" for delay, _ in events[:1]] or ["never"]
        kinds = [", ".join(dict.fromkeys(kind for _, kind in events))]
        over = max((end for start, end in zip(last, ends, strict=True) if start < touch.end + EDGE), default=np.nan)
        kinds.append(f"{1e3 * (over - touch.end):+.0f} ms")
        strong = (log["t"] >= touch.start) & (log["t"] <= touch.end) & (force > STRONG * force.max())
        if touch.is_load:
            estimate = [e for k, e, _ in found.estimates if log["t"][k] < touch.end - EDGE][-1]
            loads.append([path.stem, *_mass(estimate, touch.force / GRAVITY), *noticed, *kinds])
        elif touch.force > PUSHED:
            ratio = f"{felt[strong].mean() / force[strong].mean():.2f}"
            pushes.append([path.stem, f"{first:.1f}", f"{touch.force:.1f}", ratio, *noticed, *kinds])


def _mass(estimate: PayloadEstimate, truth: float) -> list[str]:
    """True mass, error, and half of the 95 % interval, g."""
    half = Z95 * float(estimate.std[0])
    return [f"{1e3 * truth:.0f}", f"{1e3 * (estimate.mass - truth):+.0f}", f"{1e3 * half:.0f}"]


def main() -> None:
    """Print a table of loads and one of pushes."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.real_loads", description="Loads and pushes, measured")
    options.add_argument("recordings", nargs="+", type=Path, metavar="RECORDING.csv")
    loads: list[list[str]] = []
    pushes: list[list[str]] = []
    for path in options.parse_args().recordings:
        examine(path, loads, pushes)
    out = console()
    if loads:
        out.print(table("Loads", ["recording", "g", "error, g", "95 %, g", "noticed after", "as", "over after"], loads))
    if pushes:
        columns = ["recording", "at, s", "N", "by the torques", "noticed after 4 N", "as", "over after"]
        out.print(table("Pushes", columns, pushes))


if __name__ == "__main__":
    main()
