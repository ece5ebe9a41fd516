# SPDX-License-Identifier: Apache-2.0
"""`--view` of the commands that have something to see while they run."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from panda_dynamics_ros.robot import RobotDescription

if TYPE_CHECKING:
    from panda_dynamics_ros.reporting.web_view import WebView

DEFAULT_PORT = 8080


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add `--view` and `--port`."""
    parser.add_argument("--view", action="store_true", help="show it live in a web page (needs viser); Ctrl-C ends it")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help=f"of the web page on this machine (default: {DEFAULT_PORT})"
    )


@contextlib.contextmanager
def opened_view(args: argparse.Namespace, robot: RobotDescription, title: str) -> Iterator[WebView | None]:
    """The page, if it was asked for; its address goes to standard error. Closed at the end.

    Raises
    ------
    ArgumentError, MissingDependencyError: see `WebView`.
    """
    if not args.view:
        yield None
        return
    from panda_dynamics_ros.reporting.web_view import WebView

    with WebView(robot, title, args.port) as view:
        print(f"live view: {view.url}", file=sys.stderr, flush=True)
        yield view


def show_until_interrupted(view: WebView, show: Callable[[], None] = lambda: None) -> None:
    """Call `show`, then leave the page as it is; Ctrl-C ends either."""
    with contextlib.suppress(KeyboardInterrupt):  # from the moment on that it is announced
        print(f"the view stays open at {view.url}; Ctrl-C ends it", file=sys.stderr, flush=True)
        show()
        while True:
            time.sleep(1.0)
