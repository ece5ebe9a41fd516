# SPDX-License-Identifier: Apache-2.0
"""Imperfections of the simulated arm: its residual's level and colour, noise, sensors, perturbed bodies, friction."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from motion import NO_ERRORS, PAYLOAD, lifting
from scipy import signal

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics, presliding_states
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joints import PRESLIDING
from panda_dynamics_ros.simulation import Realism, SimulatedPanda, exciting_motion, realism


class Settled(NamedTuple):
    """Whole periods of the exciting motion, after its start; the length of one, s."""

    run: JointDataset
    period: float


@pytest.fixture(scope="module")
def settled(panda: RobotDescription) -> Settled:
    pytest.importorskip("mujoco")
    plant = SimulatedPanda(panda, seed=0)
    plant.record(plant.excitation.settled)
    return Settled(plant.record(4 * plant.excitation.period), plant.excitation.period)


def test_the_real_log_has_the_level_that_the_robot_states(panda, panda_1khz_log):
    """The measure itself, on the real arm."""
    log = np.loadtxt(panda_1khz_log, delimiter=",", skiprows=1)
    stamp = np.arange(0.0, log[-1, 0], 1e-3)  # the log's stamps jitter
    q, dq, tau = np.split(np.column_stack([np.interp(stamp, log[:, 0], each) for each in log.T[1:]]), 3, axis=1)
    report = measure_residual(panda, JointDataset(stamp, q, dq, tau, panda.joint_names, "the log"))
    # The level is that of the whole 21 s log, of which these 7.6 s are the first third: 10 .. 25 % off.
    np.testing.assert_allclose(report.rms, panda.residual.std, rtol=0.25)
    assert (report.correlation_time > 0.25).all()
    assert (report.correlation_time < 1.1).all()


@pytest.mark.slow
def test_level_and_colour_are_the_real_arms(panda, settled):
    report = measure_residual(panda, settled.run)
    # A quarter of the variance is the disturbance's, of which 40 s hold 22 to 53 independent stretches: its
    # variance varies by 25 %, its product with the model error by as much; 8 % in RMS per joint, of which three.
    np.testing.assert_allclose(report.rms, panda.residual.std, rtol=0.25)
    assert abs(np.mean(report.rms / panda.residual.std) - 1.0) < 0.10  # seven joints: 3 %, of which three
    # White noise would have 0.02 s at the filter's 10 Hz, the real arm has 0.4 to 0.9 s. A joint that turns often has
    # less, for what its dry friction is off by turns with it.
    assert (report.correlation_time > 0.1).all()
    assert np.median(report.correlation_time) > 0.3
    assert (report.correlation_time < 1.0).all()


@pytest.mark.slow
def test_a_quarter_of_the_variance_does_not_repeat_with_the_motion(panda, settled):
    residual, timestep = residual_torques(panda, settled.run)
    period = round(settled.period / timestep)
    change = residual[period:] - residual[:-period]
    share = np.mean(change**2, axis=0) / 2.0 / panda.residual.std**2
    # 0.5^2 and 1 .. 5 % of sensor noise, from 17 to 40 independent stretches: 25 % per joint, 10 % over seven.
    assert 0.18 < np.mean(share) < 0.36
    assert (share > 0.1).all()


def test_recordings_follow_one_another(panda):
    plant = SimulatedPanda(panda)
    plant.record(0.05)
    run, loaded = lifting(plant, PAYLOAD, 0.1, 0.1, 0.1)
    np.testing.assert_allclose(run.stamp, 0.05 + 1e-3 * np.arange(300), rtol=0.0, atol=1e-12)
    assert run.q.shape == run.dq.shape == run.tau.shape == (300, 7)
    np.testing.assert_array_equal(loaded, np.repeat([False, True, False], 100))
    assert plant.truth.mass == 0.0


CUTOFF = 10.0  # Hz: the band in which the real arm's level was measured
EDGE = 0.3  # s at both ends, where the filter has not settled


class Residual(NamedTuple):
    """Torque that a model leaves unexplained: RMS (n,), N m; correlation_time (n,), s, until it has fallen to 1/e."""

    rms: FloatArray
    correlation_time: FloatArray


def measure_residual(robot: RobotDescription, recording: JointDataset) -> Residual:
    """Measured minus modelled torque of `robot`, below 10 Hz, accelerations from differentiated velocities.
    q, dq and tau go through the same zero-phase Butterworth filter, as the real log's did."""
    residual, timestep = residual_torques(robot, recording)
    times = np.array([correlation_time(column, timestep) for column in residual.T])
    return Residual(np.sqrt(np.mean(residual**2, axis=0)), times)


def residual_torques(robot: RobotDescription, recording: JointDataset) -> tuple[FloatArray, float]:
    """Residual (k, n) in N m, without the edges, and the time step of its samples in s."""
    timestep = float(np.median(np.diff(recording.stamp)))
    sections = signal.butter(4, CUTOFF, fs=1.0 / timestep, output="sos")
    q, dq, tau = (signal.sosfiltfilt(sections, x, axis=0) for x in (recording.q, recording.dq, recording.tau))
    ddq = np.gradient(dq, timestep, axis=0)
    edge = round(EDGE / timestep)
    return (tau - inverse_dynamics(robot, q, dq, ddq) - friction_torques(robot, dq))[edge:-edge], timestep


def correlation_time(series: FloatArray, timestep: float) -> float:
    """Lag in s at which the autocorrelation of a series (k,) about its mean has fallen to 1/e."""
    centred = series - series.mean()
    autocorrelation = signal.correlate(centred, centred, mode="full", method="fft")[len(centred) - 1 :]
    below = np.flatnonzero(autocorrelation < autocorrelation[0] / np.e)
    return float(below[0] if below.size else len(series)) * timestep


COPIES = 400


def samples(steps: int, timestep: float, seed: int) -> np.ndarray:
    process = realism.OrnsteinUhlenbeck(np.full(COPIES, 0.3), 0.5, timestep, np.random.default_rng(seed))
    return np.array([process.step() for _ in range(steps)])


@pytest.mark.parametrize("timestep", [0.001, 0.05, 0.7])
def test_autocorrelation_is_exponential_for_any_time_step(timestep):
    x = np.hstack([samples(2, timestep, seed) for seed in range(3, 24)])
    # Pairs from 8,400 processes: a correlation coefficient is known to 1 / sqrt(8400) = 0.011; four of those.
    assert abs(np.corrcoef(x)[0, 1] - np.exp(-timestep / 0.5)) < 0.044
    # From the first sample on the std is 0.3, which is known to 0.3 / sqrt(2 * 8400) = 0.0023; four of those.
    np.testing.assert_allclose(x.std(axis=1), 0.3, rtol=0.0, atol=0.0093)


def measured(levels: realism.SensorLevels, dq: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sensors = realism.Sensors(levels, np.full(7, 1e-3), 1e-3, np.random.default_rng(5))
    q, tau = np.full(7, 0.3), np.full(7, 2.0)
    a, b, c = zip(*(sensors.measure(q, row, tau) for row in dq), strict=True)
    return np.array(a), np.array(b), np.array(c)


def test_sensor_noise_has_the_measured_level():
    q, dq, tau = measured(realism.SensorLevels(), np.zeros((20_000, 7)))
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
    levels = realism.SensorLevels((0.0,) * 7, (0.0,) * 7, velocity_noise=0.0)
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
            assert realism.perturbed_body(link, rng, 0.1, 0.2, 0.02).is_physical(tolerance=0.0)


def test_perturbed_bodies_have_the_spread_asked_for(panda):
    rng, link = np.random.default_rng(2), panda.links[3]
    bodies = [realism.perturbed_body(link, rng, 0.03, 0.03, 0.003) for _ in range(1000)]
    # 1,000 draws know a std to 2.2 %, 3,000 coordinates to 1.3 %; four of those.
    assert abs(np.std([body.mass / link.mass for body in bodies]) - 0.03) < 0.003
    assert abs(np.std([body.com - link.com for body in bodies]) - 0.003) < 0.0003
    # The trace of the inertia: mass 3 % and, roughly, twice the 3 % of the largest extension.
    assert 0.03 < np.std([np.trace(body.inertia) / np.trace(link.inertia) for body in bodies]) < 0.08
    same = realism.perturbed_body(link, rng, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(same.vector, link.vector, rtol=1e-9, atol=1e-12)  # rounding


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_model_error_fills_what_the_disturbance_leaves(robot, share):
    motion, sensors = exciting_motion(robot, 1), replace(NO_ERRORS, joint_offset=3e-4)
    chosen = Realism(disturbance_share=share, sensors=sensors)
    arm = realism.perturbed_arm(robot, motion, chosen, np.random.default_rng(1))
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
        arm = realism.perturbed_arm(robot, motion, Realism(), np.random.default_rng(seed))
        without_offset = replace(arm.robot.friction, offset=np.zeros(7))
        tau = replace(robot, friction=without_offset).friction_torques(dq)
        assert (tau * dq > -1e-9).all()  # rounding at rest
