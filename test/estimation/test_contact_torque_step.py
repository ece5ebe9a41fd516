# SPDX-License-Identifier: Apache-2.0
"""What is sudden: a jump, and neither a drift of the residual's kind nor friction that turns."""

import numpy as np
import pytest
from panda_dynamics_ros.estimation.contact.torque_step import LAG, TorqueStepDetector, drift_variance

from panda_dynamics_ros.estimation import ContactOptions
from panda_dynamics_ros.robot import ResidualModel
from panda_dynamics_ros.robot.residual_map import DRIFT, DRIFT_TIME

STEP, POLE = 1e-3, 2.0 * np.pi * 10.0
STEADY = np.full(2, 0.5)  # rad/s: moving, and not turning around
INERTIA = np.ones(2)


@pytest.fixture
def residual():
    return ResidualModel(np.array([0.2, 0.5]), np.array([0.4, 0.9]))


def drift(residual, count, rng):
    """An Ornstein-Uhlenbeck process (count, 2) of the residual model."""
    a = np.exp(-STEP / residual.correlation_time)
    noise = rng.normal(size=(count, 2)) * residual.std * np.sqrt(1.0 - a * a)
    out = np.empty((count, 2))
    out[0] = residual.std * rng.normal(size=2)
    for k in range(1, count):
        out[k] = a * out[k - 1] + noise[k]
    return out


def run(watch, torques, dq=None, start=0.0):
    """Jumps, their standard deviations, each (N, 2), and how sudden they are together (N,)."""
    watch.start(start - STEP, torques[0])
    jumps, std, sudden = np.empty_like(torques), np.empty_like(torques), np.empty(len(torques))
    for k, torque in enumerate(torques):
        sudden[k] = watch.update(start + STEP * k, torque, STEADY if dq is None else dq[k], INERTIA)
        jumps[k], std[k] = watch.jump, watch.std
    return jumps, std, sudden


def test_the_drifts_variance_is_what_the_formula_says(residual, rng):
    """200 s are some 300 independent values of the slower joint: the variance is known to 1 / sqrt(150) = 8 %."""
    jumps, _, _ = run(TorqueStepDetector(residual, POLE), drift(residual, 200_000, rng))
    for i in range(2):
        expected = drift_variance(residual.std[i], residual.correlation_time[i], LAG)
        # The delay line's slots are LAG / 16 apart: the mean is up to that much older.
        assert np.var(jumps[1000:, i]) == pytest.approx(expected, rel=0.2)


def test_drift_of_the_residuals_kind_is_hardly_ever_sudden(residual, rng):
    _, _, sudden = run(TorqueStepDetector(residual, POLE), 7.0 + drift(residual, 60_000, rng))
    assert sudden.max() < 5.5  # 60 s of two joints: a few thousand independent values, 4 sigma at most


def test_a_jump_is_sudden_at_once_and_old_after_the_lag(residual, rng):
    torques = drift(residual, 3000, rng)
    torques[2000:, 1] += 5.0 * residual.std[1]
    jumps, std, sudden = run(TorqueStepDetector(residual, POLE), torques)
    assert sudden[2000] > 6.0
    assert np.argmax(np.abs(jumps[2000]) / std[2000]) == 1
    after = 2000 + round((LAG + 0.2) / STEP)
    assert sudden[after:].max() < 5.0


def test_an_arm_is_watched_more_closely_once_it_has_proved_quiet(residual, rng):
    """At first it counts as a loud one, and a step of 12 sigmas each second keeps it one. A contact teaches nothing."""
    quiet, loud, frozen = (TorqueStepDetector(residual, POLE) for _ in range(3))
    first = quiet.loudness
    torques = drift(residual, 30_000, rng)
    run(quiet, torques)
    steps = 12.0 * residual.std[0] * np.repeat(np.arange(30) % 2, 1000)
    torques[:, 0] += steps
    run(loud, torques)
    frozen.start(-STEP, torques[0])
    frozen.freeze()
    for k in range(10_000):
        frozen.update(STEP * k, torques[k], STEADY, INERTIA)
    assert first > 1.3
    assert quiet.loudness == 1.0
    assert loud.loudness > 1.3
    assert frozen.loudness == first


def test_bursts_raise_what_a_contact_has_to_exceed(residual, rng):
    """40 ms of four sigmas, once a second, as real arms have them: hardly any power, but large values."""
    torques = drift(residual, 20_000, rng)
    burst = 4.0 * residual.std[1] * np.sin(np.linspace(0.0, np.pi, 40))
    for first in range(500, 20_000, 1000):
        torques[first : first + 40, 1] += burst
    watch, quiet = TorqueStepDetector(residual, POLE), TorqueStepDetector(residual, POLE)
    run(watch, torques)
    run(quiet, drift(residual, 20_000, rng))
    assert watch.loudness > 1.15
    assert quiet.loudness == 1.0


def test_the_begin_of_a_contact_teaches_nothing(residual, rng):
    """In the 30 ms before it is detected it would raise the level, and so its own threshold and the next one's."""
    torques = drift(residual, 9000, rng)
    torques[8000:, 1] += 12.0 * residual.std[1]
    watch = TorqueStepDetector(residual, POLE)
    run(watch, torques[:8030])
    watch.freeze()
    for k in range(8030, 9000):
        if k == 8500:
            watch.resume()
        watch.update(STEP * k, torques[k], STEADY, INERTIA)
    assert watch.loudness == 1.0


def test_noise_is_learnt(residual, rng):
    """White noise of one sigma is no part of the residual model: after 10 s it is known to some per cent."""
    noise = residual.std * rng.normal(size=(30_000, 2))
    jumps, std, sudden = run(TorqueStepDetector(residual, POLE), noise)
    np.testing.assert_allclose(std[-1], jumps[15_000:].std(axis=0), rtol=0.1)
    assert sudden[5000:].max() < 5.5


def test_noise_that_grows_with_inertia_is_expected(residual, rng):
    """Noise of velocities, in postures of little and much inertia.

    The parts come out to some 10 % of the whole, which is a quarter of the little noise where h is small. One level for
    all postures would be three times too much there.
    """
    count = 40_000
    h = 4.0 + 3.8 * np.sin(2.0 * np.pi / 5.0 * STEP * np.arange(count))  # a period of 5 s
    noise = (2.0 * residual.std * np.sqrt(h)[:, None]) * rng.normal(size=(count, 2))
    watch = TorqueStepDetector(residual, POLE)
    watch.start(-STEP, noise[0])
    jumps, std = np.empty((count, 2)), np.empty((count, 2))
    for k in range(count):
        watch.update(STEP * k, noise[k], STEADY, np.full(2, h[k]))
        jumps[k], std[k] = watch.jump, watch.std
    learnt = np.arange(count) > 10_000
    for some in (h > 7.0, h < 0.6):
        chosen = learnt & some
        np.testing.assert_allclose(np.sqrt((std[chosen] ** 2).mean(axis=0)), jumps[chosen].std(axis=0), rtol=0.35)


def test_friction_that_turns_is_expected_and_standing_still_is_not_turning(residual):
    quiet = np.zeros((2000, 2))
    noise = 0.004 * np.sign(np.sin(np.arange(2000.0)))[:, None]
    _, still, _ = run(TorqueStepDetector(residual, POLE), quiet, noise + quiet)
    np.testing.assert_allclose(still[10:], still[[9]].repeat(1990, axis=0), rtol=0.01)
    speed = np.where(np.arange(2000) < 1000, 0.5, -0.5)
    turning = np.column_stack((speed, np.full(2000, 0.5)))
    _, std, _ = run(TorqueStepDetector(residual, POLE), quiet, turning)
    assert std[1040, 0] > 1.5 * std[990, 0]
    # The first guess of the noise wears off all the time, at a rate of 1 / (1.3 s) here.
    np.testing.assert_allclose(std[1040, 1], std[990, 1], rtol=0.05)
    _, steady, _ = run(TorqueStepDetector(residual, POLE), quiet)
    np.testing.assert_allclose(std[-1], steady[-1], rtol=0.01)


def test_a_long_standstill_makes_no_contact_of_the_next_motion(residual, rng):
    """20 s without any noise, twice the memory, then motion with drift and noise of the residual's size."""
    moved = drift(residual, 4000, rng) + 0.5 * residual.std * rng.normal(size=(4000, 2))
    torques = np.vstack([np.tile(moved[0], (20_000, 1)), moved])
    dq = np.vstack([np.zeros((20_000, 2)), np.full((4000, 2), 0.5)])
    _, _, sudden = run(TorqueStepDetector(residual, POLE), torques, dq)
    assert sudden[20_000:].max() < ContactOptions().threshold


def test_a_frozen_comparison_stays_and_becomes_less_certain(residual):
    torques = np.zeros((1500, 2))
    torques[1000:] = 5.0
    watch = TorqueStepDetector(residual, POLE)
    run(watch, torques[:1001])
    watch.freeze()
    before = watch.std.copy()
    for k in range(1001, 1500):
        watch.update(STEP * k, torques[k], STEADY, INERTIA)
    np.testing.assert_allclose(watch.jump, 5.0, rtol=1e-6)
    assert (watch.std > 1.2 * before).all()
    watch.resume()
    watch.update(1.5, torques[-1], STEADY, INERTIA)
    np.testing.assert_allclose(watch.jump, 0.0, atol=1e-3)  # .5 s are 17 time constants of the mean


def test_a_shift_for_a_known_reason_is_no_jump(residual, rng):
    torques = drift(residual, 3000, rng)
    plain, shifted = TorqueStepDetector(residual, POLE), TorqueStepDetector(residual, POLE)
    expected, _, _ = run(plain, torques)
    change = np.array([4.0, -9.0])
    run(shifted, torques[:2000])
    shifted.shift(change)
    for k in range(2000, 3000):
        shifted.update(STEP * k, torques[k] + change, STEADY, INERTIA)
        np.testing.assert_allclose(shifted.jump, expected[k], atol=1e-9)


@pytest.mark.parametrize("rate", [30.0, 200.0])
def test_other_rates_see_the_same_jump(residual, rate):
    watch = TorqueStepDetector(residual, POLE)
    watch.start(0.0, np.zeros(2))
    for k in range(1, round(2.0 * rate)):
        assert watch.update(k / rate, np.zeros(2), STEADY, INERTIA) < 1e-9
    assert watch.update(2.0, np.array([0.0, 5.0 * 0.5]), STEADY, INERTIA) > 6.0


def test_where_a_map_knows_the_arm_a_lighter_push_is_a_step(residual, rng):
    """What is left of the residual is a tenth of it, for 0.15 s: the steps have the standard deviation of that."""
    known = ResidualModel(DRIFT * residual.std, np.full(2, DRIFT_TIME))
    torques = drift(known, 200_000, rng)
    watch, bare = TorqueStepDetector(residual, POLE), TorqueStepDetector(residual, POLE)
    watch.unexplained = np.zeros(2)
    jumps, std, _ = run(watch, torques)
    _, wide, _ = run(bare, torques)
    # 200 s are some 600 correlation times: mean squares agree within a tenth.
    settled = slice(100_000, None)
    np.testing.assert_allclose(std[settled].mean(axis=0), jumps[settled].std(axis=0), rtol=0.15)
    assert (std[settled].mean(axis=0) < 0.5 * wide[settled].mean(axis=0)).all()
