# SPDX-License-Identifier: Apache-2.0
"""The regressors: linear in the parameters, triangular, of the ranks that the theory gives."""

import numpy as np
import pytest
from arms import random_body, random_chain, random_states, transform
from oracles import Pinocchio, assert_agrees

import panda_dynamics_ros as pdr

EXACT = 1e-12  # of a sample's largest torque; rounding has been seen up to 1e-14
RANK = 1e-9  # of the largest singular value: those that are zero come out below 1e-14, the others above 0.01


@pytest.fixture(scope="module", params=["panda", "panda_ledezma", "fr3", "chain"])
def arm(request):
    """An arm whose end effector stands neither at the flange nor parallel to it."""
    if request.param == "chain":
        return random_chain(6, seed=7)
    return pdr.load_robot(request.param).with_end_effector(transform((0.3, -0.5, 0.8), (0.02, -0.05, 0.1)))


def singular_values(Y: np.ndarray) -> np.ndarray:
    values: np.ndarray = np.linalg.svd(Y.reshape(-1, Y.shape[-1]), compute_uv=False)
    return values / values[0]


def test_torques_are_linear_in_the_inertial_vector(arm, rng):
    """tau = Y pi (document 003, slide 5)."""
    states = random_states(arm, rng)
    assert_agrees(arm.regressor(*states) @ arm.inertial_vector, arm.inverse_dynamics(*states), EXACT)


def test_regressor_is_block_upper_triangular(arm, rng):
    """Joint i's torque depends on links i..n only (document 003, slide 5), and on each of these."""
    Y = arm.regressor(*random_states(arm, rng, samples=50))
    blocks = np.abs(Y.reshape(50, arm.n, arm.n, 10)).max(axis=(0, 3))
    assert not np.tril(blocks, -1).any()
    assert (blocks[np.triu_indices(arm.n)] > 0.0).all()


@pytest.mark.parametrize("frame", ["last joint", "flange", "ee"])
def test_payload_torques_are_linear_in_the_payload(arm, rng, frame):
    frame = f"joint{arm.n}" if frame == "last joint" else frame
    states, payload = random_states(arm, rng), random_body(rng)
    carried = arm.with_payload(payload, frame).inverse_dynamics(*states) - arm.inverse_dynamics(*states)
    # The difference of two torques carries their rounding: some ten times that of the payload's own.
    assert_agrees(arm.payload_regressor(*states, frame) @ payload.vector, carried, 1e-10)


def test_one_static_pose_shows_three_of_the_four_gravity_parameters(panda):
    """What a payload estimator cannot know at standstill: the CoM along gravity."""
    q = np.array([0.1, -0.4, 0.2, -2.0, 0.3, 1.8, 0.6])
    Y = panda.payload_regressor(q, np.zeros(7), np.zeros(7))
    assert (singular_values(Y) > RANK).sum() == 3
    assert not Y[:, 4:].any(), "an arm at rest feels no inertia"


def test_gravity_is_linear_in_mass_and_first_moment(robot, rng):
    q = random_states(robot, rng).q
    Y = robot.regressor(q, np.zeros(robot.n), np.zeros(robot.n))
    assert_agrees(Y @ robot.inertial_vector, Pinocchio(robot).gravity_torques(q), relative=1e-9)
    by_link = Y.reshape(*Y.shape[:-1], robot.n, 10)
    assert not by_link[..., 4:].any()
    assert by_link[..., 1:4].any()


def test_static_poses_of_the_panda_tell_fewer_parameters_than_motion(panda, rng):
    """Gravity turns about no axis of joint 1: its torque is always zero, and mass and CoM regroup as they do."""
    q = random_states(panda, rng, 400).q
    Y = panda.regressor(q, np.zeros(7), np.zeros(7))
    assert np.abs(Y[:, 0]).max() < 1e-14  # rounding of sin and cos of angles that are multiples of 90 degrees
    singular = np.linalg.svd(Y.reshape(-1, 70), compute_uv=False)
    rank = int(np.sum(singular > 1e-9 * singular[0]))
    # Two first moments of each of links 2..7, the third regrouped into the link before.
    assert rank == 12
    assert rank < len(panda.base_parameters().names)
