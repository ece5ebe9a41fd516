# SPDX-License-Identifier: Apache-2.0
"""Texts and tables for people in a terminal: estimates in words, a live table during a run, results at its end.

Numbers after "±" are half the width of a 95 % interval here; what programs read (`summary`) has standard deviations.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.table import Table as RichTable

from panda_dynamics_ros.estimation.estimate import LARGEST_COM_MARGIN, PayloadEstimate, PayloadSegment
from panda_dynamics_ros.untrusted import printable

Rows = list[tuple[str, str]]  # names and values
Table = tuple[str, Rows]  # title and rows
CALLS_PER_LINE = 8  # of a table that goes on, where it is no terminal's


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals; 0 has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def mass_text(estimate: PayloadEstimate) -> str:
    """The mass with its 95 % interval; where nothing is carried, the interval's upper end."""
    if not (estimate.is_carried or estimate.is_undecided):
        return f"none found (below {max(estimate.mass, 0.0) + estimate.mass_margin:.3f} kg)"
    return f"{estimate.mass:.3f} ± {estimate.mass_margin:.3f} kg (95 %)"


def com_text(estimate: PayloadEstimate, is_found: bool = False) -> str:
    """The centre of mass in the flange frame, mm, with its 95 % intervals, of a mass that is carried, or `is_found`."""
    if not (estimate.is_carried or is_found) or estimate.com_margin.max() >= LARGEST_COM_MARGIN:
        return "not known"
    axes = zip(1e3 * estimate.com, 1e3 * estimate.com_margin, strict=True)
    return ", ".join(f"{fixed(c, 1)} ± {margin:.1f}" for c, margin in axes) + " mm (95 %)"


def payload_rows(estimate: PayloadEstimate) -> Rows:
    """The estimate in words: mass and centre of mass with 95 % intervals, status and, if there is one, the problem."""
    rows = [("payload mass", mass_text(estimate)), ("centre of mass", com_text(estimate)), ("status", estimate.status)]
    return [*rows, ("problem", estimate.problem)] if estimate.problem else rows


def joint_values(values: Iterable[float], digits: int = 3) -> str:
    """A number for each joint."""
    return "  ".join(fixed(float(value), digits) for value in values)


def progress_bar(quiet: bool, words: str, *columns: ProgressColumn) -> Progress:
    """A bar on standard error with these words and the time that is left, where a person watches."""
    shown = (TextColumn(words), BarColumn(), *columns, TimeRemainingColumn())
    return Progress(*shown, console=Console(stderr=True, markup=False), disable=quiet or not sys.stderr.isatty())


@contextmanager
def live_table(title: str, quiet: bool = False) -> Iterator[Callable[[Rows], None]]:
    """Within, what this gives shows rows of names and values: in place on a terminal, elsewhere now and then as a line.

    It prints nothing if `quiet`.
    """
    calls = count()

    def print_line(rows: Rows) -> None:
        if not quiet and next(calls) % CALLS_PER_LINE == 0:
            line = "  ".join(f"{name}: {' '.join(value.split())}" for name, value in rows[:4])
            print(printable(line), file=sys.stderr, flush=True)

    if quiet or not sys.stderr.isatty():
        yield print_line
        return
    with Live(console=Console(stderr=True, markup=False), refresh_per_second=8) as live:
        yield lambda rows: live.update(_rows_table(title, rows, min_width=64))


def segments_table(segments: Sequence[PayloadSegment], begin: float) -> Table:
    """Each payload with the time, s since the stamp `begin`, from its pick to its release."""
    rows = []
    for segment in segments:
        estimate = segment.estimate
        where = f" at {com_text(estimate)}" if estimate.com_is_known else ""
        words = f"{mass_text(estimate)}{where}, {estimate.status}"
        rows.append((f"{segment.start - begin:.2f} to {segment.end - begin:.2f} s", words))
    return "payloads, each from all samples while it was carried", rows


def summary_rows(summary: dict[str, Any]) -> Rows:
    """A summary for a person: its names and values, numbers with four digits, without files and lists of entries."""
    left_out = [name for name, value in summary.items() if isinstance(value, list) and value and type(value[0]) is dict]
    return [(name, _words(value)) for name, value in summary.items() if name not in ("files", *left_out)]


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "none"
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_words(each)}" for name, each in value.items()) or "none"
    return "not known" if value is None else str(value)


def print_results(as_json: bool, summary: dict[str, Any], tables: Sequence[Table], files: Sequence[Path | str]) -> None:
    """End a command: for a program print the summary as JSON only, for a person the tables and the files written."""
    if as_json:
        print(json.dumps(summary), flush=True)
        return
    for table in tables:
        print_table(*table)
    print("written: " + printable(", ".join(map(str, files))), flush=True)


def print_table(title: str, rows: Rows) -> None:
    """Print a table of results to standard output, wide enough where it is no terminal."""
    # File names may contain [brackets].
    Console(markup=False, width=None if sys.stdout.isatty() else 110).print(_rows_table(title, rows))


def _rows_table(title: str, rows: Rows, **options: Any) -> RichTable:
    columns = Column(style="bold", no_wrap=True), Column(overflow="fold")
    table = RichTable(*columns, title=printable(title), title_justify="left", show_header=False, **options)
    for row in rows:
        table.add_row(*map(printable, row))
    return table
