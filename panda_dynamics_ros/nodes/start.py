# SPDX-License-Identifier: Apache-2.0
"""The executables: here a signal ends a process quietly while it still imports what it needs."""

from __future__ import annotations

import os
import signal
from importlib import import_module


def _run(module: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not by an exception, whose trace everybody would read; `run_node` has its own handler.
        signal.signal(number, lambda *_: os._exit(0))
    # A node's matrices are small. Threads of the linear algebra would only take time from others, and where cores are
    # scarce NumPy's eigh was seen to wait for its threads for minutes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return int(import_module(f"panda_dynamics_ros.nodes.{module}").main())


def dynamics() -> int:
    """`ros2 run panda_dynamics_ros dynamics`; returns the exit code."""
    return _run("dynamics")


def payload_estimator() -> int:
    """`ros2 run panda_dynamics_ros payload_estimator`; returns the exit code."""
    return _run("payload_estimator")


def suite() -> int:
    """`ros2 run panda_dynamics_ros suite`; returns the exit code."""
    return _run("suite")


def franka_state() -> int:
    """`ros2 run panda_dynamics_ros franka_state`; returns the exit code."""
    return _run("franka_state")


def simulated_panda() -> int:
    """`ros2 run panda_dynamics_ros simulated_panda`; returns the exit code."""
    return _run("simulated_panda")


def fleet_monitor() -> int:
    """`ros2 run panda_dynamics_ros fleet_monitor`; returns the exit code."""
    return _run("fleet_monitor")


def bag_player() -> int:
    """`ros2 run panda_dynamics_ros bag_player`; returns the exit code."""
    return _run("bag_player")
