# SPDX-License-Identifier: Apache-2.0
"""Kinematics on SymPy symbols, by the product of exponentials (Lynch and Park 2017, chapters 3 and 4; document 002).

    T_i(q) = e^(xi_1 q_1) e^(xi_2 q_2) .. e^(xi_i q_i) T_i(0)

The same results as `dynamics.pose` and `jacobian`, by another road and in the document's terms::

    import panda_dynamics_ros as pdr
    import sympy
    from panda_dynamics_ros import symbolic

    chain = symbolic.exact_chain(pdr.load_robot("panda"))
    q = sympy.symbols("q_1:8", real=True)
    T = sympy.Matrix(chain.pose(q, "joint3"))
    sympy.simplify(T), T.diff(q[0]), T.subs(dict(zip(q, [0.1] * 7)))

A twist here is (v, w), linear part first, as everywhere in this package; document 002 writes (w, v). With
P = [[0, 1], [1, 0]] (blocks of 3), its twists are P V and its adjoints P Ad P of those here; 4x4 matrices are the same.

Arguments: q (n,), symbols, expressions or numbers, rad (m for a joint that slides); a frame of base, joint1 .. jointn,
flange, ee; a link 1..n. What is none of these, or of another shape, is an `ArgumentError`. Results are NumPy arrays of
expressions; simplification, substitution and derivatives are SymPy's. SymPy is optional: `pip install sympy`; without
it, this module cannot be imported.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import matmul
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.robot.description import RobotDescription, require_robot

try:
    import sympy
except ImportError as error:
    raise MissingDependencyError("symbolic expressions need SymPy: pip install sympy") from error

__all__ = ["ScrewChain", "exact_chain"]

Array = NDArray[Any]  # dtype object, with SymPy expressions as entries


def expressions(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """`value` as an array of this shape, each entry an expression; whole numbers are integers, since 1.0 x is not x.

    Raises ArgumentError: the shape is wrong, or an entry is neither a finite number nor an expression.
    """
    given = np.asarray(value, dtype=object)
    if given.shape != shape:
        raise ArgumentError(f"{name}: expected shape {shape}, got {given.shape}")
    out = np.empty(shape, dtype=object)
    for index, entry in np.ndenumerate(given):
        try:
            expression = sympy.sympify(entry, strict=True)
        except sympy.SympifyError as error:
            raise ArgumentError(f"{name}: expected numbers or SymPy expressions, got {entry!r:.80}") from error
        if not isinstance(expression, sympy.Expr) or expression.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo):
            raise ArgumentError(f"{name}: expected finite numbers or SymPy expressions, got {entry!r:.80}")
        whole = expression.is_Float and float(expression).is_integer()
        out[index] = sympy.Integer(int(expression)) if whole else expression
    return out


def skew(a: Array) -> Array:
    """[a] (3, 3) of a vector (3,): [a] b = a x b. Document 002: Vector2Matrix_3x3."""
    x, y, z = a
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)


def exp_twist(twist: Array, angle: Any) -> Array:
    """e^(V^ angle) (4, 4), the screw motion of a twist. Document 002: MatrixExp_4x4; its rotation is MatrixExp_3x3.

    R = e^([w] angle),  p = (angle 1 + (1 - cos)/n^2 [w] + (n angle - sin)/n^3 [w]^2) v,  n = |w|, sine and cosine
    of n angle. A pure translation (w = 0) moves by v angle.

    twist: (6,), linear part first, of any length.
    angle: rad for a unit rotation, m for a unit translation.
    """
    v, w, one = twist[:3], twist[3:], np.array(sympy.eye(3))
    n2 = sympy.nsimplify(sympy.simplify(w @ w), tolerance=1e-12)  # 0 and 1 are to be found, rounded or not
    if n2 == 0:
        return rigid(one, v * angle)
    n, W = sympy.sqrt(n2), skew(w)
    sine, versine, WW = sympy.sin(n * angle), (1 - sympy.cos(n * angle)) / n2, W @ W
    left = angle * one + versine * W + (n * angle - sine) / n**3 * WW
    return rigid(one + sine / n * W + versine * WW, left @ v)


def rigid(R: ArrayLike, p: ArrayLike) -> Array:
    """[[R, p], [0, 1]] (4, 4) of a rotation (3, 3) and a translation (3,)."""
    T = np.array(sympy.eye(4))
    T[:3, :3], T[:3, 3] = R, p
    return T


def adjoint(T_a_b: Array) -> Array:
    """Ad(T) = [[R, [p] R], [0, R]] (6, 6): maps a body's twist (v, w) at b's origin, in b, to a."""
    R, p = T_a_b[:3, :3], T_a_b[:3, 3]
    return np.block([[R, skew(p) @ R], [0 * R, R]])


class ScrewChain:
    """What the product of exponentials needs of an arm (document 002, sections 1.1 and 1.2), as expressions.

    placements: n of (4, 4), T_{i-1}_{i} at zero position, each joint's axis along z of frame i.
    prismatic: n booleans, whether the joint slides.
    coms: (n, 3), m, each link's centre of mass in its joint frame.
    T_joint_flange, T_flange_ee: (4, 4), the flange in the last joint frame, the end effector in the flange.
    twists: an attribute, (n, 6), unit twists xi_i(0) of the joints at zero position, about the base origin, in base
        axes, linear part first: (r x w, w) of a joint that turns, (z, 0) of one that slides.
    T_base_joint: an attribute, (n, 4, 4), T_i_0(0), the joint frames at zero position.
    Raises ArgumentError: a shape is wrong, or an entry is neither a finite number nor a SymPy expression.
    """

    def __init__(
        self,
        placements: Sequence[ArrayLike],
        prismatic: Sequence[bool],
        coms: ArrayLike,
        T_joint_flange: ArrayLike,
        T_flange_ee: ArrayLike,
    ) -> None:
        T, frames, twists = np.array(sympy.eye(4)), [], []
        for step, sliding in zip(placements, prismatic, strict=True):
            # R_0_i = R_0_1 R_1_2 .. R_{i-1}_i: document 002 multiplies in reverse, which is right only where the
            # fixed rotations commute, as the Panda's do (docs/sources.md).
            T = T @ expressions(step, (4, 4), "placements")
            z, r = T[:3, 2], T[:3, 3]
            frames.append(T)
            twists.append(np.concatenate((z, 0 * z) if sliding else (np.cross(r, z), z)))
        self.twists: Array = np.array(twists)
        self.T_base_joint: Array = np.array(frames)
        self.coms = expressions(coms, (len(twists), 3), "coms")
        self.T_joint_flange = expressions(T_joint_flange, (4, 4), "T_joint_flange")
        self.T_flange_ee = expressions(T_flange_ee, (4, 4), "T_flange_ee")

    def joint_poses(self, q: ArrayLike) -> Array:
        """T_base_joint_i of all joints: (n, 4, 4), translation in m.

        Reference: document 002, section 1.2, T_i_0.
        """
        return np.array([motion @ T for motion, T in zip(self._screw_motions(q), self.T_base_joint, strict=True)])

    def pose(self, q: ArrayLike, frame: str = "flange") -> Array:
        """T_base_frame (4, 4) of base, joint1 .. jointn, flange or ee.

        Reference: document 002, section 1.2, T_i_0; T_8_0 is the flange.
        """
        joint, T_joint_frame = self._placed(frame)
        return T_joint_frame if joint == 0 else self.joint_poses(q)[joint - 1] @ T_joint_frame

    def space_jacobian(self, q: ArrayLike) -> Array:
        """J_s (6, n): column i is the unit twist of joint i at q, about the base origin, in base axes.

        xi_i(q) = Ad(e^(xi_1 q_1) .. e^(xi_{i-1} q_{i-1})) xi_i(0). With V_s = J_s dq, T' T^-1 = V_s^ for a frame
        behind all joints.

        Reference: document 002, section 1.2, xi_i.
        """
        before = [np.array(sympy.eye(4)), *self._screw_motions(q)]
        return np.array([adjoint(T) @ twist for T, twist in zip(before[:-1], self.twists, strict=True)]).T

    def jacobian(self, q: ArrayLike, frame: str = "flange") -> Array:
        """J_i (6, n): (v, w) = J dq, the velocity of the frame's origin and the angular velocity, in base axes.

        Document 002 calls (w, v) SpatialVelocity_i. Its v is not the linear part of the spatial twist
        `space_jacobian` dq, which is v - w x r.

        J = Ad^-1(r) J_s moves the twists from the base origin to r, the frame's; joints beyond it have zero columns.

        Reference: document 002, section 1.3, Jacobian_i (there angular rows first).
        """
        return self._jacobian_at(self.pose(q, frame)[:3, 3], self._placed(frame)[0], q)

    def com_jacobian(self, q: ArrayLike, link: int) -> Array:
        """J_mi (6, n) of the centre of mass of link 1..n: J_mi = Ad^-1(T_CoM) J_i.

        Reference: document 002, section 1.3, last equation.
        """
        if not isinstance(link, int | np.integer) or not 1 <= link <= len(self.twists):
            raise ArgumentError(f"link: expected an integer from 1 to {len(self.twists)}, got {link!r}")
        return self._jacobian_at((self.joint_poses(q)[link - 1] @ [*self.coms[link - 1], 1])[:3], link, q)

    def _jacobian_at(self, r: Array, joint: int, q: ArrayLike) -> Array:
        """Ad^-1(r) J_s, the velocity of a point at r in base; joints beyond `joint`, which carries it, do not count."""
        J = self.space_jacobian(q)
        J[:3] -= skew(r) @ J[3:]
        J[:, joint:] = 0 * J[:, joint:]
        return J

    def _screw_motions(self, q: ArrayLike) -> list[Array]:
        """e^(xi_1 q_1) .. e^(xi_i q_i) for i = 1..n."""
        positions = expressions(q, (len(self.twists),), "q")
        return list(accumulate((exp_twist(xi, qi) for xi, qi in zip(self.twists, positions, strict=True)), matmul))

    def _placed(self, frame: str) -> tuple[int, Array]:
        """The joint (1..n; 0 is base) that carries `frame`, and T_joint_frame."""
        n, one = len(self.twists), np.array(sympy.eye(4))
        placed = {"base": (0, one)} | {f"joint{i}": (i, one) for i in range(1, n + 1)}
        placed |= {"flange": (n, self.T_joint_flange), "ee": (n, self.T_joint_flange @ self.T_flange_ee)}
        if not isinstance(frame, str) or frame not in placed:
            raise ArgumentError(f"frame: expected one of {', '.join(placed)}, got {frame!r}")
        return placed[frame]


def exact_chain(robot: RobotDescription) -> ScrewChain:
    """The screws of a robot with exact numbers, for expressions of symbols q.

    An entry of a fixed rotation that is the sine of a multiple of 30 or 45 degrees up to rounding becomes exactly
    that (6e-17 becomes 0), so that terms cancel. Any other number becomes the fraction that its decimals say, where
    they are few (0.333), and stays a number with sixteen digits where they are not.

    Raises ArgumentError: `robot` is not a robot.
    """
    require_robot(robot)
    *placements, flange, ee = (
        rigid([[_sine(entry) for entry in row] for row in T[:3, :3]], [_number(p) for p in T[:3, 3]])
        for T in (*robot.placements, robot.T_joint_flange, robot.T_flange_ee)
    )
    return ScrewChain(placements, robot.prismatic, [[_number(c) for c in link.com] for link in robot.links], flange, ee)


def _sine(value: float) -> Any:
    """The sine of a multiple of 30 or 45 degrees that `value` is within 1e-12, +-sqrt(k) / 2, else a number."""
    for sine in (sympy.sqrt(k) / 2 for k in range(5)):
        if abs(abs(value) - float(sine)) < 1e-12:
            return sine if value > 0 else -sine
    return _number(value)


def _number(value: float) -> Any:
    """The fraction that the decimals of `value` say, if they are few; 0 below 1e-15, which is rounding (m)."""
    written = repr(float(value))
    if abs(value) < 1e-15:
        return sympy.Integer(0)
    # A product of fractions with sixteen digits each is no more exact than they are, but grows without bound.
    return sympy.Rational(written) if len(written) < 15 else sympy.Float(float(value))
