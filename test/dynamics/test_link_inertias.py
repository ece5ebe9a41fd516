# SPDX-License-Identifier: Apache-2.0
"""The mapping of document 000 to {S}: against Pinocchio, by hand at q = 0, and with both of its errata."""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_chain, random_states
from oracles import Pinocchio, pin

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.kinematics import links_in_base
from panda_dynamics_ros.robot.inertial import symmetric_from_six

ZERO = np.zeros(7)


@pytest.fixture(scope="module", params=["panda", "panda_ledezma", "fr3", 5])
def arm(request: pytest.FixtureRequest) -> pdr.RobotModel:
    return random_chain(5, seed=50) if request.param == 5 else pdr.load_robot(request.param)


def test_bodies_are_where_pinocchio_has_them(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = random_states(arm, rng, samples=50).q
    mass, com, inertia = links_in_base(arm, q)
    oracle = Pinocchio(arm)
    for k in range(len(q)):
        pin.forwardKinematics(oracle.model, oracle.data, q[k])
        for i in range(arm.n):
            body = oracle.data.oMi[i + 1].act(oracle.model.inertias[i + 1])
            assert mass[i] == body.mass
            # Rounding of a few products of rotations; lengths and inertias are below 10.
            assert np.abs(com[k, i] - body.lever).max() < 1e-13
            assert np.abs(inertia[k, i] - body.inertia).max() < 1e-13


def test_ledezmas_arm_at_zero_by_hand() -> None:
    """At q = 0 frame 2 is turned about x by -90 degrees, 4 and 6 by 90, 7 by 180, the others not at all: the table's
    own numbers stand in base, with other signs and in another order."""
    mass, com, inertia = links_in_base(pdr.load_robot("panda_ledezma"), ZERO)
    assert mass.tolist() == [4.9707, 0.6469, 3.2286, 3.5879, 1.2259, 1.6666, 1.4655]
    by_hand = {  # link: the origin of its frame in base, and (x, y, z) of m c there
        2: ((0, 0, 0.333), (-0.0020, 0.0023, 0.0186)),
        3: ((0, 0, 0.649), (0.0888, 0.1267, -0.2147)),
        4: ((0.0825, 0, 0.649), (-0.1908, -0.0985, 0.3746)),
        5: ((0, 0, 1.033), (-0.0147, 0.0503, -0.0471)),
        6: ((0, 0, 1.033), (0.1002, 0.0175, -0.0235)),
        7: ((0.088, 0, 1.033), (0.0004, 0.0031, -0.1453)),
    }
    for link, (origin, first_moment) in by_hand.items():
        want = np.array(origin) + np.array(first_moment) / mass[link - 1]
        assert np.abs(com[link - 1] - want).max() < 1e-14, f"link {link}"  # rounding
    # Link 2, Rx(-90): x, y, z of the link are x, -z, y of base; Steiner's term taken off in the link's own frame.
    c = np.array([-0.0020, -0.0186, 0.0023]) / 0.6469
    about_origin = symmetric_from_six([0.0085, -0.0040, 0.0103, 0.0281, 0.0008, 0.0265])
    about_com = about_origin - 0.6469 * (c @ c * np.eye(3) - np.outer(c, c))
    turn = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    assert np.abs(inertia[1] - turn @ about_com @ turn.T).max() < 1e-15


def test_leading_dimensions(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = rng.normal(size=(2, 3, 7))
    mass, com, inertia = links_in_base(panda, q)
    assert (mass.shape, com.shape, inertia.shape) == ((7,), (2, 3, 7, 3), (2, 3, 7, 3, 3))
    assert np.array_equal(com[1, 2], links_in_base(panda, q[1, 2])[1])
