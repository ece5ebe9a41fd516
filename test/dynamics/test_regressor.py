# SPDX-License-Identifier: Apache-2.0
"""The regressors: linear in the parameters, of the ranks that the theory gives. The momentum form: p = M dq,
bias = g - C^T dq, dp/dt = tau - bias, and the payload's share of each. One compiled call of the inner loop."""

import numpy as np
import pytest
from arms import random_body, random_chain, random_states, transform
from oracles import Pinocchio, assert_agrees, rate

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import robot_state
from panda_dynamics_ros.dynamics.kernels.chain import place_joints
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from panda_dynamics_ros.dynamics.momentum import momentum_sample, payload_momentum_sample

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
    Y = panda.regressor(random_states(panda, rng, 400).q, np.zeros(7), np.zeros(7))
    assert np.abs(Y[:, 0]).max() < 1e-14  # rounding of sin and cos of angles that are multiples of 90 degrees
    # Two first moments of each of links 2..7, the third regrouped into the link before.
    assert (singular_values(Y) > RANK).sum() == 12 < len(panda.base_parameters())


@compiled
def momentum_rows(table, frame, q, dq, p, bias, Y_p, Y_bias):
    frames, S, work = np.empty((q.shape[1], 12)), np.empty((q.shape[1], 6)), np.empty((q.shape[1], 9))
    for k in range(q.shape[0]):
        place_joints(table, q[k], frames)
        momentum_sample(table, frames, dq[k], work, p[k], bias[k])
        payload_momentum_sample(table, frame, frames, dq[k], S, Y_p[k], Y_bias[k])


def momentum(arm, q, dq, frame="flange"):
    """p and bias (rows, n) of the arm, Y_p and Y_bias (rows, n, 10) of a payload, by the estimator's kernels."""
    (p, bias), (Y_p, Y_bias) = np.empty((2, *q.shape)), np.empty((2, *q.shape, 10))
    momentum_rows(arm.table, arm.frame_index(frame), q, dq, p, bias, Y_p, Y_bias)
    return p, bias, Y_p, Y_bias


def test_momentum_is_mass_matrix_times_velocity_and_bias_gravity_minus_transposed_coriolis(arm, rng):
    q, dq, _ = random_states(arm, rng)
    p, bias, *_ = momentum(arm, q, dq)
    assert_agrees(p, np.einsum("kij,kj->ki", arm.mass_matrix(q), dq), EXACT)
    want = arm.gravity_torques(q) - np.einsum("kji,kj->ki", arm.coriolis_matrix(q, dq), dq)
    assert_agrees(bias, want, EXACT)


@pytest.mark.parametrize("frame", ["last joint", "flange", "ee"])
def test_payload_momentum_and_bias_are_linear_in_the_payload(arm, rng, frame):
    frame = f"joint{arm.n}" if frame == "last joint" else frame
    (q, dq, _), payload = random_states(arm, rng), random_body(rng)
    *empty, Y_p, Y_bias = momentum(arm, q, dq, frame)
    loaded = momentum(arm.with_payload(payload, frame), q, dq)
    # The differences of two momenta and of two biases carry the rounding of the arm's own.
    assert_agrees(Y_p @ payload.vector, loaded[0] - empty[0], 1e-10)
    assert_agrees(Y_bias @ payload.vector, loaded[1] - empty[1], 1e-10)


def test_momentum_changes_by_torque_minus_bias(arm, rng):
    """tau = d/dt p + bias and Y_L = d/dt Y_p + Y_bias along q + t dq + t^2/2 ddq, whose state at 0 is (q, dq, ddq)."""
    q, dq, ddq = random_states(arm, rng)

    def momenta_at(time: np.ndarray) -> np.ndarray:
        p, _, Y_p, _ = momentum(arm, q + time * dq + 0.5 * time**2 * ddq, dq + time * ddq)
        return np.concatenate([p[..., None], Y_p], axis=-1)

    derivative, (_, bias, _, Y_bias) = rate(momenta_at, np.zeros(1), np.ones(1), 1e-3), momentum(arm, q, dq)
    # Differences of fourth order with step 1e-3: 1e-12 of truncation, times fifth derivatives of up to 1e4.
    assert_agrees(arm.inverse_dynamics(q, dq, ddq) - bias, derivative[..., 0], 1e-7)
    assert_agrees(derivative[..., 1:] + Y_bias, arm.payload_regressor(q, dq, ddq), 1e-7, axes=2)


def test_robot_state_is_pose_gravity_and_coriolis(robot, rng):
    robot = robot.with_end_effector(transform((0.3, -0.5, 0.8), (0.02, -0.05, 0.1)))
    for q, dq, _ in zip(*random_states(robot, rng, samples=20), strict=True):
        expected = robot.pose(q, "ee"), robot.gravity_torques(q), robot.coriolis_torques(q, dq)
        # The same kernels on the same numbers: equal to the last bit.
        assert all(map(np.array_equal, robot_state(robot, q, dq), expected))
