# SPDX-License-Identifier: Apache-2.0
"""The executables: what a process needs to know before it imports a node."""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
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


def main() -> int:
    """Run the node by whose name the executable is called (`ros2 run panda_dynamics_ros NAME`); returns the exit code.

    A signal ends the process quietly while it still imports what it needs.
    """
    on_signals(end_at_once)
    code = int(import_module(f"panda_dynamics_ros.nodes.{Path(sys.argv[0]).name}").main())
    # Launch sends its own SIGINT after the terminal's. Python, while it ends, would set the handlers back, and the
    # second would count as the node's death.
    on_signals(signal.SIG_IGN)
    return code
