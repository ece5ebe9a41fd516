# SPDX-License-Identifier: Apache-2.0
"""Positions, velocities and stamps that belong together have no problem, at any rate and with lost samples."""

import numpy as np
import pytest
from conftest import public_log
from motion import sinusoids

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation.kinematic_check import KinematicCheck


def problems(stamp, q, dq):
    check, found = KinematicCheck(q.shape[1]), set()
    for sample in zip(stamp, q, dq, strict=True):
        check.update(*sample)
        found.add(check.problem)
    return found


def noisy(rate, rng):
    """Ten seconds; velocities are late by 5 ms and have the noise of a Panda's."""
    motion = sinusoids(10.0, rate)
    late = sinusoids(10.0, rate, -0.005)
    return motion.stamp, motion.q, late.dq + 0.004 * rng.standard_normal(motion.dq.shape)


@pytest.mark.parametrize("rate", [1000.0, 100.0, 30.0, 10.0, 2.0])
def test_a_motion_is_consistent_at_any_rate(rng, rate):
    assert problems(*noisy(rate, rng)) == {""}


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_lost_samples_are_no_problem(rng, share):
    keep = rng.random(10_000) > share
    assert problems(*(field[keep] for field in noisy(1000.0, rng))) == {""}


def test_a_trickle_is_no_problem(rng):
    """Ten samples, then nothing for a second."""
    stamp, q, dq = noisy(1000.0, rng)
    keep = stamp % 1.0 < 0.01
    assert problems(stamp[keep], q[keep], dq[keep]) == {""}


def test_samples_that_come_in_bursts_are_no_problem(rng):
    """Stamped on arrival: ten of them within 0.1 ms, every 10 ms."""
    stamp, q, dq = noisy(1000.0, rng)
    k = np.arange(len(stamp))
    assert problems(0.01 * (k // 10) + 1e-5 * (k % 10), q, dq) == {""}


def test_an_arm_at_rest_is_no_problem(rng):
    """Velocities have an offset, and positions do not change."""
    stamp = 1e-3 * np.arange(20_000)
    q, dq = np.zeros((len(stamp), 7)), 0.002 + 0.004 * rng.standard_normal((len(stamp), 7))
    assert problems(stamp, q, dq) == {""}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stamp, q, dq: (1e3 * stamp, q, dq), "times as much as velocities and stamps say"),
        (lambda stamp, q, dq: (0.1 * stamp, q, dq), "times as much as velocities and stamps say"),
        (lambda stamp, q, dq: (stamp, q, np.degrees(dq)), "times as much as velocities and stamps say"),
        (lambda stamp, q, dq: (stamp, q, -dq), "sign, unit and order"),
        (lambda stamp, q, dq: (stamp, q, 0.0 * dq), "sign, unit and order"),
        (lambda stamp, q, dq: (stamp, q, dq[:, ::-1]), "sign, unit and order"),
        (lambda stamp, q, dq: (stamp, q + 0.02 * (np.arange(len(q)) % 2)[:, None], dq), "go to and fro by"),
    ],
)
def test_what_does_not_belong_together_is_named_within_a_second(rng, change, words):
    stamp, q, dq = (field[:1000] for field in noisy(1000.0, rng))
    found = problems(*change(stamp, q, dq)) - {""}
    assert found
    assert all(words in each for each in found)


@pytest.mark.parametrize(
    "log",
    [
        "panda_gaz/excitation_1khz_first_7600ms.csv",
        "panda_unisa_bag/panda_exciting_trajectory.db3",
        "fr3_hand_teleop/teleop_1khz_a.csv",
        "fr3_hand_teleop/teleop_1khz_b.csv",
        *(f"panda_hand_guided/hand_guided_100hz_{k}.csv" for k in (1, 2, 3, 4)),
    ],
)
def test_real_arms_are_consistent(log):
    data = pdr.load_dataset(public_log(log))
    assert problems(data.stamp, data.q, data.dq) == {""}
