# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms
from scipy.signal import lsim

from panda_dynamics_ros.estimation.regression import MomentumRegression

POLE = 2.0 * np.pi * 3.0


def run(panda, motion, tau, regression=None):
    regression, terms = regression or MomentumRegression(panda.n, 3.0), MomentumTerms(panda)
    previous, rows = motion.stamp[0], []
    for stamp, q, dq, t in zip(motion.stamp, motion.q, motion.dq, tau, strict=True):
        Y, y = regression.step(stamp - previous, terms.at(q, dq, t))
        previous = stamp
        rows.append((Y.copy(), y.copy()))
    return np.array([Y for Y, _ in rows]), np.array([y for _, y in rows])


def test_payload_torque_is_explained_without_acceleration(panda):
    motion = sinusoids(2.5)
    Y, y = run(panda, motion, torques(panda, motion, PAYLOAD))
    # Signals are taken as straight between samples: at 1 kHz and 3 rad/s their curvature leaves
    # amplitude * (w dt)^2 / 8 of up to 20 N m, 2e-5 N m; the start dies out as exp(-19 t).
    settled = motion.stamp > 1.2
    assert np.abs(y - Y @ PAYLOAD.vector)[settled].max() < 1e-4
    assert np.abs(y[settled]).max() > 1.0, "a payload that leaves no torque would prove nothing"


def test_unloaded_arm_leaves_nothing(panda):
    motion = sinusoids(2.0)
    _, y = run(panda, motion, torques(panda, motion))
    assert np.abs(y[motion.stamp > 1.2]).max() < 2e-3  # as above, with the arm's own torques of up to 50 N m


def test_regressor_is_the_payload_regressor_through_two_poles(panda):
    motion = sinusoids(1.5)
    Y, _ = run(panda, motion, np.zeros_like(motion.q))
    exact = panda.payload_regressor(motion.q, motion.dq, motion.ddq)[:, 3, 1]
    two_poles = ([POLE**2], [1.0, 2.0 * POLE, POLE**2])
    oracle = lsim(two_poles, exact - exact[0], motion.stamp)[1] + exact[0]
    settled = motion.stamp > 1.0
    # The oracle starts from rest, the regression from steady motion: exp(-19) (1 + 19) of the amplitude is left.
    np.testing.assert_allclose(Y[settled, 3, 1], oracle[settled], atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("rate", [30.0, 100.0])
def test_slow_streams_stay_unbiased(panda, rate):
    motion = sinusoids(4.0, rate)
    Y, y = run(panda, motion, torques(panda, motion, PAYLOAD))
    error = (y - Y @ PAYLOAD.vector)[motion.stamp > 1.2]
    # Curvature between samples, (w dt)^2 / 8 with w = 3.3 rad/s: 1.5e-3 of some 20 N m at 30 Hz.
    assert np.abs(error).max() < 20.0 * (3.3 / rate) ** 2 / 8.0 * 2.0


def test_irregular_sampling_gives_the_same_regression(panda):
    rng = np.random.default_rng(3)
    dense = sinusoids(2.0)
    keep = np.sort(rng.choice(len(dense.stamp), 1500, replace=False))
    sparse = type(dense)(dense.stamp[keep], dense.q[keep], dense.dq[keep], dense.ddq[keep])
    Y, y = run(panda, sparse, torques(panda, sparse, PAYLOAD))
    assert np.abs(y - Y @ PAYLOAD.vector)[sparse.stamp > 1.2].max() < 1e-3  # gaps of up to 8 ms: (w dt)^2 / 8


def test_restart_forgets(panda):
    motion = sinusoids(1.0)
    regression = MomentumRegression(panda.n, 3.0)
    run(panda, motion, torques(panda, motion, PAYLOAD), regression)
    assert regression.settled
    regression.restart()
    assert not regression.settled
    terms = MomentumTerms(panda).at(motion.q[0], motion.dq[0], torques(panda, motion)[0])
    Y, y = regression.step(0.0, terms)
    fresh_Y, fresh_y = MomentumRegression(panda.n, 3.0).step(0.0, terms)
    np.testing.assert_array_equal(Y, fresh_Y)
    np.testing.assert_array_equal(y, fresh_y)
