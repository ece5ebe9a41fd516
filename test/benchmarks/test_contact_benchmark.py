# SPDX-License-Identifier: Apache-2.0
"""The contact benchmark counts what it says, and its pushes have the torques of forces."""

import math

import numpy as np
import pytest

from benchmarks.contact import Found, cell, drawn, push_gain, pushed
from benchmarks.payload.samples import Samples


def found(delay, link=5, named=5):
    return Found("own", 0.0, False, 0.0, 7.0, link, delay, named)


def test_a_push_counts_as_in_time_up_to_50_ms():
    assert cell([found(0.02), found(0.05), found(0.051), found(math.nan)]) == "75%, 50%, 50 ms"


def test_a_push_off_the_centre_has_the_torques_of_its_power(panda, rng):
    """The point that is pushed moves with v + w x lever; what a force does there, the joints do: F . v = -tau . dq."""
    q, dq, force, lever = rng.normal(size=7), rng.normal(size=7), rng.normal(size=3), 0.08 * rng.normal(size=3)
    step = 1e-6

    def point(q):
        T = panda.pose(q, "joint5")
        return T[:3, :3] @ body_point + T[:3, 3]

    T = panda.pose(q, "joint5")
    body_point = panda.links[4].com + T[:3, :3].T @ lever
    velocity = (point(q + step * dq) - point(q - step * dq)) / (2.0 * step)
    # Central differences: 1e-12 of third derivatives, and 1e-16 / 1e-6 of rounding.
    assert push_gain(panda, q, 5, lever) @ force @ dq == pytest.approx(-force @ velocity, abs=1e-8)


def test_a_drawn_push_has_its_size_and_rises_and_falls(panda, rng):
    push = drawn(panda, rng, 2.0, np.array([0.4, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6]), 0.3)
    assert np.abs(push.torque / panda.residual.std).max() == pytest.approx(push.sigmas)
    stamp = np.arange(0.0, 4.0, 1e-3)
    nothing = np.zeros((len(stamp), 7))
    tau = pushed(Samples(stamp, nothing, nothing, nothing), [push]).tau
    for time, share in ((1.999, 0.0), (2.15, 0.5), (2.3, 1.0), (2.8, 1.0), (2.825, 0.5), (2.86, 0.0)):
        # Stamps are multiples of 1 ms to rounding.
        np.testing.assert_allclose(tau[round(1e3 * time)], share * push.torque, atol=1e-9)
