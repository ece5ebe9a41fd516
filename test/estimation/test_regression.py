# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques
from scipy.signal import lsim

from panda_dynamics_ros.estimation.regression import ARM, ArmTerms, MomentumRegression, OnsetRegressors

POLE = 2.0 * np.pi * 3.0
TWO_POLES = ([POLE**2], [1.0, 2.0 * POLE, POLE**2])


def step(regression, dt, momentum, bias):
    return regression.rows(np.array([dt]), momentum[None], bias[None])


def terms_of(robot, motion, tau):
    return ArmTerms(robot).rows(motion.stamp, motion.q, motion.dq, tau)


def run(robot, motion, tau):
    """Y (N, n, 10) and y (N, n), sample by sample."""
    rows, regression = terms_of(robot, motion, tau), MomentumRegression(robot.n, 3.0)
    steps = np.diff(motion.stamp, prepend=motion.stamp[0])
    found = np.array([step(regression, *each).copy() for each in zip(steps, rows.momentum, rows.bias, strict=True)])
    return found[..., :ARM], found[..., ARM]


def test_filtered_payload_torque_is_the_exact_torque_through_two_poles(panda):
    """The exact one knows the acceleration."""
    motion = sinusoids(1.5)
    Y, _ = run(panda, motion, np.zeros_like(motion.q))
    exact = torques(panda, motion, PAYLOAD) - torques(panda, motion)
    settled = motion.stamp > 1.0
    for joint in range(7):
        oracle = lsim(TWO_POLES, exact[:, joint] - exact[0, joint], motion.stamp)[1] + exact[0, joint]
        # The oracle starts from rest, the regression from steady motion: exp(-19) (1 + 19) of the amplitude is left.
        filtered = (Y @ PAYLOAD.vector)[settled, joint]
        np.testing.assert_allclose(filtered, oracle[settled], atol=1e-5 * np.abs(exact).max())


def test_what_is_expected_of_arm_and_payload_has_its_rate(panda):
    motion = sinusoids(2.0)
    rows, regression = terms_of(panda, motion, torques(panda, motion)), MomentumRegression(7, 3.0)
    torque, rates = [], []
    for terms in zip(rows.momentum, rows.bias, strict=True):
        Y = step(regression, 1e-3, *terms)[:, :ARM]
        arm, rate, amount = regression.expected(PAYLOAD.vector)
        torque.append(arm + Y @ PAYLOAD.vector)
        np.testing.assert_allclose(amount, np.abs(torque[-1]), atol=1e-12)
        rates.append(rate)
    error = (rates - np.gradient(torque, 1e-3, axis=0))[motion.stamp > 1.2]
    assert np.abs(error).max() < 0.01 * np.abs(rates).max()  # dry friction turns within a few samples


def test_an_unloaded_arm_leaves_nothing(panda):
    """Its dry friction follows the way of the joints, its published sigmoid included; the rest is a function of dq."""
    motion = sinusoids(2.0)
    _, y = run(panda, motion, torques(panda, motion))
    assert np.abs(y[motion.stamp > 1.2]).max() < 2e-3  # curvature, with the arm's own torques of up to 50 N m


@pytest.mark.parametrize("rate", [30.0, 100.0, 1000.0])
def test_payload_torque_is_explained_without_acceleration(panda, rate):
    motion = sinusoids(4.0, rate)
    Y, y = run(panda, motion, torques(panda, motion, PAYLOAD))
    _, unloaded = run(panda, motion, torques(panda, motion))
    settled = motion.stamp > 1.2  # the start dies out as exp(-19 t)
    error = (y - unloaded - Y @ PAYLOAD.vector)[settled]
    # Curvature between samples, (w dt)^2 / 8 with w = 3.3 rad/s: 1.5e-3 of some 20 N m at 30 Hz.
    assert np.abs(error).max() < 20.0 * (3.3 / rate) ** 2 / 8.0 * 2.0
    assert np.abs(y - unloaded)[settled].max() > 1.0, "a payload that leaves no torque would prove nothing"


def test_an_onset_is_filters_that_start_there(panda):
    """The torque of what is picked up at t0, through both poles from zero; half of another comes a bit later."""
    motion, onsets = sinusoids(2.0), (1200, 1350)
    rows, regression = terms_of(panda, motion, np.zeros_like(motion.q)), MomentumRegression(panda.n, 3.0)
    slots, exact = OnsetRegressors(panda.n, 4), torques(panda, motion, PAYLOAD) - torques(panda, motion)
    oracle = np.zeros((2, *motion.q.shape))
    for each, k in zip(oracle, onsets, strict=True):
        for joint in range(7):
            each[k:, joint] = lsim(TWO_POLES, exact[k:, joint], motion.stamp[k:] - motion.stamp[k])[1]
    limit, steps = 2e-5 * np.abs(exact).max(), np.diff(motion.stamp, prepend=motion.stamp[0])
    for k in range(len(motion.stamp)):
        step(regression, steps[k], rows.momentum[k], rows.bias[k])
        if k == 1000:
            slots.start(2, 1.0)
        if k in onsets:
            slots.follow(np.array([[1.0, 0.0, 1.0, 0.5], [1.0, 1.0, 1.0, 1.0]][onsets.index(k)]), regression)
        if k >= onsets[0] and k % 7 == 0:
            regressors, constant = slots.follow(slots.share, regression)
            torque, half = PAYLOAD.vector @ regressors, 0.5 * oracle[:, k].sum(axis=0)
            np.testing.assert_allclose(torque[:, [0, 1, 3]].T, [*oracle[:, k], half], atol=limit)
            phase = regression.pole * np.maximum(motion.stamp[k] - motion.stamp[[*onsets]], 0.0)
            step_response = 1.0 - (1.0 + phase) * np.exp(-phase)
            # The second pole takes what the first one says for linear between samples, (w dt)^2 / 12 off.
            np.testing.assert_allclose(constant, [*step_response, 1.0, 0.5 * step_response.sum()], atol=3e-5)
    # Long ago is before the filters started, as if nothing had been carried then: by now the whole regressor.
    np.testing.assert_array_equal(slots.follow(slots.share, regression)[0][..., 2], regression.filtered[:, :ARM])


def test_a_block_is_its_samples(panda):
    """The terms with the memory of dry friction, and the regression."""
    motion = sinusoids(0.5)
    tau = torques(panda, motion, PAYLOAD)
    steps = np.diff(motion.stamp, prepend=motion.stamp[0])
    whole, terms = terms_of(panda, motion, tau), ArmTerms(panda)
    a, b = MomentumRegression(7, 3.0), MomentumRegression(7, 3.0)
    for k in range(len(tau)):
        one = slice(k, k + 1)
        row = terms.rows(motion.stamp[one], motion.q[one], motion.dq[one], tau[one])
        for name in ("s", "momentum", "bias"):
            np.testing.assert_array_equal(getattr(row, name)[0], getattr(whole, name)[k])
        step(a, steps[k], row.momentum[0], row.bias[0])
    for part in (slice(0, 123), slice(123, 124), slice(124, None)):
        b.rows(steps[part], whole.momentum[part], whole.bias[part])
    np.testing.assert_array_equal(a.filtered, b.filtered)
    assert a.age == pytest.approx(b.age)


def test_a_signal_passes_the_same_two_poles():
    stamp = np.arange(500) * 1e-3
    x = np.sin(9.0 * stamp)[:, None] * [1.0, -2.0]
    signals = x[:, None]  # the terms of a regression without momentum
    found = MomentumRegression(1, 3.0, 2).rows(np.diff(stamp, prepend=0.0), np.zeros(signals.shape), signals)[0]
    np.testing.assert_allclose(
        found, [lsim(TWO_POLES, x[:, k], stamp)[1][-1] for k in (0, 1)], atol=1e-5
    )  # 2 (w dt)^2 / 8


def test_restart_forgets(panda):
    motion = sinusoids(1.0)
    rows, regression = terms_of(panda, motion, torques(panda, motion, PAYLOAD)), MomentumRegression(panda.n, 3.0)
    regression.rows(np.diff(motion.stamp, prepend=0.0), rows.momentum, rows.bias)
    assert regression.settled
    regression.restart()
    assert not regression.settled
    fresh = step(MomentumRegression(panda.n, 3.0), 0.0, rows.momentum[0], rows.bias[0])
    np.testing.assert_array_equal(step(regression, 1.0, rows.momentum[0], rows.bias[0]), fresh)
