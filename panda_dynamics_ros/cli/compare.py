# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics compare`: two results of `replay` or `demo` beside each other."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.estimation import SmoothedHistory
from panda_dynamics_ros.recordings.limits import LATEST_STAMP
from panda_dynamics_ros.reporting.console import joint_values, print_results
from panda_dynamics_ros.reporting.summary import events_text
from panda_dynamics_ros.untrusted import read_text

EXAMPLES = "panda-dynamics compare published identified"
OPTIONS = [
    *(
        options.option(name, "folder that `replay` or `demo` has written", metavar="DIR")
        for name in ("first", "second")
    ),
    options.output("compare.png", "FILE", "the picture"),
]
LARGEST_FILE = 32 << 20  # bytes of summary.json and of payload.csv


def run(args: argparse.Namespace) -> None:
    """Read both, print, draw."""
    from panda_dynamics_ros.reporting.plots import plot_payload

    folders = [args.first, args.second]
    summaries, curves = zip(*(_result(folder) for folder in folders), strict=True)
    names = folders if Path(folders[0]).name == Path(folders[1]).name else [Path(folder).name for folder in folders]
    time = np.union1d(*(table["t"] for table in curves))  # s
    drawn = {name: _curves(table, time) for name, table in zip(names, curves, strict=True)}
    args.output.parent.mkdir(parents=True, exist_ok=True)
    picture = plot_payload(time, drawn, args.output, f"{names[0]} and {names[1]}")
    tables = [(name, _rows(each)) for name, each in zip(folders, summaries, strict=True)]
    found = {"first": summaries[0], "second": summaries[1], "files": [str(picture)]}
    print_results(args.json, found, tables, [picture])


def _result(folder: str) -> tuple[dict[str, Any], Any]:
    """The summary, and the payload over time as an array with named columns."""
    path = checks.path(folder, "DIR")
    try:
        summary = json.loads(read_text(path / "summary.json", LARGEST_FILE))
        lines = read_text(path / "payload.csv", LARGEST_FILE).splitlines()
        table = np.atleast_1d(np.genfromtxt(lines, delimiter=",", names=True))
        if not (_rows(summary) and len(table["com_std_z"]) and (np.abs(table["t"]) < LATEST_STAMP).all()):
            raise ValueError("empty, or no times")
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        got = f"{folder!r}, without summary.json and payload.csv that can be read"
        raise DataError(f"DIR: expected a folder that replay or demo has written, got {got}") from error
    return summary, table


def _curves(table: Any, time: np.ndarray) -> SmoothedHistory:
    """The columns at other times (N,), s; nan outside their own."""

    def at(name: str) -> np.ndarray:
        return np.interp(time, table["t"], table[name], left=np.nan, right=np.nan)

    com, com_std = (np.column_stack([at(f"{kind}_{axis}") for axis in "xyz"]) for kind in ("com", "com_std"))
    return SmoothedHistory(at("mass"), at("mass_std"), com, com_std, np.isfinite(com).all(axis=1))


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    payload, events = summary["payload"], summary["events"]
    com = f"{joint_values(1e3 * np.array(payload['com']), 1)} mm" if payload["com_std"] else "not known"
    origin = min((event["stamp"] for event in events), default=0.0)
    return [
        ("payload mass", f"{payload['mass']:.3f} ± {1.96 * payload['std'][0]:.3f} kg (95 %)"),
        ("centre of mass", com),
        ("torque residual RMS", f"{joint_values(summary['torque_residual_rms'])} N m (joints 1..n)"),
        ("events since the first", events_text(events, origin)),
        *([("problem", summary["problem"])] if summary["problem"] else []),
    ]
