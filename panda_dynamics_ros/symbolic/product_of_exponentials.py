# SPDX-License-Identifier: Apache-2.0
"""Kinematics by the product of exponentials (Lynch and Park 2017, section 4.1), of numbers or SymPy expressions.

    T_i(q) = e^(xi_1 q_1) e^(xi_2 q_2) .. e^(xi_i q_i) T_i(0)

The same results as `kinematics` and `jacobian`, by another road and in the document's terms. `arm` is a robot or
a `ScrewChain`; a chain of expressions (`panda_dynamics_ros.symbolic`) gives expressions. Document 002 orders a
twist (w, v); here it is (v, w), linear part first, as everywhere in this package.

Arguments: q, dq (..., n), rad and rad/s (m for a joint that slides); a frame of base, joint1 .. jointn, flange, ee; a
link 1..n. What is none of these, or holds what is neither a finite number nor an expression, is an `ArgumentError`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.symbolic.expressions import Array, numbers_or_expressions, require_leading_shapes
from panda_dynamics_ros.symbolic.screw_chain import ScrewChain
from panda_dynamics_ros.symbolic.twists import adjoint, adjoint_inverse, com_shift, exp_twist, rigid

Arm: TypeAlias = RobotDescription | ScrewChain


def joint_poses(arm: Arm, q: ArrayLike) -> Array:
    """T_base_joint_i of all joints.

    Parameters
    ----------
    q: (..., n), rad (m for a joint that slides).

    Returns
    -------
    (..., n, 4, 4), translation in m.

    Reference: document 002, section 1.2, T_i_0.
    """
    chain = ScrewChain.of(arm)
    poses: Array = _screw_motions(chain, q) @ chain.T_base_joint
    return poses


def pose(arm: Arm, q: ArrayLike, frame: str = "flange") -> Array:
    """T_base_frame (..., 4, 4) of base, joint1 .. jointn, flange or ee.

    Reference: document 002, section 1.2, T_i_0; T_8_0 is the flange.
    """
    chain = ScrewChain.of(arm)
    last, T_joint_frame = _placed(chain, frame)
    poses = joint_poses(chain, q)
    if last == 0:
        return np.zeros_like(poses[..., 0, :, :]) + np.eye(4, dtype=int)
    placed: Array = poses[..., last - 1, :, :] @ T_joint_frame
    return placed


def com_poses(arm: Arm, q: ArrayLike) -> Array:
    """T_base_m_i (..., n, 4, 4) of all links: origin in the centre of mass, axes of the joint frame.

    Reference: document 002, section 1.2, T_i_0 T_mi_i and r_mi.
    """
    chain = ScrewChain.of(arm)
    poses: Array = joint_poses(chain, q) @ rigid(np.eye(3, dtype=int), chain.coms)
    return poses


def space_jacobian(arm: Arm, q: ArrayLike) -> Array:
    """J_s (..., 6, n): column i is the unit twist of joint i at q, about the base origin, in base axes.

    xi_i(q) = Ad(e^(xi_1 q_1) .. e^(xi_{i-1} q_{i-1})) xi_i(0). With V_s = J_s dq, T' T^-1 = V_s^ for a frame
    behind all joints.

    Reference: document 002, section 1.2, xi_i.
    """
    chain = ScrewChain.of(arm)
    motions = _screw_motions(chain, q)
    at_base = np.zeros_like(motions[..., :1, :, :]) + np.eye(4, dtype=int)
    before = np.concatenate((at_base, motions[..., :-1, :, :]), axis=-3)
    columns = (adjoint(before) @ chain.twists[..., None])[..., 0]
    moved: Array = np.swapaxes(columns, -1, -2)
    return moved


def jacobian(arm: Arm, q: ArrayLike, frame: str = "flange") -> Array:
    """J_i (..., 6, n): (v, w) = J dq, the velocity of the frame's origin and the angular velocity, in base axes.

    J = Ad^-1(r) J_s moves the twists from the base origin to r, the frame's; joints beyond it have zero columns.

    Reference: document 002, section 1.3, Jacobian_i (there angular rows first).
    """
    chain = ScrewChain.of(arm)
    last, _ = _placed(chain, frame)
    r = pose(chain, q, frame)[..., :3, 3]
    J = adjoint_inverse(rigid(np.eye(3, dtype=int), r)) @ space_jacobian(chain, q)
    J[..., last:] = 0
    return J


def com_jacobian(arm: Arm, q: ArrayLike, link: int) -> Array:
    """J_mi (..., 6, n) of the centre of mass of link 1..n: J_mi = Ad^-1(T_CoM) J_i.

    Reference: document 002, section 1.3, last equation.
    """
    chain = ScrewChain.of(arm)
    if not isinstance(link, int | np.integer) or not 1 <= link <= chain.n:
        raise ArgumentError(f"link: expected an integer from 1 to {chain.n}, got {link!r}")
    T = joint_poses(chain, q)[..., link - 1, :, :]
    J: Array = adjoint_inverse(com_shift(T, chain.coms[link - 1])) @ jacobian(chain, q, f"joint{link}")
    return J


def velocity(arm: Arm, q: ArrayLike, dq: ArrayLike, frame: str = "flange") -> Array:
    """(v, w) (..., 6) of a frame: velocity of its origin, angular velocity, in base axes.

    Document 002 calls (w, v) SpatialVelocity_i. Its v is the origin's velocity, not the linear part of the
    spatial twist V_s = `space_jacobian` dq, which is v - w x r.

    Reference: document 002, section 1.2.
    """
    return _velocity(jacobian(arm, q, frame), dq)


def com_velocity(arm: Arm, q: ArrayLike, dq: ArrayLike, link: int) -> Array:
    """(v, w) (..., 6) of a link's centre of mass, in base axes: v_mi = v_i + w_i x (r_mi - r_i).

    Reference: document 002, section 1.2, SpatialVelocity_mi.
    """
    return _velocity(com_jacobian(arm, q, link), dq)


def _screw_motions(chain: ScrewChain, q: ArrayLike) -> Array:
    """e^(xi_1 q_1) .. e^(xi_i q_i) for i = 1..n: (..., n, 4, 4)."""
    steps = exp_twist(chain.twists, numbers_or_expressions(q, (chain.n,), "q"))
    products = [steps[..., 0, :, :]]
    for i in range(1, chain.n):
        products.append(products[-1] @ steps[..., i, :, :])
    return np.stack(products, axis=-3)


def _placed(chain: ScrewChain, frame: str) -> tuple[int, Array]:
    """The joint (1..n; 0 is base) that carries `frame`, and T_joint_frame."""
    if not isinstance(frame, str) or frame not in chain.frames:
        raise ArgumentError(f"frame: expected one of {', '.join(chain.frames)}, got {frame!r}")
    if frame == "flange":
        return chain.n, chain.T_joint_flange
    if frame == "ee":
        T_joint_ee: Array = chain.T_joint_flange @ chain.T_flange_ee
        return chain.n, T_joint_ee
    return chain.frames.index(frame), np.eye(4, dtype=int)


def _velocity(J: Array, dq: ArrayLike) -> Array:
    """J dq."""
    rates = numbers_or_expressions(dq, (J.shape[-1],), "dq")
    require_leading_shapes(q=(J[..., 0, :], 1), dq=(rates, 1))
    V: Array = (J @ rates[..., None])[..., 0]
    return V
