# SPDX-License-Identifier: Apache-2.0
"""Identities between the dynamics functions, which hold for every arm and need no other engine.

Tolerance 1e-12 of a sample's largest entry: both sides are exact, and rounding has been seen up to 2e-14.
Where a finite difference enters, its own error is stated beside it.
"""

import numpy as np
import pytest
from arms import random_chain, random_states
from oracles import assert_agrees, gradient, potential_energy, rate

import panda_dynamics_ros as pdr

EXACT = 1e-12
# Fourth-order differences with step 1e-3: 1e-12 of truncation times fifth derivatives, and 1e-13 of rounding; seen
# up to 1e-9.
DIFFERENCE, STEP = 1e-8, 1e-3


@pytest.fixture(scope="module", params=["panda", "panda_ledezma", "fr3", "chain"])
def arm(request):
    return random_chain(6, seed=4) if request.param == "chain" else pdr.load_robot(request.param)


def test_forward_dynamics_inverts_inverse_dynamics(arm, rng):
    q, dq, ddq = random_states(arm, rng)
    tau = arm.inverse_dynamics(q, dq, ddq)
    # Relative to the accelerations, the rounding of tau grows by the condition number of M, below 1e5.
    assert_agrees(arm.forward_dynamics(q, dq, tau), ddq, 1e-9)


def test_mass_matrix_is_symmetric_positive_definite(arm, rng):
    M = arm.mass_matrix(random_states(arm, rng).q)
    assert np.array_equal(M, np.swapaxes(M, -1, -2))  # each pair is stored from one product
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_inverse_dynamics_is_the_sum_of_its_parts(arm, rng):
    q, dq, ddq = random_states(arm, rng)
    inertial = np.einsum("kij,kj->ki", arm.mass_matrix(q), ddq)
    parts = inertial + arm.coriolis_torques(q, dq) + arm.gravity_torques(q)
    assert_agrees(arm.inverse_dynamics(q, dq, ddq), parts, EXACT)


def test_coriolis_matrix_is_that_of_the_christoffel_symbols(arm, rng):
    """C_ij = sum_k 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) dq_k: one of many C with Mdot - 2C skew."""
    q, dq, _ = random_states(arm, rng, samples=50)
    dM = gradient(arm.mass_matrix, q, STEP)  # [sample, i, j, k] = dM_ij / dq_k
    symbols = 0.5 * (dM + np.swapaxes(dM, -1, -2) - np.moveaxis(dM, -1, 1))
    assert_agrees(arm.coriolis_matrix(q, dq), np.einsum("sijk,sk->sij", symbols, dq), DIFFERENCE, axes=2)


def test_gravity_is_the_gradient_of_potential_energy(arm, rng):
    q, _, _ = random_states(arm, rng, samples=200)
    slope = gradient(lambda q: potential_energy(arm, q), q, STEP)
    assert_agrees(arm.gravity_torques(q), slope, DIFFERENCE)


@pytest.mark.parametrize("frame", ["joint1", "joint4", "flange", "ee"])
def test_jacobian_is_the_derivative_of_the_pose(arm, rng, frame):
    q, dq, _ = random_states(arm, rng, samples=200)
    T_dot = rate(lambda q: arm.pose(q, frame), q, dq, STEP)
    twist = np.einsum("kij,kj->ki", arm.jacobian(q, frame), dq)
    assert_agrees(twist[:, :3], T_dot[:, :3, 3], DIFFERENCE)
    R = arm.pose(q, frame)[:, :3, :3]
    W = T_dot[:, :3, :3] @ np.swapaxes(R, -1, -2)  # S(w), in base axes
    assert_agrees(twist[:, 3:], np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=-1), DIFFERENCE)


def test_frames_chain_up():
    """T_base_ee = T_base_flange T_flange_ee, T_base_flange = T_base_joint7 T_joint_flange, T_base_base = 1."""
    arm = random_chain(7, seed=5)
    q = random_states(arm, np.random.default_rng(6), samples=100).q
    assert_agrees(arm.pose(q, "flange"), arm.pose(q, "joint7") @ arm.T_joint_flange, EXACT, axes=2)
    assert_agrees(arm.pose(q, "ee"), arm.pose(q, "flange") @ arm.T_flange_ee, EXACT, axes=2)
    assert np.array_equal(arm.pose(q, "base"), np.broadcast_to(np.eye(4), (100, 4, 4)))
    assert not arm.jacobian(q, "base").any()
