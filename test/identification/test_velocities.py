# SPDX-License-Identifier: Apache-2.0
"""Velocities without their lag, and without those that the positions contradict."""

from dataclasses import replace

import numpy as np
import pytest
from motion import sinusoids
from simulated_arm import record

import panda_dynamics_ros as pdr
from panda_dynamics_ros.identification.rows import prepare, velocity_lag

LAG = 0.005


@pytest.fixture
def lagging(panda: pdr.RobotModel) -> pdr.JointDataset:
    """Velocities of 5 ms ago, as a Panda measures them."""
    data = record(panda, 10.0)
    return replace(data, dq=sinusoids(10.0, 200.0, start=-LAG).dq)


def test_the_lag_is_measured(lagging: pdr.JointDataset) -> None:
    dt = lagging.period_s
    # First order in lag times frequency: 0.005 * 2 pi 0.5 = 0.016, whose square is below one per mille.
    assert velocity_lag(lagging.dq, np.gradient(lagging.q, dt, axis=0), dt) == pytest.approx(LAG, rel=0.02)


def test_the_rows_have_no_lag(lagging: pdr.JointDataset) -> None:
    rows = prepare(lagging)
    exact = np.column_stack([np.interp(rows.stamp, lagging.stamp, c) for c in sinusoids(10.0, 200.0).dq.T])
    # Uncorrected, 5 ms of up to 8 rad/s^2 are 0.04 rad/s. The filter's ends are left out.
    assert np.abs(rows.dq - exact)[30:-30].max() < 0.002


def test_measured_velocities_make_smoother_accelerations_than_noisy_positions(
    panda: pdr.RobotModel, rng: np.random.Generator
) -> None:
    data = record(panda, 10.0)
    exact = prepare(data).ddq
    noisy = replace(data, q=data.q + 1e-4 * rng.normal(size=data.q.shape))
    # 1e-4 rad of white noise at 200 Hz, twice differentiated below 10 Hz: 0.06 rad/s^2 RMS.
    assert np.sqrt(np.mean((prepare(noisy).ddq - exact) ** 2)) < 0.01


def test_velocities_that_the_positions_contradict_are_not_used(panda: pdr.RobotModel) -> None:
    data = record(panda, 10.0)
    dq = data.dq.copy()
    dq[:, 2] = 0.0
    clean, rows = prepare(data), prepare(replace(data, dq=dq))
    # Differences instead of what was measured: 1e-3 of a motion below 1 Hz, and the lag is another one.
    assert np.abs(rows.dq - clean.dq)[30:-30].max() < 0.01
