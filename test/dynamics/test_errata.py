# SPDX-License-Identifier: Apache-2.0
"""Where the source documents are wrong about the dynamics, and what they mean: one test for each finding; and the
mapping of document 000 to {S}: against Pinocchio, and with both of its errata."""

from dataclasses import replace

import numpy as np
import pytest
from arms import random_body, random_chain, random_states, transform
from oracles import Pinocchio, assert_agrees, pin, skew

import panda_dynamics_ros as pdr
from panda_dynamics_ros.robot.inertial import symmetric_from_six

# Document 000 prints four decimals; the sixth decimals of the Gaz set add at most 3e-6 to the half digit.
ROUNDING = 5.3e-5
HAND_TURN = transform((0.0, 0.0, -np.pi / 4), (0.0, 0.0, 0.0))  # the hand on the flange
HAND = pdr.InertialParameters(0.73, (-0.01, 0.0, 0.03), np.diag((0.001, 0.0025, 0.0017)))  # in its own frame


@pytest.fixture(scope="module")
def ledezma():
    return pdr.load_robot("panda_ledezma")


def test_table_of_000_is_the_gaz_set_about_the_joint_origins(panda, ledezma):
    """ERRATA 1 and 2: links 2 to 6 are (m, m c, inertia about the joint frame's origin), entry by entry."""
    for printed, gaz in zip(ledezma.links[1:6], panda.links[1:6], strict=True):
        np.testing.assert_allclose(printed.vector, gaz.vector, rtol=0.0, atol=ROUNDING)


def test_first_link_of_000_is_gaz_s_with_another_com_height(panda, ledezma):
    """ERRATA 1: c_z = -0.0936, which has no effect on the dynamics (nor has the difference to ours)."""
    gaz, printed = panda.links[0], ledezma.links[0]
    assert printed.com[2] == pytest.approx(-0.0936, abs=5e-5)
    raised = pdr.InertialParameters(gaz.mass, (*gaz.com[:2], printed.com[2]), gaz.inertia)
    np.testing.assert_allclose(raised.vector, printed.vector, rtol=0.0, atol=ROUNDING)
    states = random_states(panda, np.random.default_rng(10), samples=100)
    moved = replace(panda, links=(raised, *panda.links[1:]))
    assert_agrees(moved.inverse_dynamics(*states), panda.inverse_dynamics(*states), 1e-12)  # rounding alone


def test_last_link_of_000_carries_the_hand(panda, ledezma):
    """ERRATA 1, to the digit: the hand's CoM was attached without its -45 degrees, its inertia with them."""
    attached = panda.with_payload(pdr.InertialParameters(HAND.mass, HAND.com, HAND.transformed(HAND_TURN).inertia))
    np.testing.assert_allclose(attached.links[6].vector, ledezma.links[6].vector, rtol=0.0, atol=ROUNDING)


def test_mass_matrix_of_000_read_both_ways(panda, ledezma):
    """ERRATA 1: 4.6 % off read as about the CoM, 0.3 % read as about the origin (RMS, against Gaz with the hand)."""
    as_printed = [replace(link, inertia=symmetric_from_six(link.vector[4:])) for link in ledezma.links]
    misread = replace(ledezma, links=tuple(as_printed))
    q = random_states(panda, np.random.default_rng(11)).q
    M = panda.with_payload(HAND.transformed(HAND_TURN)).mass_matrix(q)

    def deviation(robot: pdr.RobotModel) -> float:
        return float(np.linalg.norm(robot.mass_matrix(q) - M) / np.linalg.norm(M))

    # Both figures have two digits; 1,000 poses give them within 0.1 and 0.02 points.
    assert deviation(misread) == pytest.approx(0.046, abs=0.001)
    assert deviation(ledezma) == pytest.approx(0.003, abs=0.0002)


def test_payload_rule_of_change(panda, rng):
    """ERRATA 9, document 003, slide 20, typed out: only the last link changes, all in frame n."""
    payload, link = random_body(rng), panda.links[6]
    changed = panda.with_payload(payload, "joint7")

    def about_origin(body: pdr.InertialParameters) -> np.ndarray:
        return np.asarray(body.inertia + body.mass * skew(body.com).T @ skew(body.com))

    mass = link.mass + payload.mass
    com = (link.mass * link.com + payload.mass * payload.com) / mass
    inertia = about_origin(link) + about_origin(payload)
    assert changed.links[6].mass == pytest.approx(mass, rel=1e-15)
    np.testing.assert_allclose(changed.links[6].com, com, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(about_origin(changed.links[6]), inertia, rtol=0.0, atol=1e-15)
    assert changed.links[:6] == panda.links[:6]


def test_payload_at_the_flange_is_carried_into_the_last_joint(panda):
    """The flange is 0.107 m further along z, without a turn: c gains 0.107 in z, I_C stays."""
    payload = pdr.InertialParameters(2.0, (0.02, -0.015, 0.06), np.diag((0.004, 0.005, 0.003)))
    at_joint = pdr.InertialParameters(2.0, (0.02, -0.015, 0.167), np.diag((0.004, 0.005, 0.003)))
    by_flange, by_joint = panda.with_payload(payload, "flange"), panda.with_payload(at_joint, "joint7")
    np.testing.assert_allclose(by_flange.inertial_vector, by_joint.inertial_vector, rtol=0.0, atol=1e-15)


@pytest.fixture(scope="module", params=["panda", "panda_ledezma", "fr3", 5])
def arm(request):
    return random_chain(5, seed=50) if request.param == 5 else pdr.load_robot(request.param)


def test_bodies_are_where_pinocchio_has_them(arm, rng):
    q = random_states(arm, rng, samples=50).q
    oracle = Pinocchio(arm)
    for k in range(len(q)):
        pin.forwardKinematics(oracle.model, oracle.data, q[k])
        for i in range(arm.n):
            body = oracle.data.oMi[i + 1].act(oracle.model.inertias[i + 1])
            link = arm.links[i].transformed(arm.pose(q[k], f"joint{i + 1}"))
            assert link.mass == body.mass
            # Rounding of a few products of rotations; lengths and inertias are below 10.
            assert np.abs(link.com - body.lever).max() < 1e-13
            assert np.abs(link.inertia - body.inertia).max() < 1e-13
