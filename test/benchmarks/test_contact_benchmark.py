# SPDX-License-Identifier: Apache-2.0
"""The contact benchmark counts what it says."""

import math

import numpy as np
import pytest
from motion import coloured, sinusoids, torques

from benchmarks.contact.recordings import sigmas_per_newton
from benchmarks.contact.report import alarms_per_hour, links_named, share_in_time, verdicts
from benchmarks.contact.trials import Found, Watched, contacts, largest_ratio
from benchmarks.payload.samples import Samples
from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation import ContactDetector


def found(delay, link=5, named=5, mass=0.0):
    return Found("identified", mass, False, link, 7.0, 4.0, delay, named)


def test_a_push_counts_as_in_time_up_to_50_ms():
    assert share_in_time([found(0.02), found(0.05), found(0.051), found(math.nan)]) == 0.5


def test_links_are_counted_where_something_was_detected():
    right, near, beyond = links_named(
        [found(0.02), found(0.02, named=4), found(0.02, named=7), found(math.nan, named=0)]
    )
    assert (right, near, beyond) == (pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_targets_are_judged_for_each_payload():
    pushes = [found(0.02)] * 95 + [found(0.06)] * 5 + [found(0.02, mass=1.0)] * 94 + [found(0.06, mass=1.0)] * 6
    hour = [
        Watched("simulated", "identified", mass, 3600.0, alarms) for mass, alarms in ((0.0, (5.0,)), (1.0, (5.0, 6.0)))
    ]
    assert alarms_per_hour(hour) == (3, 2.0)
    assert [met for _, met in verdicts(pushes, hour)] == [True, True, False, False]


def test_forces_are_measured_in_sigmas_of_the_joint_they_load_most(panda):
    """A force along x on link 7, whose lever about joint 1 is its y: tau = -y F of the Jacobian's first column."""
    q = np.array([0.4, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])
    gain = sigmas_per_newton(panda, q, 7)
    T = panda.pose(q, "joint7")
    y = (T[:3, :3] @ panda.links[6].com + T[:3, 3])[1]
    assert gain.shape == (7, 3)
    assert gain[0, 0] == pytest.approx(-y / panda.residual.std[0])


def test_contacts_are_the_detectors(panda, rng):
    motion = sinusoids(1.6)
    tau = torques(panda, motion) + coloured(panda, motion.stamp, rng)
    quiet = Samples(motion.stamp, motion.q, motion.dq, tau)
    assert contacts(panda, quiet, InertialParameters.zero()) == []
    touched = quiet.with_torques(np.where((motion.stamp > 1.0)[:, None], -8.0 * panda.residual.std, 0.0))
    (contact,) = contacts(panda, touched, InertialParameters.zero())
    assert 1.0 < contact.start < 1.05
    # What the detector takes for a contact is beyond its threshold, and what it does not is below.
    assert largest_ratio(panda, quiet) < ContactDetector(panda).options.threshold < largest_ratio(panda, touched)
