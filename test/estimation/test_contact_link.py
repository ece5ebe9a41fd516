# SPDX-License-Identifier: Apache-2.0
"""Which link a force is on, from the torques that it causes and what noise leaves of them."""

import numpy as np
import pytest

from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.estimation.external_torques import FORCES, LEVER, LinkEvidence, link_evidence_step

Q = np.array([0.4, -0.5, 0.3, -2.0, 0.5, 1.9, 0.6])


@pytest.fixture(scope="module")
def postures(panda):
    """30 in the middle half of each joint's range."""
    share = np.random.default_rng(5).uniform(0.25, 0.75, (30, 7))
    return panda.limits.lower + share * (panda.limits.upper - panda.limits.lower)


def named(robot: RobotModel, postures, link, force, rng, offset=0.0):
    """Links named for forces of this size, N, in any direction, `offset` m from the link's centre of mass."""
    found = []
    for q in postures:
        direction, away = rng.normal(size=(2, 3))
        f = force * direction / np.linalg.norm(direction)
        moment = np.cross(offset * away / np.linalg.norm(away), f)
        torques = robot.com_jacobian(q, link).T @ np.concatenate([f, moment])
        noise = robot.residual.std * rng.normal(size=robot.n)
        found.append(LinkEvidence(robot).link(q, torques + noise, robot.residual.std))
    return np.array(found)


@pytest.mark.parametrize("link", [3, 4, 5, 6])
def test_strong_forces_name_their_link_or_a_neighbour(panda, postures, rng, link):
    """40 N, 4 cm from the centre of mass: no joint beyond the link is loaded, which only noise hides.

    Link 2 is left out: near the shoulder, forces on links 1 to 3 do the same to the same two joints.
    """
    found = named(panda, postures, link, 40.0, rng, 0.04)
    assert np.mean(found == link) > 0.5
    assert np.mean(np.abs(found - link) <= 1) > 0.9


def test_what_is_mounted_belongs_to_the_last_link(panda, postures, rng):
    """20 N on a hand's fingertips, 10 cm beyond the flange."""
    hand = np.eye(4)
    hand[2, 3] = 0.1034
    robot, found = panda.with_end_effector(hand), []
    for q in postures:
        direction = rng.normal(size=3)
        torques = robot.jacobian(q, "ee")[:3].T @ direction * 20.0 / np.linalg.norm(direction)
        found.append(LinkEvidence(robot).link(q, torques + robot.residual.std * rng.normal(size=7), robot.residual.std))
    assert np.mean(np.array(found) == 7) > 0.8


def test_the_evidence_is_that_of_the_normal_distribution(panda, rng):
    """Against numpy's determinant and inverse, link by link; the constant -n/2 log 2 pi is left out in both."""
    std, e = panda.residual.std, rng.normal(size=7)
    frames, points = np.arange(7), np.array([link.com for link in panda.links])
    evidence = np.empty(7)
    link_evidence_step(panda.table, frames, points, Q, e, std, FORCES, evidence)
    for k in range(7):
        J = panda.com_jacobian(Q, k + 1)
        P = J[:3].T @ J[:3] + LEVER**2 * J[3:].T @ J[3:]
        terms = []
        for force in FORCES:
            C = np.diag(std**2) + force**2 * P
            terms.append(-0.5 * (e @ np.linalg.solve(C, e) + np.linalg.slogdet(C)[1]))
        assert evidence[k] == pytest.approx(np.logaddexp.reduce(terms), rel=1e-9)
