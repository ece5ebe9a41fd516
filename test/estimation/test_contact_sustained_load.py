# SPDX-License-Identifier: Apache-2.0
"""The body that explains the torques of a contact that has stayed."""

import numpy as np
from motion import PAYLOAD, coloured, sinusoids
from panda_dynamics_ros.estimation.contact.sustained_load import SustainedLoad


def test_a_payloads_torques_go_on_as_it_says(panda, rng):
    """Fitted to 3 s with the residual's drift, it says those of the next 3 s to a fifth of them."""
    motion = sinusoids(6.0)
    Y = panda.payload_regressor(motion.q, motion.dq, motion.ddq)
    torques = -Y @ PAYLOAD.vector
    measured = torques + coloured(panda, motion.stamp, rng)
    load = SustainedLoad(panda.residual)
    load.start()
    for k in range(3000):
        load.add(1e-3, Y[k], measured[k])
    left = torques[3000:] + Y[3000:] @ load.vector
    assert np.linalg.norm(left) < 0.2 * np.linalg.norm(torques[3000:])


def test_each_contact_is_one_of_its_own(panda):
    motion = sinusoids(1.0)
    Y = panda.payload_regressor(motion.q, motion.dq, motion.ddq)
    load, other = SustainedLoad(panda.residual), SustainedLoad(panda.residual)
    load.start()
    for k in range(500):
        load.add(1e-3, Y[k], -Y[k] @ PAYLOAD.vector)
    for each in (load, other):
        each.start()
        for k in range(500, 1000):
            each.add(1e-3, Y[k], Y[k] @ PAYLOAD.vector)
    np.testing.assert_array_equal(load.vector, other.vector)


def test_no_torques_weigh_nothing(panda):
    load = SustainedLoad(panda.residual)
    load.start()
    np.testing.assert_array_equal(load.vector, np.zeros(10))
