# SPDX-License-Identifier: Apache-2.0
"""The estimate's past as a page's charts show it: a few hundred points, however long a run takes."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.scene.payload import is_carried

PERIOD = 0.2  # s, between two points at first
MOST_POINTS = 800  # beyond, every other one is dropped and the period doubled
KNOWN_COM = 0.05  # m, one sigma
COLUMNS = 8  # of a row: time, lower and upper edge of the mass's band, mass, true mass, CoM


def com_is_known(estimate: PayloadEstimate) -> bool:
    """Whether the centre of mass is worth showing."""
    return is_carried(estimate) and bool(estimate.com_std.max() < KNOWN_COM)


class History:
    """Points of the estimate over time."""

    def __init__(self) -> None:
        self._period = PERIOD
        self._rows: list[tuple[float, ...]] = []

    def add(self, time_s: float, estimate: PayloadEstimate, truth_mass: float | None) -> bool:
        """Take a point in unless the last one is too recent; whether it was. Time that steps back starts anew."""
        if self._rows and time_s < self._rows[-1][0]:
            self._period, self._rows = PERIOD, []
        if self._rows and time_s - self._rows[-1][0] < self._period:
            return False
        truth = np.nan if truth_mass is None else truth_mass
        com = 1e3 * estimate.com if com_is_known(estimate) else np.full(3, np.nan)
        band = 2.0 * estimate.std[0]
        self._rows.append((time_s, estimate.mass - band, estimate.mass + band, estimate.mass, truth, *com))
        if len(self._rows) > MOST_POINTS:
            self._rows = self._rows[::2]
            self._period *= 2.0
        return True

    def com_columns(self) -> tuple[FloatArray, ...]:
        """Time, s, and the centre of mass, mm, where it is known."""
        known = [(row[0], *row[-3:]) for row in self._rows if np.isfinite(row[-1])]
        return tuple(np.array(known).reshape(-1, 4).T.copy())

    def mass_columns(self) -> tuple[FloatArray, ...]:
        """Time, s; both edges of the two-sigma band, the estimate and, where known, the truth, kg.

        The band is cut off well beyond the heaviest mass: the prior's after a change is wider than any payload, and
        the chart's scale follows what it is given.
        """
        time_s, lower, upper, mass, truth = np.array(self._rows).reshape(-1, COLUMNS)[:, :5].T.copy()
        known = [mass] if np.isnan(truth).all() else [mass, truth]
        top = 1.3 * max(0.5, float(np.nanmax(known, initial=0.0)))
        return time_s, np.maximum(lower, -0.25 * top), np.minimum(upper, top), *known
