# SPDX-License-Identifier: Apache-2.0
"""The executables: what a process needs to know before it imports a node."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from runpy import run_module
from typing import Any


def on_signals(handler: Callable[..., Any] | signal.Handlers) -> None:
    """Let `handler` serve SIGINT and SIGTERM from now on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def end_at_once(*_: object) -> None:
    """End the process where it stands, with exit code 0.

    Not by an exception: everybody would read its trace, and a callback from the compiler would swallow it.
    """
    os._exit(0)


def main() -> None:
    """Run a node as `python -m` does, by the name of the executable: `ros2 run panda_dynamics_ros NAME`.

    Where Python is given this function as a command (`python_command`), the first argument is the name. A signal ends
    the process quietly while it still imports what it needs.
    """
    on_signals(end_at_once)
    name = sys.argv[1] if sys.argv[0] == "-c" else Path(sys.argv[0]).name
    run_module(f"panda_dynamics_ros.nodes.{name}", run_name="__main__")
