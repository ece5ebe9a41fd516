# SPDX-License-Identifier: Apache-2.0
"""The pieces of change detection, each against a computation that knows no recursion."""

import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques
from panda_dynamics_ros.estimation.glr_signatures import (
    MOMENTS,
    GlrSignatures,
    contact_evidence,
    fits_and_penalties,
    payload_evidence,
)
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms
from panda_dynamics_ros.estimation.onset_regressors import OnsetRegressors

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.kalman_filter import FilterStep, GaussianState, correct, predict
from panda_dynamics_ros.estimation.regression import MomentumRegression, first_order_hold
from panda_dynamics_ros.robot.inertial import PARAMETERS

BANDWIDTH, ON = 3.0, 300  # Hz; sample after which something comes on


@pytest.fixture(scope="module")
def motion():
    return sinusoids(1.0, rate=1000.0)


def run(panda, motion, tau, at_on=None, then=None):
    """All (Y, y), with `at_on(regression)` called after sample `ON` and `then(regression, dt)` after later ones."""
    regression, terms, found = MomentumRegression(panda.n, BANDWIDTH), MomentumTerms(panda), []
    for k, stamp in enumerate(motion.stamp):
        dt = stamp - motion.stamp[k - 1] if k else 0.0
        Y, y = regression.step(dt, terms.at(motion.q[k], motion.dq[k], tau[k]))
        if k > ON and then is not None:
            then(regression, dt)
        found.append((Y.copy(), y.copy()))
        if k == ON and at_on is not None:
            at_on(regression)
    return found


def test_gated_regressor_explains_a_payload_from_its_first_sample(panda, motion):
    """Y of the whole past would claim the payload's torque at once; the onset_regressors one rises with it."""
    carried = (np.arange(len(motion.stamp)) > ON)[:, None]
    unloaded, loaded = torques(panda, motion), torques(panda, motion, PAYLOAD)
    onsets, onset_regressors = OnsetRegressors(panda.n, 1), []

    def follow(regression, dt):
        onsets.step(regression.pole, dt)
        onset_regressors.append(onsets.regressors(regression)[0].copy())

    def start_onset(regression):
        onsets.start(0, regression)

    with_jump = run(panda, motion, np.where(carried, loaded, unloaded), start_onset, follow)
    without = run(panda, motion, unloaded)
    whole_error, gated_error = [], []
    for k, Y_gated in enumerate(onset_regressors, start=ON + 1):
        seen = with_jump[k][1] - without[k][1]
        gated_error.append(np.abs(seen - Y_gated @ PAYLOAD.vector).max())
        whole_error.append(np.abs(seen - with_jump[k][0] @ PAYLOAD.vector).max())
    # Up to 10 N m come on between two samples, which the filters take for a ramp of 1 ms: 1 % of them at 3 Hz.
    assert max(gated_error) < 0.1
    assert max(whole_error) > 1.0


def test_onset_regressor_is_that_of_filters_which_start_at_the_onset(panda, motion, rng):
    """With filters of its own, at a period that varies; and the settled one is that of the whole past."""
    tau, onsets = torques(panda, motion), OnsetRegressors(panda.n, 3)
    own: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}
    stamp = motion.stamp + 4e-4 * rng.uniform(size=len(motion.stamp))
    regression, terms = MomentumRegression(panda.n, BANDWIDTH), MomentumTerms(panda)
    for k, now in enumerate(stamp):
        dt, before = now - stamp[k - 1] if k else 0.0, regression.direct[:, :PARAMETERS].copy()
        Y, _ = regression.step(dt, terms.at(motion.q[k], motion.dq[k], tau[k]))
        direct, derivative = regression.direct[:, :PARAMETERS], regression.derivative[:, :PARAMETERS]
        if k:
            onsets.step(regression.pole, dt)
            a, b0, b1 = first_order_hold(regression.pole, dt)
        for slot, (first, second, middle) in own.items():
            first = a * first + b0 * direct + b1 * before
            second = a * second + b0 * (derivative - first) + b1 * middle
            own[slot] = first, second, derivative - first
            if k % 7 == 0:
                np.testing.assert_allclose(onsets.regressors(regression)[slot], second, atol=1e-12)
        if k in (100, 300):
            onsets.start(k // 200, regression)
            own[k // 200] = derivative.copy(), 0.0 * derivative, 0.0 * derivative
        if k == 200:
            onsets.start_settled(2)
    np.testing.assert_allclose(onsets.regressors(regression)[2], Y, atol=1e-12)
    first, second, middle = own[1]
    state = onsets.state(1, regression)
    for got, wanted in ((state.first, first), (state.second, second), (state.old_middle, middle)):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_split_regression_goes_on_with_the_new_payload_alone(panda, motion):
    """After a drop, what is left of the old payload in the filters is taken from y, and Y is of what came since."""
    carried = (np.arange(len(motion.stamp)) <= ON)[:, None]
    tau = np.where(carried, torques(panda, motion, PAYLOAD), torques(panda, motion))
    onsets = OnsetRegressors(panda.n, 1)

    def change(regression):
        onsets.start(0, regression)
        regression.change_payload(onsets.state(0, regression), PAYLOAD.vector)

    dropped, empty = run(panda, motion, tau, change), run(panda, motion, torques(panda, motion))
    for k in range(ON + 1, len(motion.stamp)):
        # The same ramp of 1 ms as above.
        np.testing.assert_allclose(dropped[k][1], empty[k][1], atol=0.1)


def test_settled_torque_counts_as_one_that_was_always_there(panda, motion):
    push = np.array([3.0, -2.0, 1.0, 4.0, 0.5, -0.5, 0.2])
    on = (np.arange(len(motion.stamp)) > ON)[:, None]
    unloaded = torques(panda, motion)
    empty, settle_at = run(panda, motion, unloaded), ON + 40

    regression, terms = MomentumRegression(panda.n, BANDWIDTH), MomentumTerms(panda)
    for k, stamp in enumerate(motion.stamp):
        dt = stamp - motion.stamp[k - 1] if k else 0.0
        _, y = regression.step(dt, terms.at(motion.q[k], motion.dq[k], (unloaded + on * push)[k]))
        if k > settle_at:
            # Exact but for the ramp of 1 ms at the beginning.
            np.testing.assert_allclose(y, empty[k][1] + push, atol=0.04)
        if k == settle_at:
            assert np.abs(y - empty[k][1] - push).max() > 1.0
            regression.complete_step(push, stamp - motion.stamp[ON])


SIGMA, CORRELATION_TIME = np.array([0.3, 0.5, 0.2]), np.array([0.5, 0.8, 0.4])
VARIANCE = np.array([0.01, 0.02, 0.005])
PRIOR = np.diag(np.array([1.5, *[0.15] * 3, *[0.02] * 6]) ** 2)


def test_signatures_equal_the_difference_of_two_filters():
    """One filter sees a jump, the other does not: their innovations differ by g, their states by X, per unit."""
    rng = np.random.default_rng(3)
    Y, y, onset_regressors = (
        rng.normal(size=(15, 3, PARAMETERS)),
        0.1 * rng.normal(size=(15, 3)),
        rng.normal(size=(15, 1, 3, PARAMETERS)),
    )
    step_response, jump = np.linspace(0.1, 1.0, 15), 0.1 * rng.normal(size=MOMENTS + 3)
    shared, own = 2, 3
    errors, A = shared + 3 * own, rng.normal(size=(15, 3, shared + own))
    signatures, slots = GlrSignatures(3, 1, errors), np.array([0])
    signatures.start(0)
    L, v = np.zeros((7, 7)), np.zeros(7)
    states = [GaussianState.prior(np.zeros(PARAMETERS), PRIOR, SIGMA, errors) for _ in range(1 + len(jump))]
    whole = GaussianState.prior(np.zeros(PARAMETERS), PRIOR, SIGMA, errors)

    def advance(state, k, extra):
        step = FilterStep.zeros(3, shared, own)
        predict(state.mean, state.covariance, 0.01, SIGMA, CORRELATION_TIME)
        correct(
            state.mean, state.covariance, Y[k], A[k], shared, k % 2 == 0, y[k] + extra, VARIANCE,
            step.gain, step.innovation, step.innovation_variance,
        )  # fmt: skip
        step.decay[:], step.Y[:], step.A[:] = np.exp(-0.01 / CORRELATION_TIME), Y[k], A[k]
        return step

    for k in range(15):
        effect = 0.1 * np.hstack((onset_regressors[k, 0, :, :MOMENTS], step_response[k] * np.eye(3)))
        step = advance(states[0], k, 0.0)
        signatures.update(slots, step, onset_regressors[k], step_response[k : k + 1])
        g = np.column_stack([advance(b, k, effect[:, c]).innovation for c, b in enumerate(states[1:])])
        g = 10.0 * (g - step.innovation[:, None])  # in small steps: a large innovation counts less
        advance(whole, k, 10.0 * effect @ jump)
        L += g.T @ (g / step.innovation_variance[:, None])
        v += g.T @ (step.innovation / step.innovation_variance)
    # Linear algebra in double precision, some thousand operations of size one.
    np.testing.assert_allclose(signatures.L[0], L, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(signatures.v[0], v, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(signatures.X[:, :, 0] @ jump, whole.mean - states[0].mean, rtol=1e-9, atol=1e-9)


def log_normal(x, covariance):
    return -0.5 * (x @ np.linalg.solve(covariance, x) + np.linalg.slogdet(2.0 * np.pi * covariance)[1])


@pytest.mark.parametrize("entries", [1, 2, 4])
def test_evidence_is_the_ratio_of_two_gaussians(entries):
    """Also of the first entries of a jump alone."""
    rng = np.random.default_rng(5)
    A, x, variance = rng.normal(size=(20, 4)), rng.normal(size=20), np.array([0.3, 1.0, 2.0, 0.1])
    fits, costs = np.zeros(4), np.zeros(4)
    fits_and_penalties(A.T @ A, A.T @ x, variance, fits, costs)
    A, variance = A[:, :entries], variance[:entries]
    ratio = log_normal(x, np.eye(20) + A @ np.diag(variance) @ A.T) - log_normal(x, np.eye(20))
    assert fits[entries - 1] - costs[entries - 1] == pytest.approx(ratio, rel=1e-10)


@pytest.mark.parametrize("log_bayes_factors", [payload_evidence, contact_evidence])
def test_what_cannot_reach_the_least_evidence_is_left_out_and_nothing_else(log_bayes_factors):
    rng = np.random.default_rng(6)
    for _ in range(200):
        A, x = rng.normal(size=(20, 4)), rng.normal(size=20) * rng.uniform(0.1, 3.0)
        arguments = (0.1,) if log_bayes_factors is payload_evidence else (np.full(4, 0.4),)
        sizes = np.array([0.3, 1.0, 3.0])
        full = log_bayes_factors(A.T @ A, A.T @ x, sizes, *arguments, -np.inf)
        quick = log_bayes_factors(A.T @ A, A.T @ x, sizes, *arguments, 5.0)
        assert quick == full if full >= 5.0 else quick in (0.0, full)
