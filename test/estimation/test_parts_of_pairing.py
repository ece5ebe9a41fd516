# SPDX-License-Identifier: Apache-2.0
"""Alignment, noise and motion by themselves, beside slow or exact answers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from motion import coloured

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.paired_rows import FAR, warp
from panda_dynamics_ros.estimation.paired_runs import most_probable, whitened
from panda_dynamics_ros.simulation.motion_search import READY
from panda_dynamics_ros.simulation.weighing_motion import ARM_REACH, PAUSES, WRIST_REACH, duration, weighing_motion

ROBOT = pdr.load_robot("panda")


def cost_of_cheapest_path(first: np.ndarray, second: np.ndarray) -> float:
    """Dynamic time warping with free ends in `second`, by its recursion."""
    cost = ((first[:, None] - second[None]) ** 2).sum(axis=2)

    @cache
    def total(k: int, m: int) -> float:
        if k == 0:
            return float(cost[0, m])
        ways = [total(k - 1, m)]
        if m > 0:
            ways += [total(k - 1, m - 1), total(k, m - 1)]
        return float(cost[k, m]) + min(ways)

    return min(total(len(first) - 1, m) for m in range(len(second)))


def test_the_warp_finds_where_a_stretch_of_a_motion_lies() -> None:
    path = np.cumsum(np.abs(np.random.default_rng(0).normal(size=(60, 2))), axis=0)
    row = warp(path[20:45], path, FAR)
    np.testing.assert_array_equal(row, np.arange(20, 45))


def test_the_warp_is_monotone_and_no_dearer_than_the_recursion(rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(14, 2)).cumsum(axis=0), rng.normal(size=(17, 2)).cumsum(axis=0)
    row = warp(first, second, np.inf)
    assert (np.diff(row) >= 0).all()
    # The path visits further rows of `second` in between; of them the nearest is reported.
    assert ((first - second[row]) ** 2).sum() <= cost_of_cheapest_path(first, second) + 1e-9


def test_the_noise_of_a_series_is_found() -> None:
    """Two minutes of an Ornstein-Uhlenbeck process and white noise, of which a fit has followed nothing."""
    period = 0.1
    stamp: FloatArray = period * np.arange(1200.0)
    series = coloured(ROBOT, stamp, np.random.default_rng(1))[:, 0]
    level, time = ROBOT.residual.std[0], ROBOT.residual.correlation_time[0]
    sigma, tau, rho = most_probable(series[:, None, None], period * np.arange(1200.0), np.zeros(1200), float(level))
    # Of 113 correlation times sigma is known to 7 %, tau to 13 %; the prior expects 0.07 and 0.3 s.
    assert sigma == pytest.approx(level, rel=0.3)
    assert tau == pytest.approx(time, rel=0.4)
    assert rho < 0.2 * level


def test_whitened_noise_is_white() -> None:
    stamp: FloatArray = 0.1 * np.arange(4000.0)
    level, time = float(ROBOT.residual.std[0]), float(ROBOT.residual.correlation_time[0])
    rng = np.random.default_rng(2)
    series = coloured(ROBOT, stamp, rng)[:, 0] + 0.1 * level * rng.normal(size=len(stamp))
    white = whitened(series[:, None, None], stamp, np.zeros(4000), level, time, 0.1 * level)[0][:, 0, 0]
    assert white.std() == pytest.approx(1.0, abs=0.05)  # 4.5 standard deviations of 1 / sqrt(2 N)
    assert abs(np.mean(white[1:] * white[:-1])) < 0.07


# ---- the motion ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motion():
    return weighing_motion(ROBOT, READY, trials=150).motion


def test_the_motion_starts_and_ends_at_rest_where_it_was_told_to(motion) -> None:
    q, dq, _ = motion([0.0, duration(motion)])
    np.testing.assert_allclose(q, np.tile(READY, (2, 1)), atol=1e-9)
    np.testing.assert_allclose(dq, 0.0, atol=1e-12)


def test_the_motion_keeps_its_bounds(motion) -> None:
    q, dq, ddq = motion(np.arange(0.0, duration(motion), 0.01))
    reach = np.abs(q - np.array(READY)).max(axis=0)
    assert (reach[:4] <= 2.0 * ARM_REACH).all()
    assert (reach[4:] <= 2.0 * WRIST_REACH).all()
    limits = ROBOT.limits
    assert (q > limits.lower).all()
    assert (q < limits.upper).all()
    assert (np.abs(dq) < 0.7 * limits.velocity).all()
    assert (np.abs(ddq) < limits.acceleration).all()


def test_pauses_are_approached_from_both_sides(motion) -> None:
    """Each posture of a pause but the turn's and the end's comes twice, with the velocity before it reversed."""
    middles = [begin + 0.5 * length for begin, length in motion.pauses]
    q, dq, _ = motion(middles)
    np.testing.assert_allclose(dq, 0.0, atol=1e-12)
    for there, back in ((0, 4), (1, 3)):
        np.testing.assert_allclose(q[there], q[back], atol=1e-9)
        forth, home = (motion(motion.pauses[k][0] - 0.1)[1] for k in (there, back))
        assert forth @ home < -0.9 * np.linalg.norm(forth) * np.linalg.norm(home)
    assert len(PAUSES) == len(motion.pauses)


def test_the_same_seed_gives_the_same_motion(motion) -> None:
    again = weighing_motion(ROBOT, READY, trials=150).motion
    other = weighing_motion(ROBOT, READY, trials=150, seed=1).motion
    np.testing.assert_array_equal(again.sine, motion.sine)
    assert not np.array_equal(other.sine, motion.sine)


def test_more_trials_show_the_payload_better() -> None:
    few, many = (weighing_motion(ROBOT, READY, trials=trials).score for trials in (20, 300))
    assert many < few


@pytest.mark.parametrize(
    ("start", "options", "words"),
    [
        (READY[:6], {}, r"start: expected .*\(7,\)"),
        (
            (0.0, 0.0, 0.0, 1.0, 0.0, 1.5, 0.0),
            {},
            "start: expected a posture within the limits, got 1.000 rad of joint 4",
        ),
        (READY, {"reach": 3.0}, "reach: expected"),
        (READY, {"table_height": 0.7}, "table"),
    ],
)
def test_what_no_motion_fits_is_refused(start, options, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        weighing_motion(ROBOT, start, trials=30, **options)
