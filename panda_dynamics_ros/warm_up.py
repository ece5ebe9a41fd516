# SPDX-License-Identifier: Apache-2.0
"""Compiles what a node needs, or loads what was compiled before, while no sample is waiting."""

import contextlib
import fcntl
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.compiled import CACHE
from panda_dynamics_ros.dynamics.model import RobotModel, load_robot
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.estimation import ArmMonitor, contact_wrench
from panda_dynamics_ros.estimation.validation import SampleGate
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.untrusted import python_command


def _samples(robot: RobotModel, payload: float = 0.0) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """A second of an arm in motion with a payload, kg, which something pushes at last: rows of stamp, q, dq, tau."""
    middle, speed = 0.5 * (robot.limits.lower + robot.limits.upper), 0.2 * robot.limits.velocity
    torque = np.zeros(robot.n)
    if payload:
        carrying = robot.with_payload(InertialParameters(payload, (0.0, 0.0, 0.1), 0.01 * payload * np.eye(3)))
        # Of rows, as in the estimator: no other kernel is compiled for it.
        torque = carrying.inverse_dynamics(middle[None], torque[None], torque[None])[0]
    stamp = 0.01 * np.arange(100.0)
    phase, push = 10.0 * stamp[:, None], np.outer(stamp > 0.8, 100.0 * robot.residual.std)
    return stamp, middle + 0.1 * speed * np.sin(phase), speed * np.cos(phase), torque + push


def _torques_and_pose(robot: RobotModel) -> None:
    SampleGate(robot).examine(0.0, np.array((robot.limits.lower, *np.zeros((2, robot.n)))))
    robot_state(robot, robot.limits.lower.copy(), np.zeros(robot.n))


def _dynamics(robot: RobotModel) -> None:
    stamp, q, dq, tau = _samples(robot)
    rows = ArmMonitor(robot).update_rows(stamp, q, dq, tau, payload=False)
    contact_wrench(robot, q, rows.external_torques, rows.unexplained)
    robot.pose(robot.limits.lower.copy())  # of the markers


def _payload_estimator(robot: RobotModel) -> None:
    monitor = ArmMonitor(robot)
    monitor.update_rows(*_samples(robot, 1.0))
    monitor.payload_estimator.tare()
    robot.pose(robot.limits.lower.copy())


def _suite(robot: RobotModel) -> None:
    _dynamics(robot)
    _payload_estimator(robot)


def _simulated_panda(robot: RobotModel) -> None:
    from panda_dynamics_ros.simulation import SimulatedPanda  # MuJoCo is optional

    SimulatedPanda(robot).step()


NODES: dict[str, Callable[[RobotModel], object]] = {
    "simulated_panda": _simulated_panda,
    "torques_and_pose": _torques_and_pose,
    "dynamics": _dynamics,
    "payload_estimator": _payload_estimator,
    "suite": _suite,
}
"""What each node runs before it is ready; it needs what is compiled for those before it, but for the simulation. The
first torques and poses of `dynamics` and `suite` need `torques_and_pose` only."""
FEW_COLLECTIONS = 50_000  # objects between two garbage collections: the usual 700 take a tenth of the compiler's time


def _is_compiled(node: str) -> bool:
    """Whether the cache has the kernels of a node: it then has a file of this name."""
    return CACHE is None or (CACHE / node).exists()


@contextlib.contextmanager
def _locked(node: str) -> Iterator[None]:
    """While no other process of this user compiles the kernels of a node."""
    with Path(str(CACHE), f"{node}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(nodes: Sequence[str], report: Callable[[str], object]) -> None:
    """Compile into the cache what these nodes need, and what comes before it; one process of this user at a time."""
    names = list(NODES)
    for node in names[: 1 + max(map(names.index, nodes))]:
        if CACHE is None or _is_compiled(node) or (node == "simulated_panda" and node not in nodes):
            continue
        report(f"compiling the kernels of {node}, once after an installation, or waiting for a process that does")
        # A lock for each: who needs the first ones alone does not wait for the others.
        with contextlib.suppress(OSError), _locked(node):
            if not _is_compiled(node):
                usual = gc.get_threshold()
                gc.set_threshold(FEW_COLLECTIONS)
                with contextlib.suppress(MissingDependencyError):
                    NODES[node](load_robot("panda"))
                gc.set_threshold(*usual)
                (CACHE / node).touch()


def warm_up(*nodes: str, report: Callable[[str], object]) -> None:
    """Run what these nodes run, so that their kernels are in memory, and in the cache on disk.

    After an installation one process of a user compiles; those that call this meanwhile wait, and then load.

    nodes: some of `NODES`.
    report: gets a line where it takes long.
    Raises ArgumentError: there is no such node.
    Raises MissingDependencyError: MuJoCo is not installed, which `simulated_panda` needs.
    """
    if unknown := [node for node in nodes if node not in NODES]:
        raise ArgumentError(f"nodes: expected some of {', '.join(NODES)}, got {unknown[0]!r}")
    _compile(nodes, report)
    for node in nodes:
        NODES[node](load_robot("panda"))


def warm_up_beside(node: str, report: Callable[[str], object]) -> threading.Event:
    """`warm_up` beside what the process does; the event is set once the kernels are in memory.

    numba holds Python's lock while it compiles, so another process does; a thread waits for it and loads. Kernels that
    are in the cache are loaded at once.
    """
    loaded = threading.Event()

    def load() -> None:
        NODES[node](load_robot("panda"))
        loaded.set()

    def wait_and_load() -> None:
        with contextlib.suppress(OSError):  # no process can be started: this one compiles
            with _locked(node):
                pass  # another node may compile them already
            if not _is_compiled(node):
                command = python_command("panda_dynamics_ros.warm_up", node)
                with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
                    process.wait()
        load()
        report("the estimators begin: their kernels are compiled")

    if _is_compiled(node):
        load()
    else:
        report("the estimators wait until another process has compiled their kernels, once after an installation")
        threading.Thread(target=wait_and_load, daemon=True).start()
    return loaded


def main() -> None:
    """The other process of `warm_up_beside`, which ends with the one that holds its standard input."""
    threading.Thread(target=lambda: sys.stdin.read() or os._exit(0), daemon=True).start()
    _compile(sys.argv[1:], report=lambda _: None)
