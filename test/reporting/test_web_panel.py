# SPDX-License-Identifier: Apache-2.0
"""What a page's charts show of a run."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.reporting.web_panel import MOST_POINTS, History


def estimate_of(mass: float, mass_std: float) -> PayloadEstimate:
    body = InertialParameters(mass, np.array([0.01, 0.02, 0.05]), 0.001 * np.eye(3))
    covariance = np.diag([mass_std**2, *[1e-6] * 9])
    return PayloadEstimate(0.0, body.vector, covariance, np.ones(10, dtype=bool), "estimating")


def test_an_hour_fits_and_none_of_it_is_forgotten() -> None:
    history = History()
    for k in range(18_000):
        history.add(0.2 * k, estimate_of(1.0, 0.01), None)
    time_s = history.mass_columns()[0]
    assert MOST_POINTS / 2 <= len(time_s) <= MOST_POINTS
    steps = np.diff(time_s)
    assert steps.max() < 2.0 * steps.min()  # as dense at its beginning as at its end, but for rounding to samples
    assert time_s[0] == 0.0
    assert time_s[-1] > 3600.0 - 2.0 * steps[0]


def test_the_band_is_the_95_percent_interval_and_ends_within_the_chart() -> None:
    history = History()
    history.add(0.0, estimate_of(1.0, 0.1), 1.1)
    history.add(1.0, estimate_of(0.0, 3.0), 0.0)
    time_s, lower, upper, mass, truth = history.mass_columns()
    np.testing.assert_allclose(time_s, [0.0, 1.0])
    np.testing.assert_allclose(mass, [1.0, 0.0])
    np.testing.assert_allclose(truth, [1.1, 0.0])
    np.testing.assert_allclose((lower[0], upper[0]), (1.0 - 0.196, 1.0 + 0.196))
    assert -1.0 < lower[1] < 0.0 < 1.1 < upper[1] < 2.0


def test_what_nobody_knows_is_not_drawn() -> None:
    history = History()
    history.add(0.0, estimate_of(0.0, 1.0), None)
    assert len(history.mass_columns()) == 4  # no truth
    assert [len(column) for column in history.com_columns()] == [0, 0, 0, 0]
    history.add(1.0, estimate_of(1.0, 0.01), None)
    np.testing.assert_allclose(np.transpose(history.com_columns()), [[1.0, 10.0, 20.0, 50.0]])


def test_points_too_close_are_left_out_and_a_step_back_starts_anew() -> None:
    history = History()
    assert history.add(0.0, estimate_of(1.0, 0.1), None)
    assert not history.add(0.1, estimate_of(1.0, 0.1), None)
    assert history.add(0.3, estimate_of(1.0, 0.1), None)
    assert history.add(0.0, estimate_of(2.0, 0.1), None)
    np.testing.assert_allclose(history.mass_columns()[3], [2.0])
