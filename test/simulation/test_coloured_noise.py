# SPDX-License-Identifier: Apache-2.0
"""Disturbances and sensors: levels, colours and exactness of the discretisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from panda_dynamics_ros.simulation import OrnsteinUhlenbeck, SensorLevels
from panda_dynamics_ros.simulation.realism import Sensors

COPIES = 400


def samples(steps: int, timestep: float = 0.05, frequency: float = 0.0, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    process = OrnsteinUhlenbeck(np.full(COPIES, 0.3), 0.5, timestep, rng, frequency)
    return np.array([process.step() for _ in range(steps)])


def test_std_is_stationary_from_the_first_sample() -> None:
    x = samples(100)
    # 400 independent copies: their std is known to 0.3 / sqrt(800) = 0.011; four of those.
    np.testing.assert_allclose(x[[0, 1, 50, 99]].std(axis=1), 0.3, rtol=0.0, atol=0.042)


@pytest.mark.parametrize("timestep", [0.001, 0.05, 0.7])
def test_autocorrelation_is_exponential_for_any_time_step(timestep: float) -> None:
    x = samples(2, timestep, seed=3)
    for seed in range(4, 24):
        x = np.concatenate([x, samples(2, timestep, seed=seed)], axis=1)
    # Pairs from 8,400 processes: a correlation coefficient is known to 1 / sqrt(8400) = 0.011; four of those.
    assert abs(np.corrcoef(x)[0, 1] - np.exp(-timestep / 0.5)) < 0.044


def test_oscillating_noise_has_its_power_at_its_frequency() -> None:
    x = samples(4096, 0.002, frequency=35.0)
    frequencies, power = signal.welch(x, fs=500.0, nperseg=1024, axis=0)
    # Lines of 0.5 Hz, a resonance of 1/(2 pi 0.5 s) = 0.3 Hz half width, 400 copies averaged.
    assert abs(frequencies[power.mean(axis=1).argmax()] - 35.0) < 1.0


def measured(levels: SensorLevels, dq: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sensors = Sensors(levels, np.full(7, 1e-3), 1e-3, np.random.default_rng(5))
    q, tau = np.full(7, 0.3), np.full(7, 2.0)
    a, b, c = zip(*(sensors.measure(q, row, tau) for row in dq), strict=True)
    return np.array(a), np.array(b), np.array(c)


def test_sensor_noise_has_the_measured_level() -> None:
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


def test_velocity_lags_behind_a_ramp_by_the_lag() -> None:
    levels = SensorLevels((0.0,) * 7, (0.0,) * 7, velocity_noise=0.0)
    ramp = np.tile(2.0 * np.arange(200)[:, None] * 1e-3, (1, 7))
    dq = measured(levels, ramp)[1]
    # A first-order lag follows a ramp 5 ms late; sampling at 1 ms takes up to one half of a step off that.
    np.testing.assert_allclose((ramp - dq)[-1] / 2.0, 0.0045, rtol=0.0, atol=0.0001)
