# SPDX-License-Identifier: Apache-2.0
"""What no arm can be identified from is refused, or named; lag and contradictions of velocities are taken out."""

from dataclasses import replace

import numpy as np
import pytest
from motion import sinusoids
from simulated_arm import record

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.motion_samples import joint_velocities, prepare
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.identification.problems import IdentifiabilityWarning
from panda_dynamics_ros.identification.regression import PriorScale


def with_six_joints(data: pdr.JointDataset) -> pdr.JointDataset:
    return replace(data, names=data.names[:6], q=data.q[:, :6], dq=data.dq[:, :6], tau=data.tau[:, :6])


@pytest.mark.parametrize(
    ("duration", "change", "words"),
    [
        (0.055, replace, r"expected at least 0\.4 s of samples"),
        (2.5, replace, r"expected at least 3 s of motion .* got 2\.3"),
        (5.0, lambda d: replace(d, q=np.tile(d.q[0], (len(d.stamp), 1))), "no inertia and no friction"),
        (5.0, lambda d: replace(d, tau=np.where(np.arange(7) == 2, 1.0, d.tau)), r"constant one at joints \[3\]"),
        (5.0, with_six_joints, "expected the 7 joints of panda, got 6"),
        (8.0, lambda d: replace(d, q=np.rad2deg(d.q), dq=np.rad2deg(d.dq)), r"in rad, got up to \d+; are they in deg"),
        (8.0, lambda d: replace(d, stamp=1000.0 * d.stamp), r"0\.001 times the velocities; are stamps in s \(not ms\)"),
    ],
)
def test_recordings_that_cannot_give_a_result_are_refused(panda, duration, change, words):
    with pytest.raises(DataError, match=words):
        pdr.identify(change(record(panda, duration)), robot=panda)


def test_nothing_at_all():
    with pytest.raises(ArgumentError, match="at least one recording"):
        pdr.identify([])


def test_a_slow_motion_names_the_inertias(panda, rng):
    """A tenth of the speed: a hundredth of the acceleration torques, which are then 0.03 N m at most."""
    fast = sinusoids(6.0, 1000.0)
    dq, ddq = 0.1 * fast.dq, 0.01 * fast.ddq
    tau = panda.inverse_dynamics(fast.q, dq, ddq) + panda.friction_torques(dq)
    data = pdr.JointDataset(10.0 * fast.stamp, fast.q, dq, tau, panda.joint_names, "slow")
    with pytest.warns(IdentifiabilityWarning, match=r"ZZR1.*further and faster"):
        fit = pdr.identify(data, robot=panda, prior_scale=PriorScale())
    assert {"ZZR1", "ZZR2", "XXR4"} <= set(fit.not_identified)
    assert "mXR3" not in fit.not_identified


def test_saturated_torques_do_not_count(panda):
    data = record(panda, 10.0)
    limits = replace(panda.limits, effort=np.where(np.arange(7) == 1, 20.0, panda.limits.effort))
    clipped = np.clip(data.tau, -limits.effort, limits.effort)
    with pytest.warns(IdentifiabilityWarning, match=r"joints \[2\] are at their limit.*move slower"):
        fit = pdr.identify(replace(data, tau=clipped), robot=replace(panda, limits=limits), prior_scale=PriorScale())
    # The truth is the prior. If the clipped samples counted, they would pull by 0.009 kg m, and leave 2 N m.
    assert np.abs(fit.base_values - panda.base_parameters().values).max() < 0.002
    assert fit.torque_rms[1] < 0.1


def test_a_joint_that_stands_still_is_named(panda):
    data = record(panda, 15.0)
    q = data.q.copy()
    q[:, 6] = q[0, 6]
    with pytest.warns(IdentifiabilityWarning, match="viscous7"):
        fit = pdr.identify(replace(data, q=q), robot=panda, prior_scale=PriorScale())
    assert {"viscous7", "coulomb7"} <= set(fit.not_identified)
    assert "ZZR3" not in fit.not_identified


def test_wild_samples_and_gaps_do_not_reach_the_rows(panda):
    data = record(panda, 10.0)
    clean = prepare([data])
    tau = data.tau.copy()
    tau[500, 1] += 40.0
    rows = prepare([replace(data, tau=tau)])
    assert rows.outliers == 1
    # The median of five neighbours is off by the torque's change over two samples (10 ms).
    assert np.abs(rows.tau - clean.tau).max() < 0.05
    gap = np.r_[0:800, 1000:2000]
    cut = prepare([replace(data, **{name: getattr(data, name)[gap] for name in ("stamp", "q", "dq", "tau")})])
    assert set(cut.block) == {0.0, 1.0}
    assert not ((cut.stamp > 3.95) & (cut.stamp < 5.05)).any()


def test_rows_have_the_derivatives_of_the_motion(panda):
    rows = prepare([record(panda, 10.0)])
    motion = sinusoids(10.0, 200.0)
    exact = np.column_stack([np.interp(rows.stamp, motion.stamp, column) for column in motion.ddq.T])
    # A fourth-order low-pass at 10 Hz takes (0.53 / 10)^8 of a sine; differences over 10 ms take 2e-4 of it. At the
    # ends the filter sees a reflection.
    inner = slice(30, -30)
    assert np.abs(rows.ddq - exact)[inner].max() < 0.01


LAG = 0.005


@pytest.fixture
def lagging(panda):
    """Velocities of 5 ms ago, as a Panda measures them."""
    data = record(panda, 10.0)
    return replace(data, dq=sinusoids(10.0, 200.0, start=-LAG).dq)


def test_the_lag_is_measured(lagging):
    dt, exact = lagging.period_s, sinusoids(10.0, 200.0)
    aligned = joint_velocities(lagging.dq, np.gradient(lagging.q, dt, axis=0), dt)
    # First order in lag times frequency: 0.005 * 2 pi 0.5 = 0.016, whose square is below one per mille. No velocity is
    # there from which the last row could be moved.
    assert (np.abs(aligned - exact.dq)[:-2] <= 0.02 * LAG * np.abs(exact.ddq).max()).all()


def test_the_rows_have_no_lag(lagging):
    rows = prepare([lagging])
    exact = np.column_stack([np.interp(rows.stamp, lagging.stamp, c) for c in sinusoids(10.0, 200.0).dq.T])
    # Uncorrected, 5 ms of up to 8 rad/s^2 are 0.04 rad/s. The filter's ends are left out.
    assert np.abs(rows.dq - exact)[30:-30].max() < 0.002


def test_measured_velocities_make_smoother_accelerations_than_noisy_positions(panda, rng):
    data = record(panda, 10.0)
    exact = prepare([data]).ddq
    noisy = replace(data, q=data.q + 1e-4 * rng.normal(size=data.q.shape))
    # 1e-4 rad of white noise at 200 Hz, twice differentiated below 10 Hz: 0.06 rad/s^2 RMS.
    assert np.sqrt(np.mean((prepare([noisy]).ddq - exact) ** 2)) < 0.01


def test_velocities_that_the_positions_contradict_are_not_used(panda):
    data = record(panda, 10.0)
    dq = data.dq.copy()
    dq[:, 2] = 0.0
    clean, rows = prepare([data]), prepare([replace(data, dq=dq)])
    # Differences instead of what was measured: 1e-3 of a motion below 1 Hz, and the lag is another one.
    assert np.abs(rows.dq - clean.dq)[30:-30].max() < 0.01
