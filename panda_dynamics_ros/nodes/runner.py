# SPDX-License-Identifier: Apache-2.0
"""Runs one node until it is interrupted, and leaves with a clean exit code."""

import contextlib
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import rclpy
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError
from panda_dynamics_ros.nodes.interface import declared
from panda_dynamics_ros.nodes.start import end_at_once, on_signals
from panda_dynamics_ros.warm_up import warm_up

CANNOT_START = 2
"""Exit code of a node that cannot start as it was asked to; launch does not start it anew. (Python's own is 1.)"""


def make_executor() -> Executor:
    """The EventsExecutor where rclpy has it (it takes about half the CPU), else the default one."""
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def spin(executor: Executor, done: Callable[[], bool], wait_for_input: Callable[[], None] | None = None) -> None:
    """Serve callbacks until a signal, `done()` or the context's end, or one after each call of `wait_for_input`.

    A tenth of a second at a time: Jazzy's EventsExecutor.spin() keeps the interpreter's lock while it waits, so that
    neither timers nor other threads nor Ctrl-C get a turn (rclpy 7.1.6), and spin_once() for each sample costs as much
    as decoding it. Where samples come faster than they are served, only its future ends a turn in time.
    """
    turn: Any = Future()  # Kilted's is generic, Jazzy's is not
    came = list[int]()

    def interrupt(number: int, _: object) -> None:
        came.append(number)
        threading.Thread(target=turn.set_result, args=(None,)).start()  # this one may hold the future's lock

    on_signals(interrupt)  # from now on no callback is cut off in the middle
    with contextlib.suppress(ExternalShutdownException):
        while rclpy.ok() and not done():
            turn = Future()
            if came:
                break
            try:
                if wait_for_input is None:
                    executor.spin_until_future_complete(turn, timeout_sec=0.1)
                else:
                    wait_for_input()
                    executor.spin_once(timeout_sec=0.0)
            except ValueError as error:  # rclpy's callback of /clock raises it for a negative time
                if "must not be negative" not in str(error):
                    raise
                print(f"ignored on /clock: {error}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def ros(args: list[str] | None = None) -> Iterator[None]:
    """Within, a process takes part in ROS, with these arguments (None: its own); its signals stay its own."""
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # an argument or a variable that cannot be read, or no folder for logs
        raise ArgumentError(str(error)) from error
    try:
        yield
    finally:
        rclpy.try_shutdown()


def print_help(factory: Callable[[], Node | Sequence[Node]]) -> int:
    """Print what a node is and its parameters, as it declares them where no other process sees it; returns 0."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"
    rclpy.init(args=["--ros-args", "--log-level", "fatal"])
    with contextlib.suppress(PandaDynamicsError):  # of a parameter that has to be given, once all are declared
        made = factory()
        for node in [made] if isinstance(made, Node) else made:
            node.destroy_node()
    rclpy.try_shutdown()
    title = "Parameters, with their defaults: --ros-args -p name:=value"
    lines = [f"  {name}:={json.dumps(default)}\n      {words}" for name, default, words in sorted(declared)]
    print((factory.__doc__ or "").partition("\n")[0], "", title, *lines, sep="\n")
    return 0


def run_node(factory: Callable[[], Node | Sequence[Node]], kernels: str = "") -> int:
    """Spin the node, or nodes, that `factory` makes; returns 0 after SIGINT or SIGTERM, else CANNOT_START.

    First, before the node exists, the `kernels` (a name of `warm_up`) are compiled or loaded. That may take longer than
    launch waits before it kills; so a signal ends the process at any moment of its start. A node with an attribute
    `done` ends by itself once that is true; one with a method `wait_for_input` waits in it for its input.
    With --help, its help is printed instead.
    """
    if "--help" in sys.argv:
        return print_help(factory)
    on_signals(end_at_once)
    try:
        if kernels:
            warm_up(kernels, report=get_logger("warm_up").info)
        with ros():
            made = factory()
            nodes = [made] if isinstance(made, Node) else list(made)
            executor = make_executor()
            for node in nodes:
                executor.add_node(node)
                # The first line that a process logs takes 50 ms: rclpy looks through all modules. Not a sample's time.
                node.get_logger().info("ready")
            # What start-up left behind lives as long as the node: the collector need not walk it at 1 kHz.
            gc.collect()
            gc.freeze()
            wait_for_input = next((node.wait_for_input for node in nodes if hasattr(node, "wait_for_input")), None)
            spin(executor, lambda: any(getattr(node, "done", False) for node in nodes), wait_for_input)
            for node in nodes:
                executor.remove_node(node)
                node.destroy_node()
    except (PandaDynamicsError, ParameterException, NameValidationException, RuntimeError) as error:
        # rclpy has no exception of its own for a wrong override.
        if isinstance(error, RuntimeError) and "QoS override" not in str(error):
            raise
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        return CANNOT_START
    finally:
        # Launch sends its own SIGINT after the terminal's. Python, while it ends, would set the handlers back, and the
        # second would count as the node's death.
        on_signals(signal.SIG_IGN)
    return 0
