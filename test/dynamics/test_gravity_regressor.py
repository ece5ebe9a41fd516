# SPDX-License-Identifier: Apache-2.0
import numpy as np
from arms import random_states
from oracles import Pinocchio, assert_agrees

from panda_dynamics_ros import dynamics


def test_gravity_is_linear_in_mass_and_first_moment(robot, rng):
    q = random_states(robot, rng).q
    Y = dynamics.gravity_regressor(robot, q)
    assert_agrees(Y @ robot.inertial_vector, Pinocchio(robot).gravity_torques(q), relative=1e-9)
    by_link = Y.reshape(*Y.shape[:-1], robot.n, 10)
    assert not by_link[..., 4:].any()
    assert by_link[..., 1:4].any()


def test_static_poses_of_the_panda_tell_fewer_parameters_than_motion(panda, rng):
    """Gravity turns about no axis of joint 1: its torque is always zero, and mass and CoM regroup as they do."""
    q = random_states(panda, rng, 400).q
    Y = dynamics.gravity_regressor(panda, q)
    assert np.abs(Y[:, 0]).max() < 1e-14  # rounding of sin and cos of angles that are multiples of 90 degrees
    singular = np.linalg.svd(Y.reshape(-1, 70), compute_uv=False)
    rank = int(np.sum(singular > 1e-9 * singular[0]))
    # Two first moments of each of links 2..7, the third regrouped into the link before.
    assert rank == 12
    assert rank < len(panda.base_parameters().names)
