# SPDX-License-Identifier: Apache-2.0
"""De Luca's 2R planar arm in a vertical plane, solved by hand (document 003, slides 7 to 9).

Link i has length l_i, mass m_i, its centre of mass at distance d_i from joint i, and inertia Ic_i about it. The
angles count from the horizontal: x0 is horizontal, y0 points up, so gravity is along -y0 in base.
"""

import numpy as np
import pytest
from arms import States, chain, random_states, transform
from oracles import assert_agrees

import panda_dynamics_ros as pdr

L1, G = 0.7, 9.81  # m, m/s^2
M1, D1, IC1 = 3.0, 0.4, 0.11  # kg, m, kg m^2
M2, D2, IC2 = 1.8, 0.25, 0.05
EXACT = 1e-12  # a dozen products against a dozen: rounding, seen up to 2e-13


@pytest.fixture(scope="module")
def arm():
    bodies = ((M1, D1, IC1), (M2, D2, IC2))
    # Only Izz enters in the plane; the other moments are those of a flat body, Izz = Ixx + Iyy.
    links = tuple(pdr.InertialParameters(m, (d, 0.0, 0.0), np.diag((0.4, 0.6, 1.0)) * ic) for m, d, ic in bodies)
    placements = np.array([np.eye(4), transform((0.0, 0.0, 0.0), (L1, 0.0, 0.0))])
    return chain(placements, (False, False), links, gravity=(0.0, -G, 0.0))


@pytest.fixture(scope="module")
def states(arm):
    return random_states(arm, np.random.default_rng(9))


def regression_matrix(states: States) -> np.ndarray:
    """Y (samples, 2, 4) of slide 8, after l1 and g0 were factored out: p = 4."""
    (q1, q2), (dq1, dq2), (ddq1, ddq2) = (x.T for x in states)
    c1, c2, s2, c12 = np.cos(q1), np.cos(q2), np.sin(q2), np.cos(q1 + q2)
    zero = np.zeros_like(q1)
    Y = [
        [ddq1, L1 * c2 * (2 * ddq1 + ddq2) - L1 * s2 * (dq2**2 + 2 * dq1 * dq2) + G * c12, ddq2, G * c1],
        [zero, L1 * (c2 * ddq1 + s2 * dq1**2) + G * c12, ddq1 + ddq2, zero],
    ]
    return np.moveaxis(np.array(Y), -1, 0)


def dynamic_coefficients() -> np.ndarray:
    """a1..a4 of slide 8."""
    return np.array([IC1 + M1 * D1**2 + IC2 + M2 * (D2**2 + L1**2), M2 * D2, IC2 + M2 * D2**2, M1 * D1 + M2 * L1])


def test_torques(arm, states):
    assert_agrees(arm.inverse_dynamics(*states), regression_matrix(states) @ dynamic_coefficients(), EXACT)


def test_payload_changes_the_coefficients_of_both_links(arm, states):
    """Slide 20 on this arm: a payload of mass m at distance d on link 2 adds to m2, m2 d2 and I2zz alone."""
    mass, distance, inertia = 0.9, 0.5, 0.02
    payload = pdr.InertialParameters(mass, (distance, 0.0, 0.0), np.diag((0.4, 0.6, 1.0)) * inertia)
    about_axis = inertia + mass * distance**2
    change = np.array([about_axis + mass * L1**2, mass * distance, about_axis, mass * L1])
    want = regression_matrix(states) @ (dynamic_coefficients() + change)
    assert_agrees(arm.with_payload(payload, "joint2").inverse_dynamics(*states), want, EXACT)
