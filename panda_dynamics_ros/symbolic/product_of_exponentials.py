# SPDX-License-Identifier: Apache-2.0
"""Kinematics by the product of exponentials (Lynch and Park 2017, section 4.1), as SymPy expressions.

    T_i(q) = e^(xi_1 q_1) e^(xi_2 q_2) .. e^(xi_i q_i) T_i(0)

The same results as `kinematics` and `jacobian`, by another road and in the document's terms. Document 002 orders a
twist (w, v); here it is (v, w), linear part first, as everywhere in this package.

Arguments: a robot or a `ScrewChain`; q (n,), symbols, expressions or numbers, rad (m for a joint that slides); a frame
of base, joint1 .. jointn, flange, ee; a link 1..n. What is none of these is an `ArgumentError`.
"""

from itertools import accumulate
from operator import matmul
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.symbolic.arms import ScrewChain, exact_chain
from panda_dynamics_ros.symbolic.twists import Array, adjoint, adjoint_inverse, exp_twist, expressions, identity, rigid

Arm: TypeAlias = RobotDescription | ScrewChain


def joint_poses(arm: Arm, q: ArrayLike) -> Array:
    """T_base_joint_i of all joints: (n, 4, 4), translation in m.

    Reference: document 002, section 1.2, T_i_0.
    """
    chain = _chain(arm)
    return np.array([motion @ T for motion, T in zip(_screw_motions(chain, q), chain.T_base_joint, strict=True)])


def pose(arm: Arm, q: ArrayLike, frame: str = "flange") -> Array:
    """T_base_frame (4, 4) of base, joint1 .. jointn, flange or ee.

    Reference: document 002, section 1.2, T_i_0; T_8_0 is the flange.
    """
    chain = _chain(arm)
    joint, T_joint_frame = _placed(chain, frame)
    return T_joint_frame if joint == 0 else joint_poses(chain, q)[joint - 1] @ T_joint_frame


def space_jacobian(arm: Arm, q: ArrayLike) -> Array:
    """J_s (6, n): column i is the unit twist of joint i at q, about the base origin, in base axes.

    xi_i(q) = Ad(e^(xi_1 q_1) .. e^(xi_{i-1} q_{i-1})) xi_i(0). With V_s = J_s dq, T' T^-1 = V_s^ for a frame
    behind all joints.

    Reference: document 002, section 1.2, xi_i.
    """
    chain = _chain(arm)
    before = [identity(4), *_screw_motions(chain, q)]
    return np.array([adjoint(T) @ twist for T, twist in zip(before[:-1], chain.twists, strict=True)]).T


def jacobian(arm: Arm, q: ArrayLike, frame: str = "flange") -> Array:
    """J_i (6, n): (v, w) = J dq, the velocity of the frame's origin and the angular velocity, in base axes.

    Document 002 calls (w, v) SpatialVelocity_i. Its v is not the linear part of the spatial twist `space_jacobian` dq,
    which is v - w x r.

    J = Ad^-1(r) J_s moves the twists from the base origin to r, the frame's; joints beyond it have zero columns.

    Reference: document 002, section 1.3, Jacobian_i (there angular rows first).
    """
    chain = _chain(arm)
    r = pose(chain, q, frame)[:3, 3]
    J: Array = adjoint_inverse(rigid(np.eye(3), r)) @ space_jacobian(chain, q)
    joint, _ = _placed(chain, frame)
    J[:, joint:] = 0 * J[:, joint:]
    return J


def com_jacobian(arm: Arm, q: ArrayLike, link: int) -> Array:
    """J_mi (6, n) of the centre of mass of link 1..n: J_mi = Ad^-1(T_CoM) J_i.

    Reference: document 002, section 1.3, last equation.
    """
    chain = _chain(arm)
    if not isinstance(link, int | np.integer) or not 1 <= link <= chain.n:
        raise ArgumentError(f"link: expected an integer from 1 to {chain.n}, got {link!r}")
    shift = joint_poses(chain, q)[link - 1][:3, :3] @ chain.coms[link - 1]  # r_mi - r_i
    J: Array = adjoint_inverse(rigid(np.eye(3), shift)) @ jacobian(chain, q, f"joint{link}")
    return J


def _chain(arm: Arm) -> ScrewChain:
    return arm if isinstance(arm, ScrewChain) else exact_chain(arm)


def _screw_motions(chain: ScrewChain, q: ArrayLike) -> list[Array]:
    """e^(xi_1 q_1) .. e^(xi_i q_i) for i = 1..n."""
    positions = expressions(q, (chain.n,), "q")
    return list(accumulate((exp_twist(xi, qi) for xi, qi in zip(chain.twists, positions, strict=True)), matmul))


def _placed(chain: ScrewChain, frame: str) -> tuple[int, Array]:
    """The joint (1..n; 0 is base) that carries `frame`, and T_joint_frame."""
    placed = {name: (i, identity(4)) for i, name in enumerate(["base", *(f"joint{i + 1}" for i in range(chain.n))])}
    placed["flange"] = chain.n, chain.T_joint_flange
    placed["ee"] = chain.n, np.asarray(chain.T_joint_flange @ chain.T_flange_ee)
    if not isinstance(frame, str) or frame not in placed:
        raise ArgumentError(f"frame: expected one of {', '.join(placed)}, got {frame!r}")
    return placed[frame]
