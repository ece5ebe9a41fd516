# SPDX-License-Identifier: Apache-2.0
"""Time of a sample in one process: the rows of a recording, a loop over the objects, Pinocchio for the dynamics."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed.pinocchio_arm import PinocchioArm
from panda_dynamics_ros import ArmMonitor, load_dataset, load_robot
from panda_dynamics_ros.annotation import annotate

TURNS = 3


def seconds_per_sample(path: Path) -> dict[str, tuple[float, int]]:
    """Median time, s, and how many rows of results come of it; in turns, so that a busy machine slows all."""
    robot = load_robot("panda")
    data, arm = load_dataset(path, robot), PinocchioArm(robot)
    count = len(data.stamp)

    def rows() -> int:
        return len(annotate(path, robot))

    def loop() -> int:
        monitor, changes = ArmMonitor(robot), 0
        for k in range(count):
            changes += monitor.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k]).contact_changed
        return changes

    def compiled() -> int:
        found = ArmMonitor(robot).update_rows(data.stamp, data.q, data.dq, data.tau)
        return len(found.estimates) + len(found.contacts)

    def pinocchio() -> int:
        for q, dq in zip(data.q, data.dq, strict=True):
            arm.pose(q), arm.gravity_torques(q), arm.coriolis_torques(q, dq), arm.mass_matrix(q)
        return 0

    def reading() -> int:
        return 0 * len(load_dataset(path, robot).stamp)

    ways: dict[str, Callable[[], int]] = {
        "annotate: file to rows, payloads, contacts, residual": rows,
        "ArmMonitor.update_rows, samples in memory: payload, contacts, external torques": compiled,
        "plain loop over ArmMonitor.update, which has pose, gravity and wrench, too": loop,
        "Pinocchio: pose, gravity, Coriolis, mass matrix only": pinocchio,
        "reading the file alone": reading,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    found = {name: way() for name, way in ways.items()}  # also compiles
    for _ in range(TURNS):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            times[name].append((time.perf_counter() - began) / count)
    return {name: (statistics.median(times[name]), found[name]) for name in ways}
