# SPDX-License-Identifier: Apache-2.0
"""The symbols of document 004, eq. (3), and closed forms written in them: `XXR6 = XX6 - YY6`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from panda_dynamics_ros.checks import FloatArray

SYMBOLS = ("m", "mX", "mY", "mZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ")
"""The entries of an inertial vector in document 004's symbols, eq. (3)."""


def parameter_symbols(n: int) -> tuple[str, ...]:
    """The symbols of all 10 n inertial parameters, in the order of `RobotDescription.inertial_vector`."""
    return tuple(f"{symbol}{link}" for link in range(1, n + 1) for symbol in SYMBOLS)


def base_name(column: int, row: FloatArray) -> str:
    """`XX6`, or `XXR6` where others are regrouped to it: `row` of the mapping, with 1 at `column`."""
    symbol, link = SYMBOLS[column % 10], column // 10 + 1
    return f"{symbol}{link}" if (row != 0.0).sum() == 1 else f"{symbol}R{link}"


def combination(row: FloatArray, column: int, symbols: Sequence[str]) -> str:
    """The sum `row` . `symbols`, the term of `column` first; terms with the same factor share it."""
    by_factor: dict[str, list[int]] = {}
    for place in sorted(row.nonzero()[0].tolist(), key=lambda place: (place != column, *_as_written(place))):
        factor = f"{row[place]:.12g}"
        # +1 and -1 need no bracket, so each such term stands for itself.
        by_factor.setdefault(factor if factor not in ("1", "-1") else f"{factor} {place}", []).append(place)
    terms = (_term(factor.split()[0], [symbols[place] for place in places]) for factor, places in by_factor.items())
    return _joined(terms)


def _as_written(place: int) -> tuple[int, int]:
    """Link by link, and in each as in eq. (3): moments of inertia, first moments, mass."""
    link, entry = divmod(place, 10)
    return link, (4, 5, 6, 7, 8, 9, 1, 2, 3, 0).index(entry)


def _term(factor: str, symbols: list[str]) -> str:
    if factor in ("1", "-1"):
        return f"{factor[:-1]}{symbols[0]}"
    total = symbols[0] if len(symbols) == 1 else f"({' + '.join(symbols)})"
    return f"{factor}*{total}"


def _joined(terms: Iterable[str]) -> str:
    return re.sub(r" \+ -", " - ", " + ".join(terms))
