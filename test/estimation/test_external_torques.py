# SPDX-License-Identifier: Apache-2.0
"""External torques of exact motions, the wrench at the flange that explains them, and the link that a force is on."""

import numpy as np
import pytest
from motion import PAYLOAD, REST, Motion, sinusoids, torques

from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import ArmMonitor, contact_wrench, external_torques
from panda_dynamics_ros.robot.residual_map import DRIFT

WRENCH = np.array([10.0, -5.0, 20.0, 1.0, 0.5, -0.3])
PRIOR_STD = np.repeat((external_torques.FORCE_STD, external_torques.MOMENT_STD), 3)


@pytest.mark.parametrize("open_", [1.0, 0.0])
def test_it_is_the_most_probable_wrench_of_each_state(robot, rng, open_):
    """Least squares over the prior's rows and the joints': with a residual map, joints count by what it leaves open."""
    q, external = rng.uniform(robot.limits.lower, robot.limits.upper, (20, 7)), rng.normal(size=(20, 7))
    found, std = contact_wrench(robot, q, external, open_), robot.residual.std * (1.0 if open_ else DRIFT)
    for k in range(20):
        A = np.vstack((np.diag(1.0 / PRIOR_STD), robot.jacobian(q[k]).T / std[:, None]))
        wrench = np.linalg.lstsq(A, np.concatenate((np.zeros(6), external[k] / std)), rcond=None)[0]
        # The normal equations may be as ill-conditioned as 1e10 near singularities: 1e-16 of the largest is rounding.
        np.testing.assert_allclose(found.wrench[k], wrench, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found.covariance[k], np.linalg.inv(A.T @ A), rtol=1e-6, atol=1e-9)


def test_a_wrench_on_the_flange_comes_back(panda):
    """Force along base axes, moment about the flange's origin: tau = J^T F of the flange's own Jacobian."""
    found = contact_wrench(panda, REST, panda.jacobian(REST).T @ WRENCH)
    # The prior takes (std / 100 N)^2 from a force, (std / 20 N m)^2 from a moment: below 1e-3 here.
    np.testing.assert_allclose(found.wrench, WRENCH, rtol=2e-3)
    assert found.observable.all()


def test_the_covariance_holds(panda, rng):
    """Normalised squared errors of six components have mean 6; 2000 draws fix it to 6 +- sqrt(12 / 2000) * 4."""
    true = PRIOR_STD * rng.normal(size=(2000, 6))
    external = true @ panda.jacobian(REST) + panda.residual.std * rng.normal(size=(2000, 7))
    found = contact_wrench(panda, np.tile(REST, (2000, 1)), external)
    error = found.wrench - true
    squares = np.einsum("ki,kij,kj->k", error, np.linalg.inv(found.covariance), error)
    assert np.mean(squares) == pytest.approx(6.0, abs=4.0 * np.sqrt(12.0 / 2000))


def test_what_the_joints_do_not_feel_is_not_made_up(panda):
    """Stretched out along z at q = 0, no joint feels a moment about x: no rotation about x is possible."""
    q = np.zeros(7)
    moment_about_x = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    assert np.abs(panda.jacobian(q).T @ moment_about_x).max() < 1e-9
    found = contact_wrench(panda, q, panda.residual.std)
    np.testing.assert_array_equal(found.observable, [True, True, True, False, True, True])
    assert abs(found.wrench[3]) < 1e-6
    assert found.std[3] == pytest.approx(external_torques.MOMENT_STD)


def test_bad_arguments_are_named(panda):
    with pytest.raises(ArgumentError, match=r"^q: expected"):
        contact_wrench(panda, np.zeros(6), np.zeros(7))
    with pytest.raises(ArgumentError, match=r"^external: expected"):
        contact_wrench(panda, np.zeros(7), [np.nan] * 7)


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
        found.append(external_torques.touched_link(robot, q, torques + noise, robot.residual.std))
    return np.array(found)


@pytest.mark.parametrize("link", [3, 4, 5, 6])
def test_strong_forces_name_their_link_or_a_neighbour(panda, postures, rng, link):
    """40 N, 4 cm from the centre of mass: no joint beyond the link is loaded, which only noise hides.
    Link 2 is left out: near the shoulder, forces on links 1 to 3 do the same to the same two joints."""
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
        torques += robot.residual.std * rng.normal(size=7)
        found.append(external_torques.touched_link(robot, q, torques, robot.residual.std))
    assert np.mean(np.array(found) == 7) > 0.8


def test_the_evidence_is_that_of_the_normal_distribution(panda, rng):
    """Against numpy's determinant and inverse, link by link; the constant -n/2 log 2 pi is left out in both."""
    std, e = panda.residual.std, rng.normal(size=7)
    evidence = external_torques.link_evidence(panda, REST, e, std)
    for k in range(7):
        J = panda.com_jacobian(REST, k + 1)
        P = J[:3].T @ J[:3] + external_torques.LEVER**2 * J[3:].T @ J[3:]
        terms = []
        for force in external_torques.FORCES:
            C = np.diag(std**2) + force**2 * P
            terms.append(-0.5 * (e @ np.linalg.solve(C, e) + np.linalg.slogdet(C)[1]))
        assert evidence[k] == pytest.approx(np.logaddexp.reduce(terms), rel=1e-9)


EXTERNAL = np.array([3.0, -2.0, 1.0, -4.0, 0.5, 0.8, -0.3])  # N m
# What a filter makes of a motion sampled at 1 ms: its inputs are taken as linear in between.
SAMPLED = 2e-3


def run(panda, motion, tau, told_at=-1):
    """External torques (N, 7); at sample `told_at` the monitor is told of the payload."""
    monitor, out = ArmMonitor(panda), []
    for k in map(slice, range(len(tau)), range(1, len(tau) + 1)):
        if k.start == told_at:
            monitor.carry(PAYLOAD)
        rows = monitor.update_rows(motion.stamp[k], motion.q[k], motion.dq[k], tau[k], payload=False)
        out.append(rows.external_torques[0])
    return np.array(out)


@pytest.fixture(scope="module")
def motion():
    return sinusoids(1.0)


@pytest.mark.parametrize(("payload", "told_at"), [(None, -1), (PAYLOAD, 0)])
def test_what_acts_is_found(panda, motion, payload, told_at):
    external = run(panda, motion, torques(panda, motion, payload) - EXTERNAL, told_at)
    np.testing.assert_allclose(external[500:], np.tile(EXTERNAL, (500, 1)), rtol=0.0, atol=SAMPLED)


def test_a_payload_counts_as_external_until_told(panda, motion):
    """Then it counts as if it had always been carried: the filters need no new start."""
    tau = torques(panda, motion, PAYLOAD) - EXTERNAL
    told_late, told_first = run(panda, motion, tau, 700), run(panda, motion, tau, 0)
    np.testing.assert_allclose(told_late[700:], told_first[700:], rtol=0.0, atol=1e-12)
    carried = torques(panda, motion, PAYLOAD) - torques(panda, motion)
    # The filter is 16 ms late; the payload's torque changes by up to some 10 N m/s.
    np.testing.assert_allclose(told_late[500:700], (EXTERNAL - carried)[500:700], rtol=0.0, atol=0.2)
    assert np.abs(told_late[699] - EXTERNAL).max() > 2.0


@pytest.mark.parametrize(("jump", "left"), [(-2.0, 0.0), (2.0, 0.0), (0.0, 1.0), (-0.2, 1.0)])
def test_a_stamp_far_off_starts_the_filter_anew_and_a_late_one_is_left_out(panda, motion, jump, left):
    # At rest, the direction of the dry friction unknown: its mean is expected.
    still = np.zeros((1, 7))
    tau = torques(panda, Motion(motion.stamp[:1], motion.q[:1], still, still))
    stamp, rest = np.append(0.001 * np.arange(10), 0.009 + jump), np.zeros((11, 7))
    after = run(panda, Motion(stamp, rest + motion.q[0], rest, rest), tau - np.outer(np.arange(11) < 10, EXTERNAL))
    np.testing.assert_allclose(after[-1], left * EXTERNAL, rtol=0.0, atol=1e-9)
