# SPDX-License-Identifier: Apache-2.0
"""Compiles what a node needs, or loads what was compiled before, while no sample is waiting."""

import contextlib
import fcntl
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.compiled import CACHE
from panda_dynamics_ros.dynamics.robot_state import store_pose
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.estimation.arm_monitor import ArmMonitor
from panda_dynamics_ros.model import RobotModel, load_robot
from panda_dynamics_ros.robot import InertialParameters


def _samples(robot: RobotModel, payload: float = 0.0) -> Iterator[tuple[float, FloatArray, FloatArray, FloatArray]]:
    """A second of an arm in motion with a payload, kg, which something pushes at last."""
    middle, speed = 0.5 * (robot.limits.lower + robot.limits.upper), 0.2 * robot.limits.velocity
    torque = np.zeros(robot.n)
    if payload:
        carrying = robot.with_payload(InertialParameters(payload, (0.0, 0.0, 0.1), 0.01 * payload * np.eye(3)))
        # Of rows, as in the estimator: no other kernel is compiled for it.
        torque = carrying.inverse_dynamics(middle[None], torque[None], torque[None])[0]
    for k in range(100):
        push = 100.0 * robot.residual.std if k > 80 else 0.0
        yield 0.01 * k, middle + 0.1 * speed * math.sin(0.1 * k), speed * math.cos(0.1 * k), torque + push


def _dynamics() -> None:
    robot = load_robot("panda")
    monitor = ArmMonitor(robot)
    monitor.update_rows(*map(np.array, zip(*_samples(robot), strict=True)), payload=False)
    q = robot.limits.lower.copy()
    robot.pose(q), robot.gravity_torques(q)  # of the markers
    store_pose(np.eye(4), np.empty(7))


def _payload_estimator() -> None:
    robot = load_robot("panda")
    monitor = ArmMonitor(robot)
    monitor.update_rows(*map(np.array, zip(*_samples(robot, 1.0), strict=True)))
    monitor.payload_estimator.tare()
    robot.pose(robot.limits.lower.copy())


def _suite() -> None:
    _dynamics()
    _payload_estimator()


def _simulated_panda() -> None:
    from panda_dynamics_ros.simulation import SimulatedPanda  # MuJoCo is optional

    SimulatedPanda(load_robot("panda")).step()


NODES: dict[str, Callable[[], None]] = {
    "dynamics": _dynamics,
    "payload_estimator": _payload_estimator,
    "suite": _suite,
    "simulated_panda": _simulated_panda,
}
"""What each node runs before it is ready."""


COMPLETE = "complete"
"""Name of the file in the cache's folder that stands for: all that the nodes need has been compiled."""


@contextlib.contextmanager
def _alone(folder: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Within, no other process of this user is."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another process that compiles the kernels")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def warm_up(*nodes: str, report: Callable[[str], None]) -> None:
    """Run what these nodes run, so that their kernels are in memory, and in the cache on disk.

    After an installation one process of a user compiles, what all nodes need; those that call this meanwhile wait, and
    then load.

    nodes: some of `NODES`.
    report: gets a line where it takes long.
    Raises ArgumentError: there is no such node.
    Raises MissingDependencyError: MuJoCo is not installed, which `simulated_panda` needs.
    """
    for node in nodes:
        if node not in NODES:
            raise ArgumentError(f"nodes: expected some of {', '.join(NODES)}, got {node!r}")
    if CACHE is not None and not (CACHE / COMPLETE).exists():
        with contextlib.suppress(OSError), _alone(CACHE, report):
            if not (CACHE / COMPLETE).exists():
                report("compiling the kernels, which takes about 15 s after an installation")
                for node in NODES:
                    with contextlib.suppress(MissingDependencyError):
                        NODES[node]()
                (CACHE / COMPLETE).touch()
    for node in nodes:
        NODES[node]()
