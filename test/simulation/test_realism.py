# SPDX-License-Identifier: Apache-2.0
"""The imperfections of the simulated arm: coloured noise, sensors, perturbed bodies and friction."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import signal

from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.robot.friction import PRESLIDING
from panda_dynamics_ros.simulation import OrnsteinUhlenbeck, Realism, SensorLevels, exciting_motion
from panda_dynamics_ros.simulation.realism import Sensors, perturbed_arm, perturbed_body

COPIES = 400


def samples(steps: int, timestep: float = 0.05, frequency: float = 0.0, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    process = OrnsteinUhlenbeck(np.full(COPIES, 0.3), 0.5, timestep, rng, frequency)
    return np.array([process.step() for _ in range(steps)])


def test_std_is_stationary_from_the_first_sample():
    x = samples(100)
    # 400 independent copies: their std is known to 0.3 / sqrt(800) = 0.011; four of those.
    np.testing.assert_allclose(x[[0, 1, 50, 99]].std(axis=1), 0.3, rtol=0.0, atol=0.042)


@pytest.mark.parametrize("timestep", [0.001, 0.05, 0.7])
def test_autocorrelation_is_exponential_for_any_time_step(timestep):
    x = samples(2, timestep, seed=3)
    for seed in range(4, 24):
        x = np.concatenate([x, samples(2, timestep, seed=seed)], axis=1)
    # Pairs from 8,400 processes: a correlation coefficient is known to 1 / sqrt(8400) = 0.011; four of those.
    assert abs(np.corrcoef(x)[0, 1] - np.exp(-timestep / 0.5)) < 0.044


def test_oscillating_noise_has_its_power_at_its_frequency():
    x = samples(4096, 0.002, frequency=35.0)
    frequencies, power = signal.welch(x, fs=500.0, nperseg=1024, axis=0)
    # Lines of 0.5 Hz, a resonance of 1/(2 pi 0.5 s) = 0.3 Hz half width, 400 copies averaged.
    assert abs(frequencies[power.mean(axis=1).argmax()] - 35.0) < 1.0


def measured(levels: SensorLevels, dq: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sensors = Sensors(levels, np.full(7, 1e-3), 1e-3, np.random.default_rng(5))
    q, tau = np.full(7, 0.3), np.full(7, 2.0)
    a, b, c = zip(*(sensors.measure(q, row, tau) for row in dq), strict=True)
    return np.array(a), np.array(b), np.array(c)


def test_sensor_noise_has_the_measured_level():
    q, dq, tau = measured(SensorLevels(), np.zeros((20_000, 7)))
    # The real arm's torque noise, and its torque above 20 Hz, which here is all there is. 20,000 samples know a std
    # of white noise to 0.5 %, and of vibration (700 stretches of 0.03 s) to 3 %; three to four of those.
    white = np.diff(tau, axis=0).std(axis=0) / np.sqrt(2.0)
    np.testing.assert_allclose(white, [0.097, 0.110, 0.096, 0.097, 0.051, 0.063, 0.039], rtol=0.03)
    np.testing.assert_allclose(tau.std(axis=0)[:6], [0.250, 0.347, 0.213, 0.339, 0.089, 0.105], rtol=0.1)
    np.testing.assert_allclose(dq.std(axis=0), 0.004, rtol=0.03)
    np.testing.assert_allclose(q.std(axis=0), 2e-5, rtol=0.05)  # quantisation adds 1 %
    np.testing.assert_allclose(q.mean(axis=0), 0.301, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(q / 1e-5, np.rint(q / 1e-5), rtol=0.0, atol=1e-6)  # whole encoder steps


def test_velocity_lags_behind_a_ramp_by_the_lag():
    levels = SensorLevels((0.0,) * 7, (0.0,) * 7, velocity_noise=0.0)
    ramp = np.tile(2.0 * np.arange(200)[:, None] * 1e-3, (1, 7))
    dq = measured(levels, ramp)[1]
    # A first-order lag follows a ramp 5 ms late; sampling at 1 ms takes up to one half of a step off that.
    np.testing.assert_allclose((ramp - dq)[-1] / 2.0, 0.0045, rtol=0.0, atol=0.0001)


def test_perturbed_bodies_are_physical_even_from_the_boundary(robot):
    """Link 2 of `panda` lies on the boundary of the physical cone, that of `panda_ledezma` just outside."""
    rng = np.random.default_rng(1)
    for link in robot.links:
        for _ in range(50):
            # No tolerance: the projection leaves a millionth of the largest moment, rounding takes 1e-16 of it.
            assert perturbed_body(link, rng, 0.1, 0.2, 0.02).is_physical(tolerance=0.0)


def test_perturbed_bodies_have_the_spread_asked_for(panda):
    rng, link = np.random.default_rng(2), panda.links[3]
    bodies = [perturbed_body(link, rng, 0.03, 0.03, 0.003) for _ in range(1000)]
    # 1,000 draws know a std to 2.2 %, 3,000 coordinates to 1.3 %; four of those.
    assert abs(np.std([body.mass / link.mass for body in bodies]) - 0.03) < 0.003
    assert abs(np.std([body.com - link.com for body in bodies]) - 0.003) < 0.0003
    # The trace of the inertia: mass 3 % and, roughly, twice the 3 % of the largest extension.
    assert 0.03 < np.std([np.trace(body.inertia) / np.trace(link.inertia) for body in bodies]) < 0.08
    same = perturbed_body(link, rng, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(same.vector, link.vector, rtol=1e-9, atol=1e-12)  # rounding


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_model_error_fills_what_the_disturbance_leaves(robot, share):
    motion, sensors = exciting_motion(robot, 1), replace(SensorLevels.ideal(), joint_offset=3e-4)
    realism = Realism(disturbance_share=share, sensors=sensors)
    arm = perturbed_arm(robot, motion, realism, np.random.default_rng(1))
    q, dq, ddq = motion(motion.settled + np.arange(0.0, motion.period, 0.01))
    s, _ = presliding_states(q * (PRESLIDING / arm.presliding))
    true = arm.robot.inverse_dynamics(q, dq, ddq) + arm.robot.friction_torques(dq, s)  # type: ignore[attr-defined]
    model = robot.inverse_dynamics(q + arm.joint_offset, dq, ddq) + robot.friction_torques(dq)
    rms = np.sqrt(np.mean((true - model) ** 2, axis=0))
    expected = np.sqrt(1.0 - share**2) * robot.residual.std
    np.testing.assert_allclose(rms, expected, rtol=0.01)  # here every 10 ms, fitted every 20 ms
    assert arm.joint_offset.any()
    for true_link, link in zip(arm.robot.links, robot.links, strict=True):
        assert abs(true_link.mass / link.mass - 1.0) < 0.12  # a few percent: four std
        assert np.abs(true_link.com - link.com).max() < 0.012


def test_the_true_friction_never_drives_a_joint(robot):
    motion = exciting_motion(robot, 0)
    dq = np.linspace(-1.0, 1.0, 101)[:, None] * robot.limits.velocity
    for seed in range(10):
        arm = perturbed_arm(robot, motion, Realism(), np.random.default_rng(seed))
        without_offset = replace(arm.robot.friction, offset=np.zeros(7))
        tau = replace(robot, friction=without_offset).friction_torques(dq)
        assert (tau * dq > -1e-9).all()  # rounding at rest
