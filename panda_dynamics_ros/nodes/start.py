# SPDX-License-Identifier: Apache-2.0
"""The executables: what a process needs to know before it imports a node."""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Run the node by whose name the executable is called (`ros2 run panda_dynamics_ros NAME`); returns the exit code.

    A signal ends the process quietly while it still imports what it needs.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not by an exception, whose trace everybody would read; `run_node` has its own handler.
        signal.signal(number, lambda *_: os._exit(0))
    code = int(import_module(f"panda_dynamics_ros.nodes.{Path(sys.argv[0]).name}").main())
    for number in (signal.SIGINT, signal.SIGTERM):
        # Launch sends its own SIGINT after the terminal's. Python, while it ends, would set the handlers back, and the
        # second would count as the node's death.
        signal.signal(number, signal.SIG_IGN)
    return code
