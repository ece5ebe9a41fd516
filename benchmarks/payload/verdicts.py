# SPDX-License-Identifier: Apache-2.0
"""The figures against the targets that the estimator was built to. Nothing fails here: it says what is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.payload.accuracy import METHODS
from benchmarks.payload.incidents import Found
from benchmarks.payload.samples import SCORED
from benchmarks.payload.scores import Cell, Score, alarms, detection, score, table
from benchmarks.payload.trial import Outcome

OURS = METHODS[0].name
TARGETS = {("published", 2.0): (0.045, 0.013), ("own", 2.0): (0.020, 0.007), ("own", 5.0): (0.010, 0.005)}
"""kg and m for 1 kg, by model and time."""
LEAST_TRIALS = 8
"""Fewer of them make no figure to be compared within 10 %."""
ENOUGH = 0.95
"""Share of changes that must be noticed in time for "within"."""


@dataclass(frozen=True)
class Verdict:
    """A target, what was measured, and whether it is met; None: not known from so few trials."""

    target: str
    measured: str
    met: bool | None


def verdicts(outcomes: list[Outcome], found: list[Found], microseconds: float) -> list[Verdict]:
    """All of them."""
    cells = table(outcomes)
    return [
        *_accuracy(cells),
        *_beside_baselines(cells),
        *_coverage(outcomes),
        *_detection(found),
        *_alarms(found),
        *_collisions(found),
        _physical(outcomes),
        Verdict("update at most 100 us of CPU (median)", f"{microseconds:.0f} us", microseconds <= 100.0),
    ]


def _accuracy(cells: dict[Cell, dict[str, Score]]) -> Iterator[Verdict]:
    for (arm, time), (mass, com) in TARGETS.items():
        for cell, methods in cells.items():
            if (cell.arm, cell.time, cell.mass) == (arm, time, 1.0):
                s = methods[OURS]
                limits = f"{1e3 * mass:g} g and {1e3 * com:g} mm at {time:g} s"
                yield Verdict(
                    f"1 kg, {arm} model, {cell.source}, {cell.start}: {limits}",
                    f"{1e3 * s.mass_rmse:.0f} g and {1e3 * s.com_median:.1f} mm ({s.trials} trials)",
                    s.mass_rmse <= mass and s.com_median <= com,
                )


def comparisons(cells: dict[Cell, dict[str, Score]]) -> Iterator[tuple[Cell, str, float]]:
    """Cell, quantity, and our error over the best baseline's, in scored cells of enough trials."""
    for cell, methods in cells.items():
        ours = methods[OURS]
        if cell.time not in SCORED or ours.trials < LEAST_TRIALS:
            continue
        for name in ("mass_rmse", "com_median"):
            best = min(getattr(s, name) for method, s in methods.items() if method != OURS)
            if np.isfinite(best):
                yield cell, name, getattr(ours, name) / best


def _beside_baselines(cells: dict[Cell, dict[str, Score]]) -> Iterator[Verdict]:
    ratios = list(comparisons(cells))
    if not ratios:
        return
    behind = sorted((item for item in ratios if item[2] > 1.1), key=lambda item: -item[2])
    examples = "; worst: " + ", ".join(
        f"{cell.source} {cell.arm} {cell.start} {cell.mass:g} kg {cell.time:g} s {name.split('_')[0]} x{ratio:.2f}"
        for cell, name, ratio in behind[:3]
    )
    yield Verdict(
        "every cell within 10 % of the best baseline",
        f"{len(ratios) - len(behind)} of {len(ratios)}{examples if behind else ''}",
        not behind,
    )
    ahead = sum(ratio < 1.0 for _, _, ratio in ratios)
    yield Verdict("ahead of all baselines in most cells", f"{ahead} of {len(ratios)}", ahead > len(ratios) / 2)


def _coverage(outcomes: list[Outcome]) -> Iterator[Verdict]:
    for source, arm in _present((o.source, o.arm) for o in outcomes):
        s = score(
            o for o in outcomes if (o.source, o.arm, o.method) == (source, arm, OURS) and o.time in SCORED
        )  # fmt: skip
        yield Verdict(
            f"95 % intervals hold 90-99 %: {source}, {arm} model",
            f"mass {100 * s.mass_held:.0f} %, CoM {100 * s.com_held:.0f} %",
            0.90 <= s.mass_held <= 0.99 and 0.90 <= s.com_held <= 0.99,
        )


def _detection(found: list[Found]) -> Iterator[Verdict]:
    limits = (("0.3 kg or more within 150 ms", 0.3, "within_150ms"), ("1 kg within 80 ms", 1.0, "within_80ms"))
    changes = [f for f in found if f.kind in ("pick", "drop")]
    for source, arm in _present((f.source, f.arm) for f in changes):
        for text, least, within in limits:
            d = detection(f for f in changes if (f.source, f.arm) == (source, arm) and f.mass >= least)
            share = getattr(d, within)
            yield Verdict(
                f"pick or drop of {text}: {source}, {arm} model",
                f"{100 * share:.0f} % of {d.count}; median {1e3 * d.median:.0f} ms, unnoticed {1 - d.noticed:.0%}",
                share >= ENOUGH,
            )


def _alarms(found: list[Found]) -> Iterator[Verdict]:
    quiet = [f for f in found if f.kind == "nothing"]
    for source, arm in _present((f.source, f.arm) for f in quiet):
        for loaded in (False, True):
            pooled = [f for f in quiet if (f.source, f.arm, f.mass > 0.0) == (source, arm, loaded)]
            if not pooled:
                continue
            a = alarms(pooled)
            limit = 1.0 if source == "simulated" else 0.0
            load = "loaded" if loaded else "unloaded"
            yield Verdict(
                f"false alarms, {source}, {arm} model, {load}: at most {limit:g} per hour",
                f"{a.payload} payload, {a.contact} contact in {60.0 * a.hours:.1f} min",
                # None in a minute is not yet less than one per hour.
                None if limit and a.per_hour <= limit and a.hours < 0.95 else a.per_hour <= limit,
            )


def _collisions(found: list[Found]) -> Iterator[Verdict]:
    pushes = [f for f in found if f.kind == "collision"]
    for source, arm in _present((f.source, f.arm) for f in pushes):
        pooled = [f for f in pushes if (f.source, f.arm) == (source, arm)]
        right = sum(f.payload_events == 0 for f in pooled)
        yield Verdict(
            f"collision not taken for a payload in 9 of 10: {source}, {arm} model",
            f"{right} of {len(pooled)} (noticed as contact: {sum(np.isfinite(f.delay) for f in pooled)})",
            right >= 0.9 * len(pooled),
        )


def _physical(outcomes: list[Outcome]) -> Verdict:
    answers = [o.physical for o in outcomes if o.method == OURS]
    met = all(answers) if answers else None
    return Verdict("published body physically consistent, always", f"{sum(answers)} of {len(answers)}", met)


def _present(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(set(keys))
