# SPDX-License-Identifier: Apache-2.0
"""The tables of the contact benchmark, and whether its targets are met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.contact import recordings
from benchmarks.contact.trials import BARE, MAPPED, Found, Watched
from benchmarks.payload.arms import simulated_own

IN_TIME = 0.0505  # s: 50 ms, and half a sample for the stamps' rounding
TARGET_SHARE, TARGET_ALARMS = 0.95, 1.0  # within 50 ms; an hour


def share_in_time(found: Sequence[Found]) -> float:
    """How many of the pushes were detected within 50 ms."""
    return float(np.mean([each.delay < IN_TIME for each in found])) if found else np.nan


def links_named(found: Sequence[Found]) -> tuple[float, float, float]:
    """Of the detected ones: how many named the right link, it or a neighbour, one too far out."""
    off = np.array([each.named - each.link for each in found if not np.isnan(each.delay)])
    if off.size == 0:
        return np.nan, np.nan, np.nan
    return float(np.mean(off == 0)), float(np.mean(np.abs(off) <= 1)), float(np.mean(off > 0))


def alarms_per_hour(watched: Sequence[Watched]) -> tuple[int, float]:
    """Alarms, and hours watched."""
    return sum(len(each.alarms) for each in watched), sum(each.duration for each in watched) / 3600.0


def smallest_forces(seeds: int) -> list[tuple[int, float, float, float]]:
    """(link, N, N, N): the force on a link's centre of mass that loads some joint by five sigmas of the residual.

    In the best posture and direction; in the best direction, median over postures; median over both. Postures are
    those of the free motion, residuals the identified ones.
    """
    directions = np.random.default_rng(3).standard_normal((200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rows = []
    for link in range(1, 8):
        best, any_direction = [], []
        for seed in range(seeds):
            robot = simulated_own(seed)
            q = recordings.postures(seed)
            gain = recordings.sigmas_per_newton(robot, q, link)
            best.append(5.0 / np.linalg.norm(gain, axis=2).max(axis=1))
            any_direction.append(5.0 / np.abs(gain @ directions.T).max(axis=1).ravel())
        least, anywhere = np.concatenate(best), np.concatenate(any_direction)
        rows.append((link, float(least.min()), float(np.median(least)), float(np.median(anywhere))))
    return rows


def _table(out: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _cells(found: Sequence[Found]) -> list[str]:
    delays = [each.delay for each in found if not np.isnan(each.delay)]
    right, near, beyond = links_named(found)
    median = f"{1e3 * np.median(delays):.0f} ms" if delays else "-"
    detected = f"{100 * len(delays) / len(found):.0f} %"
    return [
        str(len(found)), f"{100 * share_in_time(found):.1f} %", detected, median,
        f"{100 * right:.0f} %", f"{100 * near:.0f} %", f"{100 * beyond:.0f} %",
    ]  # fmt: skip


def print_pushes(out: Console, found: Sequence[Found], firm: Sequence[Found]) -> None:
    """Detection by model, payload and strength, and by link."""
    rows = []
    for name in ("identified", "published"):
        for mass in (0.0, 1.0):
            chosen = [each for each in found if (each.model, each.mass) == (name, mass)]
            rows.append([f"{name}, {mass:g} kg", "5-10", *_cells(chosen)])
            for low in (5.0, 6.0, 8.0) if mass == 0.0 else ():
                high = {5.0: 6.0, 6.0: 8.0, 8.0: 10.0}[low]
                bin_of = [each for each in chosen if low <= each.sigmas < high]
                rows.append(["", f"{low:g}-{high:g}", *_cells(bin_of)])
        strong = [each for each in firm if each.model == name and each.sigmas > recordings.WEAKEST]
        rows.append([f"{name}, 20-60 N", "5-", *_cells(strong)])
    for name in (BARE, MAPPED):
        for low in np.arange(*recordings.LIGHT):
            within = [each for each in found if each.model == name and low <= each.sigmas < low + 1.0]
            if within:
                rows.append([name, f"{low:g}-{low + 1.0:g}", *_cells(within)])
    columns = (
        "model, payload",
        "sigmas",
        "pushes",
        "within 50 ms",
        "at all",
        "median",
        "link right",
        "+-1",
        "too far out",
    )
    _table(out, "Pushes on links 2 to 7, in sigmas of the identified residual", columns, rows)
    chosen = [each for each in found if each.model == "identified"]
    by_link = {link: [each for each in chosen if each.link == link] for link in recordings.LINKS}
    rows = [[str(link), *_cells(each)] for link, each in by_link.items() if each]
    _table(out, "The same with the identified model, by the link that is pushed", ("link", *columns[2:]), rows)


def print_alarms(out: Console, watched: Sequence[Watched]) -> None:
    """False alarms by source, model and payload."""
    rows = []
    for key in dict.fromkeys((each.source, each.model, each.mass) for each in watched):
        chosen = [each for each in watched if (each.source, each.model, each.mass) == key]
        alarms, hours = alarms_per_hour(chosen)
        largest = max(each.largest for each in chosen)
        ratio = "" if np.isnan(largest) else f"{largest:.1f}"
        rows.append([key[0], key[1], f"{key[2]:g}", f"{3600 * hours:.0f} s", str(alarms), ratio])
    columns = ("source", "model", "payload kg", "watched", "alarms", "largest ratio")
    _table(out, "Contacts reported where there was none", columns, rows)


def print_forces(out: Console, rows: Sequence[tuple[int, float, float, float]]) -> None:
    """The smallest forces of five sigmas."""
    text = [[str(link), *(f"{force:.1f}" for force in forces)] for link, *forces in rows]
    columns = ("link", "least", "best direction", "any direction")
    _table(out, "Force on the centre of mass that loads some joint by five sigmas, N", columns, text)


def verdicts(found: Sequence[Found], watched: Sequence[Watched]) -> list[tuple[str, bool]]:
    """The targets of the identified model, and whether they are met."""
    judged = []
    for mass in (0.0, 1.0):
        chosen = [each for each in found if (each.model, each.mass) == ("identified", mass)]
        share = share_in_time(chosen)
        text = f"{mass:g} kg: {100 * share:.1f} % of {len(chosen)} pushes beyond five sigmas within 50 ms (95 %)"
        judged.append((text, share >= TARGET_SHARE))
        mine = [w for w in watched if (w.source, w.model, w.mass) == ("simulated", "identified", mass)]
        alarms, hours = alarms_per_hour(mine)
        judged.append(
            (f"{mass:g} kg: {alarms} false alarms in {hours:.2f} h (1 an hour)", alarms <= TARGET_ALARMS * hours)
        )
    return judged
