# SPDX-License-Identifier: Apache-2.0
"""Each error of a description is the torque of an arm that has it; its noise and its clock are learnt from samples."""

from dataclasses import replace

import numpy as np
import pytest
from motion import sinusoids

from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.estimation import arm_model
from panda_dynamics_ros.estimation.arm_model import OWN, ErrorColumns, MotionClock, Noise, error_directions
from panda_dynamics_ros.estimation.kalman_filter import GaussianState, correct, predict
from panda_dynamics_ros.estimation.regression import MomentumRegression

POLE, RATIO, DT = 2.0 * np.pi * 3.0, 1.3, 2e-3
STEP = 1e-4  # of the finite differences: the torques are linear or nearly so
SETTLED = 1.2  # s: the start dies out as exp(-19 t)


@pytest.fixture(scope="module")
def motion():
    return sinusoids(1.5, 1.0 / DT)


@pytest.fixture(scope="module")
def columns(panda, motion):
    """A (N, n, shared + own) of the samples that are settled, and the arm's filtered torques; of motor currents."""
    arm, (s, _) = replace(panda, effort="current", motor_constants=np.ones(7)), presliding_states(motion.q)
    errors = ErrorColumns(arm, POLE, RATIO)
    arm = filtered(panda.inverse_dynamics(motion.q, motion.dq, motion.ddq))
    rates = np.gradient(arm, DT, axis=0, edge_order=2)
    samples = zip(zip(motion.q, motion.dq, s, strict=True), np.stack((arm, rates, np.abs(arm)), axis=1), strict=True)
    found = [errors.step(DT, *sample, np.ones(7)).copy() for sample in samples]
    return np.array(found)[motion.stamp > SETTLED], arm[motion.stamp > SETTLED]


def filtered(x):
    """A signal (N, 7) through the two poles."""
    low_pass, still = MomentumRegression(1, POLE / (2.0 * np.pi), 7), np.zeros((1, 7))
    return np.array([low_pass.rows(np.array([DT]), still[None], each[None, None])[0].copy() for each in x])


def difference(motion, torques, step=STEP):
    """Filtered torques (settled, 7) of one sigma, by a central difference of `torques(error)`."""
    return filtered((torques(step) - torques(-step)) / (2.0 * step))[motion.stamp > SETTLED]


def assert_columns(found, expected, atol=1e-4):
    # Signals are taken as straight between samples: (w dt)^2 / 8 with w up to 7 rad/s, of the largest, is 2e-5.
    np.testing.assert_allclose(found, RATIO * expected, atol=atol * max(1.0, np.abs(expected).max()))


def test_links(panda, motion, columns):
    """The torques are linear in the inertial parameters; their regressor knows the acceleration."""
    directions = error_directions(panda)
    Y = panda.regressor(motion.q, motion.dq, motion.ddq)
    for k in range(directions.shape[1]):
        assert_columns(columns[0][:, :, k], filtered(Y @ directions[:, k])[motion.stamp > SETTLED])


def test_directions_are_one_sigma_of_mass_centre_and_shape(panda, rng):
    """What is drawn from the prior of each link makes the torques that the directions make, but for a tenth."""
    rows = []
    for link in panda.links:

        def vector(mass=0.0, com=(0.0, 0.0, 0.0), link=link):
            return replace(link, mass=(1.0 + mass) * link.mass, com=link.com + com,
                           inertia=(1.0 + mass) * link.inertia).vector  # fmt: skip

        J = [arm_model.LINK_MASS * (vector(STEP) - vector(-STEP)) / (2.0 * STEP)]
        J += [arm_model.LINK_COM * (vector(com=e) - vector(com=-e)) / (2.0 * STEP) for e in STEP * np.eye(3)]
        size = arm_model.LINK_SHAPE * 0.5 * np.trace(link.inertia)
        J += [np.r_[np.zeros(4), size * row] for row in np.diag([1.0, 0.5, 0.5, 1.0, 0.5, 1.0])]
        rows.append(np.array(J).T)
    limits, D = panda.limits, error_directions(panda)
    q = rng.uniform(limits.lower, limits.upper, (300, 7))
    dq, ddq = 0.3 * limits.velocity * rng.normal(size=(300, 7)), 0.15 * limits.acceleration * rng.normal(size=(300, 7))
    Y = panda.regressor(q, dq, ddq) / panda.residual.std[:, None]
    whole = sum(np.sum((Y[..., 10 * i : 10 * i + 10] @ J) ** 2) for i, J in enumerate(rows))
    missing = (whole - np.sum((Y @ D) ** 2)) / (300 * 7)
    assert 0.0 < missing < 1.5 * arm_model.NEGLIGIBLE**2  # other states than those that chose the directions
    assert D.shape[1] < 40, "directions that the torques do not show cost time"


def test_tilt_delay_common_gain_and_friction_of_the_load(panda, motion, columns):
    A, arm = columns
    first, g = error_directions(panda).shape[1], np.linalg.norm(panda.gravity)
    for axis in (0, 1):

        def tilted(size, axis=axis):
            gravity = panda.gravity + size * arm_model.TILT * g * np.eye(3)[axis]
            return replace(panda, gravity=gravity).inverse_dynamics(motion.q, motion.dq, motion.ddq)

        assert_columns(A[:, :, first + axis], difference(motion, tilted))

    def late(size):
        before = sinusoids(1.5, 1.0 / DT, start=-size * arm_model.DELAY)
        return panda.inverse_dynamics(before.q, before.dq, before.ddq)

    assert_columns(A[:, :, first + 2], difference(motion, late))
    assert_columns(A[:, :, first + 3], arm_model.COMMON_GAIN * arm)
    direction = filtered(presliding_states(motion.q)[0])[motion.stamp > SETTLED]
    assert_columns(A[:, :, first + 4], arm_model.LOAD_FRICTION * np.abs(arm) * direction)


def test_errors_of_each_joint(panda, motion, columns):
    """Friction with its memory is that of the joints' way; `soft` is what a function of the velocity has beside it."""
    A, _ = columns
    f, (s, _) = panda.friction, presliding_states(motion.q)
    dry = f.coulomb + 0.5 * f.amplitude
    memory = panda.friction_torques(motion.dq, s) + f.amplitude * (
        0.5 * s + 0.5 - 1.0 / (1.0 + np.exp(-f.slope * (motion.dq + f.shift)))
    )
    signals = {
        "offset": arm_model.OFFSET + 0.0 * s,
        "friction": np.where(dry > 0.0, arm_model.DRY_SHARE * dry, arm_model.DRY) * s,
        "viscous": arm_model.VISCOUS * motion.dq,
        "soft": arm_model.SOFT * (panda.friction_torques(motion.dq) - memory),
        "rotor_inertia": arm_model.ROTOR * motion.ddq,
    }
    own = A[:, :, A.shape[2] - 7 * OWN :].reshape(len(A), 7, 7, OWN)
    assert not own[:, ~np.eye(7, dtype=bool)].any(), "the others' errors"
    own = np.einsum("kiic->kic", own)
    assert tuple(signals) == arm_model.TERMS
    for k, signal in enumerate(signals.values()):
        assert_columns(own[:, :, k], filtered(signal)[motion.stamp > SETTLED])


def test_a_residual_map_leaves_a_share(panda, motion):
    whole, part = ErrorColumns(panda, POLE), ErrorColumns(panda, POLE)
    sample = (motion.q[0], motion.dq[0], np.ones(7)), np.arange(21.0).reshape(3, 7)
    A = 0.25 * whole.step(DT, *sample, np.ones(7))
    np.testing.assert_allclose(part.step(DT, *sample, np.full(7, 0.25)), A, rtol=1e-14)


def test_errors_have_units(panda, rng):
    """What `arm_errors` says times its regressor is the torque of the column."""
    errors = ErrorColumns(panda, POLE, RATIO)
    mean, variance = rng.normal(size=errors.size), rng.uniform(size=errors.size)
    said, own = errors.errors(mean, variance), mean[errors.shared :].reshape(7, OWN)
    np.testing.assert_allclose(said.offset, RATIO * arm_model.OFFSET * own[:, 0])
    np.testing.assert_allclose(said.rotor_inertia, RATIO * arm_model.ROTOR * own[:, 4])
    k = errors.shared
    np.testing.assert_allclose(said.tilt, RATIO * arm_model.TILT * mean[k - 5 : k - 3])
    np.testing.assert_allclose(said.delay, RATIO * arm_model.DELAY * mean[k - 3])
    np.testing.assert_allclose(said.common_gain_std, RATIO * arm_model.COMMON_GAIN * np.sqrt(variance[k - 2]))


@pytest.mark.parametrize(("level", "white"), [(0.4, 4.0), (2.0, 40.0)])
def test_level_and_white_noise_are_learnt(panda, rng, level, white):
    """A simulated process of another level: 120 s, of which the last 20 s count, some 25 correlation times of 7 joints.
    The variance's standard deviation is sqrt(2 / 175): 11 %, 5 % of the level; the prior's is off by 60 % and more."""
    noise, dt = Noise(panda, 0.02), 0.02
    a = noise.decay(dt, np.zeros(7))
    least = noise.white_variance(dt, 0.0) - noise.white
    std, variance = level * noise.std, white * noise.white + least
    prior_white = noise.white.copy()
    state, d = GaussianState.prior(np.full(10, 1e-6), noise.std, 1), std * rng.normal(size=7)
    H = np.hstack((np.zeros((7, 10)), np.eye(7)))
    for _ in range(6000):
        d = a * d + std * np.sqrt(1.0 - a * a) * rng.normal(size=7)
        y = d + np.sqrt(variance) * rng.normal(size=7)
        state = predict(state, a, noise.std)
        state, step = correct(state, H, y, noise.white_variance(dt, 0.0), a)
        seen, P = state.mean[10:17], state.covariance.diagonal()[10:17]
        noise.learn(dt, seen, P, step.innovation, step.variance)
    assert np.sqrt(np.mean(noise.ratio**2)) == pytest.approx(level, rel=0.2)
    assert np.mean(noise.white / prior_white) == pytest.approx(white, rel=0.3)


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
def test_the_noise_of_the_torque_signal_is_measured(panda, rng, dt):
    """Noise of 0.5 N m on torques that move by 10 N m at 1 Hz: e has 0.25 dt / 0.02. A jump of 30 N m is no noise.
    The standard deviation of what 20 s of second differences say is 3 % at 4 ms."""
    noise, t = Noise(panda, 0.02), np.arange(0.0, 20.0, dt)
    steps, before = np.full(len(t), dt), noise.white_variance(0.02, 0.0)
    steps[0] = 0.0
    tau = 10.0 * np.sin(2.0 * np.pi * t)[:, None] + 30.0 * (t > 10.0)[:, None] + 0.5 * rng.normal(size=(len(t), 7))
    for block in np.array_split(np.arange(len(t)), 100):
        terms = np.repeat(tau[block, :, None], 13, axis=2)
        noise.measure(terms, terms, 0.0, steps[block])
    np.testing.assert_allclose(noise.white_variance(0.02, 0.0) - before, 0.25 * dt / 0.02, rtol=0.15)


def test_the_clock_of_the_disturbance(panda):
    noise, tau = Noise(panda, 0.02), arm_model.CORRELATION * panda.residual.correlation_time
    np.testing.assert_allclose(noise.decay(0.1, np.zeros(7)), np.exp(-0.1 / tau))
    np.testing.assert_array_equal(noise.decay(0.0, np.zeros(7)), 1.0)
    s = 0.8 * arm_model.TURN_PLAY * np.ones(7)
    np.testing.assert_array_equal(noise.decay(0.0, s), 1.0)
    np.testing.assert_allclose(noise.decay(0.0, -np.ones(7)), np.exp(-arm_model.TURN * (1.0 - arm_model.TURN_PLAY)))
    np.testing.assert_array_equal(noise.decay(0.0, -np.ones(7)), 1.0)


def test_noise_at_rest_is_no_motion(rng):
    """150 s of a velocity noise of 0.02 rad/s as differences of positions; and drawn anew for each position."""
    clock, q = MotionClock(7), np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])
    noise = 0.02 * 1e-3 / np.sqrt(2.0) * rng.normal(size=(7500, 7))
    assert sum(clock.step(q + each, 0.02) for each in noise) == 0.0
    assert clock.still == pytest.approx(150.0)


@pytest.mark.parametrize(("speed", "share"), [(0.6, 1.0), (0.15, 0.5)])
def test_motion_counts_by_its_speed(speed, share):
    clock = MotionClock(2)
    counted = [clock.step(np.array([speed * t, 0.1]), 0.01) for t in np.arange(1.0, 3.0, 0.01)]
    assert sum(counted) == pytest.approx(2.0 * share, abs=0.03)
    assert clock.still == 0.0
