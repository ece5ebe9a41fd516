# SPDX-License-Identifier: Apache-2.0
"""What a person sees while a run goes on: a table that is redrawn in a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from panda_dynamics_ros.estimation import PayloadEstimate, PayloadSegment
from panda_dynamics_ros.estimation.payload.estimate import UNLOADED


def payload_rows(estimate: PayloadEstimate) -> list[tuple[str, str]]:
    """The estimate in words: mass and CoM with two sigmas."""
    mass, com = _mass_and_com(estimate)
    return [("payload mass", mass), ("centre of mass", com or "not identifiable yet"), ("status", estimate.status)]


def _mass_and_com(estimate: PayloadEstimate) -> tuple[str, str]:
    """Both with two sigmas; no words for a CoM of which little is known."""
    mass = f"{estimate.mass:6.3f} ± {2.0 * estimate.std[0]:.3f} kg"
    if not estimate.com_std.max() < 0.1:
        return mass, ""
    com = "  ".join(f"{1e3 * c:6.1f} ± {2e3 * s:.1f}" for c, s in zip(estimate.com, estimate.com_std, strict=True))
    return mass, com + " mm"


class LiveTable:
    """A two-column table, redrawn in place on a terminal; on a pipe, one line now and then. Use with `with`."""

    def __init__(self, title: str, quiet: bool = False, every: int = 8) -> None:
        self._title, self._quiet, self._every, self._calls = title, quiet, every, 0
        self._console = Console(stderr=True)
        terminal = sys.stderr.isatty() and not quiet
        self._live = Live(console=self._console, refresh_per_second=8, transient=False) if terminal else None

    def __enter__(self) -> LiveTable:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def show(self, rows: list[tuple[str, str]]) -> None:
        """Show these rows from now on."""
        self._calls += 1
        if self._live is not None:
            table = Table(title=self._title, title_justify="left", show_header=False, min_width=64)
            table.add_column(style="bold", no_wrap=True)
            table.add_column()
            for row in rows:
                table.add_row(*row)
            self._live.update(table)
        elif not self._quiet and self._calls % self._every == 1:
            print(
                "  ".join(f"{name}: {' '.join(value.split())}" for name, value in rows[:4]), file=sys.stderr, flush=True
            )


def print_segments(segments: Sequence[PayloadSegment], begin: float) -> None:
    """Print what was carried from when to when (s since the stamp `begin`), with two sigmas."""
    table = Table(title="payloads, each from all samples while it was carried", title_justify="left")
    for heading in ("from s", "to s"):
        table.add_column(heading, justify="right")
    for heading in ("mass", "centre of mass", "status"):
        table.add_column(heading)
    for segment in segments:
        told = segment.estimate.status == UNLOADED
        mass, com = ("none", "") if told else _mass_and_com(segment.estimate)
        times = f"{segment.start - begin:.2f}", f"{segment.end - begin:.2f}"
        table.add_row(*times, mass, com or "-", segment.estimate.status)
    _output().print(table)


def _output() -> Console:
    """Standard output, wide enough for the tables where it is no terminal."""
    return Console(width=None if sys.stdout.isatty() else 110)


def print_table(title: str, rows: list[tuple[str, str]]) -> None:
    """Print a table of results to standard output."""
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    _output().print(table)
