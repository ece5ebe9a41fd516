# SPDX-License-Identifier: Apache-2.0
"""The checks of document 002 on its own symbols, for joint and link 3 as it does them.

A difference counts as zero when its normal form is 0, exactly. Velocities and Jacobians "by definition" are
computed here from derivatives with time, as the document does; the functions under test never differentiate.
"""

import calculus
import numpy as np
import pytest
import sympy
from calculus import Array, inverse_transform, is_zero, jacobian_from_velocity, time_derivative, twist_matrix

from panda_dynamics_ros import symbolic
from panda_dynamics_ros.symbolic import skew


class Document:
    """The names of document 002; twists linear part first, where it has the angular part first."""

    def __init__(self) -> None:
        self.chain, self.t, self.theta = calculus.document_panda()
        self.rates = time_derivative(self.theta, self.t)
        self.T = self.chain.joint_poses(self.theta)  # T_i_0
        self.T_m = calculus.com_poses(self.chain, self.theta)  # T_i_0 T_mi_i
        self.r, self.r_m = self.T[:, :3, 3], self.T_m[:, :3, 3]

    def by_definition(self, r: Array, joint: int) -> Array:
        """(dr/dt, sum of omega_j theta_j'): SpatialVelocity_i of joint 1..7, or of its CoM."""
        spin = sum(self.T[j, :3, 2] * self.rates[j] for j in range(joint))
        return np.concatenate([time_derivative(r, self.t), spin])


@pytest.fixture(scope="module")
def document():
    return Document()


@pytest.mark.parametrize("of_com", [False, True])
def test_spatial_velocity_of_joint_3_and_of_its_centre_of_mass(document, of_com):
    """First and third check: T' T^-1 = V^. The document's V, whose v is the origin's velocity, passes it with an
    inverse [[R^T, 0], [0, 1]]; with that of T, the V of the check is the spatial twist J_s theta', of all points."""
    T, r = (document.T_m[2], document.r_m[2]) if of_com else (document.T[2], document.r[2])
    T_dot, R_inverse = time_derivative(T, document.t), inverse_transform(T)
    R_inverse[:3, 3] = 0
    assert is_zero(T_dot @ R_inverse - twist_matrix(document.by_definition(r, 3)))
    V_s = document.chain.space_jacobian(document.theta)[:, :3] @ document.rates[:3]
    assert is_zero(T_dot @ inverse_transform(T) - twist_matrix(V_s))


def test_printed_difference_of_the_two_velocities(document):
    """The document's second check prints V^ minus the sum of moved unit twists: it is w x r, entry by entry."""
    (a, b, _), (da, db, dc) = document.theta[:3], document.rates[:3]
    y, z = sympy.symbols("y_3 z_1", real=True)
    sin, cos = sympy.sin, sympy.cos
    printed = [
        y * sin(a) * sin(b) * da - y * cos(a) * cos(b) * db + z * sin(a) * sin(b) * dc + z * cos(a) * db,
        -y * sin(a) * cos(b) * db - y * sin(b) * cos(a) * da + z * sin(a) * db - z * sin(b) * cos(a) * dc,
        y * sin(b) * db,
    ]
    V = document.chain.jacobian(document.theta, "joint3") @ document.rates
    V_s = document.chain.space_jacobian(document.theta)[:, :3] @ document.rates[:3]
    assert is_zero(V[:3] - V_s[:3] - np.array(printed))
    assert is_zero(V[3:] - V_s[3:])
    assert is_zero(V[:3] - V_s[:3] - skew(V[3:]) @ document.r[2])


def test_the_centre_of_mass_stands_still_in_its_link(document):
    """T' T_m = (T T_m)'."""
    T_m3_3 = np.eye(4, dtype=int).astype(object)
    T_m3_3[:3, 3] = document.chain.coms[2]
    T_dot = time_derivative(document.T[2], document.t)
    assert is_zero(T_dot @ T_m3_3 - time_derivative(document.T_m[2], document.t))


def test_true_true(document):
    """w_m5 = w_5, and v_m3 - v_3 = -[r_m3 - r_3] w_3."""
    chain, theta, rates = document.chain, document.theta, document.rates
    assert is_zero((chain.com_jacobian(theta, 5) @ rates)[3:] - (chain.jacobian(theta, "joint5") @ rates)[3:])
    V, V_m = chain.jacobian(theta, "joint3") @ rates, chain.com_jacobian(theta, 3) @ rates
    assert is_zero(V_m[:3] - V[:3] + skew(document.r_m[2] - document.r[2]) @ V[3:])


def test_jacobian_identity(document):
    """J_m3 = Ad^-1(T_CoM) J_3, each Jacobian by its definition and as it is computed; T_CoM moves by r_m - r."""
    T_CoM = calculus.com_shift(document.T[2], document.chain.coms[2])
    assert is_zero(T_CoM[:3, 3] - (document.r_m[2] - document.r[2]))
    J = jacobian_from_velocity(document.by_definition(document.r[2], 3), document.rates)
    J_m = jacobian_from_velocity(document.by_definition(document.r_m[2], 3), document.rates)
    assert J.shape == J_m.shape == (6, 7)
    assert is_zero(J_m - symbolic.adjoint(inverse_transform(T_CoM)) @ J)
    assert is_zero(J - document.chain.jacobian(document.theta, "joint3"))
    assert is_zero(J_m - document.chain.com_jacobian(document.theta, 3))


def test_with_its_numbers_it_is_the_panda_of_the_library(panda, document):
    names = {"z_1": 0.333, "y_3": -0.316, "x_4": 0.0825, "x_5": -0.0825, "y_5": 0.384, "x_7": 0.088, "z_8": 0.107}
    q = [0.1, -0.5, 0.7, -1.9, 0.4, 1.8, -0.9]
    values = {sympy.Symbol(name, real=True): value for name, value in names.items()}
    values |= dict(zip(document.theta, q, strict=True))
    for i, link in enumerate(panda.links, start=1):
        values |= {sympy.Symbol(f"{axis}_c{i}", real=True): c for axis, c in zip("xyz", link.com, strict=True)}
    flange = calculus.substituted(document.chain.pose(document.theta, "flange"), values)
    coms = calculus.substituted(document.T_m, values)
    # A few dozen products of numbers below 1.
    assert np.abs(flange - panda.pose(q)).max() < 1e-14
    assert np.abs(coms - np.asarray(calculus.com_poses(symbolic.exact_chain(panda), q), dtype=float)).max() < 1e-14
