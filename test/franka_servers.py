# SPDX-License-Identifier: Apache-2.0
"""Robots to connect to, over loopback: a Panda (`live/panda_server.py`), and an FR3 by PyPI's franky-sim."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from motion import AMPLITUDE, FREQUENCY, REST, Motion, torques

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray

PANDA_SERVER = Path(__file__).parent / "live" / "panda_server.py"
LOAD = pdr.InertialParameters(0.5, np.array([0.01, 0.02, 0.03]), np.diag([0.001, 0.002, 0.003]))
HAND = pdr.InertialParameters(0.73, np.array([-0.01, 0.0, 0.03]), np.diag([0.001, 0.0025, 0.0017]))
PAYLOAD = pdr.InertialParameters(1.2, np.array([0.02, -0.01, 0.08]), np.diag([0.004, 0.004, 0.003]))
T_FLANGE_EE = np.array([[0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1034], [0.0, 0.0, 0.0, 1.0]])
USER_STOPPED = 5


def host(number: int) -> str:
    """A loopback address of this process's own: libfranka's port is always 1337."""
    pid = os.getpid()
    return f"127.{(pid >> 14) % 200 + 20}.{(pid >> 7) % 128}.{(pid % 128) + 128 * (number % 2)}"


@cache
def panda_with_hand() -> pdr.RobotModel:
    return pdr.load_robot("panda").with_payload(HAND).with_end_effector(T_FLANGE_EE)


def _periodic(seconds: float) -> Motion:
    """Sinusoids that start over after this time."""
    stamp = np.arange(round(1e3 * seconds)) / 1e3
    w = 2.0 * np.pi * np.round(FREQUENCY * seconds) / seconds
    sin, cos = np.sin(stamp[:, None] * w), np.cos(stamp[:, None] * w)
    return Motion(stamp, REST + AMPLITUDE * sin, AMPLITUDE * w * cos, -AMPLITUDE * w**2 * sin)


@cache
def panda_states() -> dict[str, FloatArray]:
    """States of a Panda that moves a payload with its hand, by the names of libfranka; Franka has `LOAD` set."""
    robot, motion = panda_with_hand(), _periodic(20.0)
    tau = torques(robot, motion, PAYLOAD)
    believed = robot.with_payload(LOAD).inverse_dynamics(motion.q, motion.dq, motion.ddq)
    count = len(tau)

    def constant(values: Sequence[float] | FloatArray) -> FloatArray:
        return np.tile(np.ravel(values), (count, 1))

    return {
        "q": motion.q,
        "dq": motion.dq,
        "tau_J": tau,
        "tau_ext_hat_filtered": tau - believed,
        "O_T_EE": pdr.pose.to_column_major(robot.pose(motion.q, "ee")),
        "F_T_EE": constant(pdr.pose.to_column_major(T_FLANGE_EE)),
        "m_ee": constant([HAND.mass]),
        "F_x_Cee": constant(HAND.com),
        "I_ee": constant(HAND.inertia),
        "m_load": constant([LOAD.mass]),
        "F_x_Cload": constant(LOAD.com),
        "I_load": constant(LOAD.inertia),
        "robot_mode": np.full(count, USER_STOPPED),
        "errors": constant(np.arange(41) == 0),
    }


@contextlib.contextmanager
def _running(command: Sequence[str], ready: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said that it is ready."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if ready in line:
                break
        else:
            pytest.fail(f"{' '.join(command)} ended: {''.join(said)}")
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def panda(address: str, folder: Path, silent: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A Panda at this address."""
    states = folder / "states.npz"
    if not states.exists():
        np.savez(states, **panda_states())  # type: ignore[arg-type, unused-ignore]
    command = [sys.executable, str(PANDA_SERVER), address, str(states), *(["silent"] if silent else [])]
    with _running(command, "ready") as process:
        yield process


@contextlib.contextmanager
def fr3(address: str) -> Iterator[subprocess.Popen[str]]:
    """An FR3 of franky-sim at this address. Its torques are those of motors: they say nothing of payloads."""
    if find_spec("franky_sim") is None:
        pytest.skip("franky-sim is not installed")
    command = [sys.executable, "-u", "-m", "franky_sim.run_server", "-s", "mujoco", "--hostname", address]
    with _running(command, "Press Ctrl+C") as process:
        yield process


def needs(*modules: str) -> None:
    """Skip where a binding is not installed."""
    for module in modules:
        pytest.importorskip(module, reason=f"the binding {module} is not installed")
