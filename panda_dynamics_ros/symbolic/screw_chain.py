# SPDX-License-Identifier: Apache-2.0
"""A serial arm as screws: its unit twists and frames at zero position, as numbers or SymPy expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.symbolic.expressions import Array, numbers_or_expressions


@dataclass(frozen=True, eq=False)
class ScrewChain:
    """What the product of exponentials needs of an arm (document 002, sections 1.1 and 1.2).

    Attributes
    ----------
    twists: (n, 6), unit twists xi_i(0) of the joints at zero position, about the base origin, in base axes,
        linear part first: (r x w, w) of a joint that turns, (z, 0) of one that slides.
    T_base_joint: (n, 4, 4), T_i_0(0), the joint frames at zero position.
    T_joint_flange, T_flange_ee: (4, 4), the flange in the last joint frame, the end effector in the flange.
    coms: (n, 3), m, each link's centre of mass in its joint frame.

    Raises
    ------
    ArgumentError: a shape is wrong, or an entry is neither a finite number nor a SymPy expression.
    """

    twists: Array
    T_base_joint: Array
    T_joint_flange: Array
    T_flange_ee: Array
    coms: Array

    def __post_init__(self) -> None:
        n = max(len(np.atleast_1d(np.asarray(self.twists))), 1)
        shapes = {
            "twists": (n, 6), "T_base_joint": (n, 4, 4), "T_joint_flange": (4, 4), "T_flange_ee": (4, 4), "coms": (n, 3)
        }  # fmt: skip
        for field in fields(self):
            array = numbers_or_expressions(getattr(self, field.name), (), field.name).copy()
            if array.shape != shapes[field.name]:
                raise ArgumentError(f"{field.name}: expected shape {shapes[field.name]}, got {array.shape}")
            array.setflags(write=False)
            object.__setattr__(self, field.name, array)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.twists)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames: base, joint1 .. jointn, flange, ee."""
        return ("base", *(f"joint{i + 1}" for i in range(self.n)), "flange", "ee")

    @classmethod
    def of(cls, arm: RobotDescription | ScrewChain) -> ScrewChain:
        """The screws of a robot; a chain is returned as it is.

        Raises
        ------
        ArgumentError: `arm` is neither.
        """
        if isinstance(arm, ScrewChain):
            return arm
        if not isinstance(arm, RobotDescription):
            raise ArgumentError(f"arm: expected a robot or a ScrewChain, got {type(arm).__name__}")
        coms = np.array([link.com for link in arm.links])
        return cls.from_placements(arm.placements, arm.prismatic, coms, arm.T_joint_flange, arm.T_flange_ee)

    @classmethod
    def from_placements(
        cls,
        placements: ArrayLike,
        prismatic: Sequence[bool],
        coms: ArrayLike,
        T_joint_flange: ArrayLike | None = None,
        T_flange_ee: ArrayLike | None = None,
    ) -> ScrewChain:
        """The screws of joint frames placed one after another.

        Parameters
        ----------
        placements: (n, 4, 4), T_{i-1}_{i} at zero position, the joint's axis along z of frame i.
        prismatic: n booleans, whether the joint slides.
        coms: (n, 3), m.
        T_joint_flange, T_flange_ee: (4, 4), identity where left out.

        Raises
        ------
        ArgumentError: a shape is wrong, or an entry is neither a finite number nor a SymPy expression.
        """
        steps = numbers_or_expressions(placements, (4, 4), "placements")
        if steps.ndim != 3 or len(steps) != len(prismatic):
            raise ArgumentError(
                f"placements: expected shape ({len(prismatic)}, 4, 4), one for each joint, got {steps.shape}"
            )
        T = np.eye(4, dtype=int)
        frames, twists = [], []
        for step, sliding in zip(steps, prismatic, strict=True):
            # R_0_i = R_0_1 R_1_2 .. R_{i-1}_i: document 002 multiplies in reverse, which is right only where the
            # fixed rotations commute, as the Panda's do (erratum 5).
            T = T @ step
            z, r = T[:3, 2], T[:3, 3]
            frames.append(T)
            twists.append(np.concatenate((z, 0 * z) if sliding else (np.cross(r, z), z)))
        identity = np.eye(4, dtype=int)
        return cls(
            twists=np.array(twists),
            T_base_joint=np.array(frames),
            T_joint_flange=identity if T_joint_flange is None else np.asarray(T_joint_flange),
            T_flange_ee=identity if T_flange_ee is None else np.asarray(T_flange_ee),
            coms=np.asarray(coms),
        )
