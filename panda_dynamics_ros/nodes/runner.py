# SPDX-License-Identifier: Apache-2.0
"""Runs one node until it is interrupted, and leaves with a clean exit code."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
from collections.abc import Callable

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from panda_dynamics_ros.errors import PandaDynamicsError


def make_executor() -> Executor:
    """The EventsExecutor where rclpy has it (it takes about half the CPU), else the default one."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def run_node(factory: Callable[[], Node], args: list[str] | None = None) -> int:
    """Spin the node that `factory` makes; returns 0 after SIGINT or SIGTERM, 1 if it could not start.

    A launch file's Ctrl-C reaches a node twice, from the terminal and from launch: once the node goes down,
    further signals are ignored.
    """
    rclpy.init(args=args)
    node = None
    try:
        node = factory()
        executor = make_executor()
        executor.add_node(node)
        # What start-up left behind lives as long as the node: the collector need not walk it at 1 kHz.
        gc.collect()
        gc.freeze()
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except PandaDynamicsError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        with contextlib.suppress(Exception):
            if node is not None:
                node.destroy_node()
        rclpy.try_shutdown()
    return 0
