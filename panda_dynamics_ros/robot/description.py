# SPDX-License-Identifier: Apache-2.0
"""Description of an arm: a serial chain of joints and links, with friction and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.pose import rotation_from_rpy
from panda_dynamics_ros.robot.inertial import InertialParameters
from panda_dynamics_ros.robot.joints import Friction, JointLimits, ResidualModel
from panda_dynamics_ros.robot.residual_map import ResidualMap

Self = TypeVar("Self", bound="RobotDescription")

GRAVITY = (0.0, 0.0, -9.81)  # m/s^2, in base axes, where a file states none
LARGEST = 1e6  # of each number of an arm, in SI units; products of much larger ones would not be finite
# Columns of a row of `RobotDescription.table`, as the compiled kernels read it.
ROTATION, TRANSLATION, PRISMATIC, INERTIAL, COLUMNS = 0, 9, 12, 13, 23
MEASURED, WITHOUT_GRAVITY, ACTUATOR, CURRENT = EFFORT_KINDS = ("measured", "without_gravity", "actuator", "current")
"""What the effort in an arm's joint states is. measured: joint torques on the links, N m, gravity included (Franka's
tau_J). without_gravity: torques from which the driver has subtracted gravity, N m. actuator: torques of the motors at
the joints, N m, which accelerate the rotors, too (simulators, torque commands). current: motor currents, A."""


@dataclass(frozen=True, eq=False)
class RobotDescription(checks.Frozen):
    """A serial arm as data. Joint frame i is fixed in link i, with the joint's axis along its z.

    name: short name of the parameter set.
    joint_names: n names, from base to tip.
    placements: (n, 4, 4), T_{i-1}_{i} at zero joint position; `base` is frame 0.
    prismatic: (n,), whether the joint slides along z instead of turning about it.
    links: n InertialParameters, each in its joint frame.
    T_joint_flange: (4, 4), the flange in the last joint's frame.
    T_flange_ee: (4, 4), the end effector in the flange frame (Franka's F_T_EE).
    friction, limits, residual: see their classes.
    gravity: (3,), m/s^2, in base axes.
    rotor_inertia: (n,), kg m^2, of the rotors behind the gears, felt at the joints; none by default. Link-side torques,
        and with them the functions of `dynamics`, do not contain it; an actuator's torque does.
    effort: what the effort in the arm's joint states is, one of `EFFORT_KINDS`.
    motor_constants: (n,), N m/A, joint torque per motor current, for effort "current"; else empty.
    base_link, flange_link: names of the links whose frames are `base` and `flange`; empty if there are none.
    residual_map: what the model leaves unexplained by posture and motion, where it has been learnt (`learn_residual`).
        Estimators use it; the functions of `dynamics` are those of the model alone.
    Raises RobotDescriptionError: names are missing or repeated, or a list does not have one entry for each joint.
    Raises ArgumentError: an array has the wrong shape or is not finite, or a placement is not a rigid transform.
    """

    name: str
    joint_names: tuple[str, ...]
    placements: FloatArray
    prismatic: tuple[bool, ...]
    links: tuple[InertialParameters, ...]
    T_joint_flange: FloatArray
    T_flange_ee: FloatArray
    friction: Friction
    limits: JointLimits
    residual: ResidualModel
    gravity: FloatArray
    rotor_inertia: FloatArray = field(default_factory=lambda: np.zeros(0))
    effort: str = MEASURED
    motor_constants: FloatArray = field(default_factory=lambda: np.zeros(0))
    base_link: str = ""
    flange_link: str = ""
    residual_map: ResidualMap | None = None

    def __post_init__(self) -> None:
        for name in ("joint_names", "links", "prismatic"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for text in (self.name, *self.joint_names, self.base_link, self.flange_link):
            if not text.isprintable():  # a terminal would obey it
                raise RobotDescriptionError(f"names: expected printable characters, got {text!a:.60}")
        n = len(self.joint_names)
        if n == 0 or len(set(self.joint_names)) != n:
            raise RobotDescriptionError(f"joint_names: expected distinct names, got {list(self.joint_names)}")
        per_joint: dict[str, Any] = {"links": self.links, "prismatic": self.prismatic}
        per_joint |= {"friction": self.friction.viscous, "limits": self.limits.lower, "residual": self.residual.std}
        if self.residual_map is not None:
            per_joint["residual_map"] = self.residual_map.sigma
        for name, values in per_joint.items():
            if len(values) != n:
                raise RobotDescriptionError(f"{name}: expected {n} entries, one for each joint, got {len(values)}")
        if not np.size(self.rotor_inertia):
            object.__setattr__(self, "rotor_inertia", np.zeros(n))
        placed = {"placements": (n, 4, 4), "T_joint_flange": (4, 4), "T_flange_ee": (4, 4)}
        checks.freeze(self, {**placed, "rotor_inertia": (n,), "gravity": (3,)})
        for name in placed:
            checks.rigid_transform(getattr(self, name), name)
        if (self.rotor_inertia < 0.0).any():
            raise ArgumentError(f"rotor_inertia: expected no negative number, got {self.rotor_inertia.tolist()}")
        if self.effort not in EFFORT_KINDS:
            raise ArgumentError(f"effort: expected one of {', '.join(EFFORT_KINDS)}, got {self.effort!r:.60}")
        given = checks.read_only(checks.real_array(self.motor_constants, "motor_constants"))
        object.__setattr__(self, "motor_constants", given)
        if given.shape != ((n,) if self.effort == CURRENT else (0,)) or not given.all():
            wanted = f"{n} numbers other than zero" if self.effort == CURRENT else "none"
            raise ArgumentError(f"motor_constants: expected {wanted} for effort {self.effort}, got {given.tolist()}")
        if not (largest := np.abs(self.table).max()) <= LARGEST:
            raise RobotDescriptionError(f"expected numbers of at most {LARGEST:g} in SI units, got {largest:g}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.n} joints, effort {self.effort})"

    @cached_property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @cached_property
    def inertial_vector(self) -> FloatArray:
        """Inertial vectors of all links, (10 n,), read-only: the pi of De Luca's lecture slides (document 003)."""
        return checks.read_only(np.concatenate([link.vector for link in self.links]))

    @cached_property
    def table(self) -> FloatArray:
        """Everything the compiled kernels need, in one (n + 3, COLUMNS) array.

        Rows 0..n-1: placement, joint type and inertial vector of link i+1; row n: flange in the last
        joint frame; row n+1: end effector in the flange frame; row n+2: gravity in the translation columns.
        """
        table = np.zeros((self.n + 3, COLUMNS))
        for row, T in enumerate([*self.placements, self.T_joint_flange, self.T_flange_ee]):
            table[row, ROTATION:TRANSLATION] = T[:3, :3].ravel()
            table[row, TRANSLATION:PRISMATIC] = T[:3, 3]
        table[: self.n, PRISMATIC] = self.prismatic
        table[: self.n, INERTIAL:] = self.inertial_vector.reshape(self.n, 10)
        table[self.n + 2, TRANSLATION:PRISMATIC] = self.gravity
        return checks.read_only(table)

    @cached_property
    def frames(self) -> Mapping[str, int]:
        """The frames of `pose` and `jacobian`, each with the row of `table` whose placement ends in it, -1 for base."""
        names = ("base", *(f"joint{i + 1}" for i in range(self.n)), "flange", "ee")
        return {name: row for row, name in enumerate(names, start=-1)}

    def frame_index(self, frame: str) -> int:
        """The row of a frame; an ArgumentError lists those there are."""
        try:
            return self.frames[frame]
        except (KeyError, TypeError):  # TypeError: it cannot be a key
            raise ArgumentError(f"frame: expected one of {', '.join(self.frames)}, got {frame!r}") from None

    def last_joint_frame(self, frame: str) -> FloatArray:
        """T_joint_frame (4, 4) of a frame that is fixed in the last link: flange, ee or the last joint."""
        if not isinstance(frame, str) or frame not in ("flange", "ee", f"joint{self.n}"):
            raise ArgumentError(f"frame: expected one in the last link (joint{self.n}, flange, ee), got {frame!r}")
        if frame == f"joint{self.n}":
            return np.eye(4)
        return self.T_joint_flange if frame == "flange" else self.T_joint_flange @ self.T_flange_ee

    def with_payload(self: Self, payload: InertialParameters, frame: str = "flange") -> Self:
        """The arm with `payload`, given in `frame`, joined to its last link (De Luca, document 003, slide 20).

        Raises ArgumentError: `payload` is not InertialParameters, or `frame` is not fixed in the last link.
        """
        if not isinstance(payload, InertialParameters):
            raise ArgumentError(f"payload: expected InertialParameters, got {type(payload).__name__}")
        last = self.links[-1] + payload.transformed(self.last_joint_frame(frame))
        return replace(self, links=(*self.links[:-1], last))

    @property
    def horizontal(self) -> FloatArray:
        """(2, 3): horizontal directions near two axes of the base. If the base is tilted, gravity leans to them."""
        down = self.gravity / max(float(np.linalg.norm(self.gravity)), 1e-9)
        level = np.delete(np.eye(3) - np.outer(down, down), int(np.argmax(np.abs(down))), axis=0)
        return np.asarray(level / np.linalg.norm(level, axis=1, keepdims=True))

    def mounted(self: Self, rpy: ArrayLike = (0.0, 0.0, 0.0), gravity: ArrayLike | None = None) -> Self:
        """The arm with its base turned, as on a wall or a ceiling, or under another gravity.

        rpy: (3,), rad, of the base in the frame in which `gravity` is given, about its fixed axes x, y, z as in URDF;
            (pi, 0, 0) hangs from a ceiling.
        gravity: (3,), m/s^2; by default the arm's own.
        Raises ArgumentError: `rpy` or `gravity` is not a finite (3,) array, or `rpy` is in degrees.
        """
        R = rotation_from_rpy(checks.radians(checks.exactly(rpy, (3,), "mounting"), "mounting"))
        changed = R.T @ (self.gravity if gravity is None else checks.exactly(gravity, (3,), "gravity"))
        # What was learnt of the residual holds for the direction of gravity in which it was learnt.
        residual_map = self.residual_map if np.array_equal(changed, self.gravity) else None
        return replace(self, gravity=changed, residual_map=residual_map)

    @property
    def felt_rotor_inertia(self) -> FloatArray:
        """Rotor inertia (n,), kg m^2, that the arm's efforts contain: none where they are measured on the links."""
        return self.rotor_inertia if self.effort != MEASURED else checks.read_only(np.zeros(self.n))

    def without_friction(self: Self) -> Self:
        """The arm with no friction, as simulators have it."""
        return replace(self, friction=Friction.of(self.n), residual_map=None)

    def with_end_effector(self: Self, T_flange_ee: ArrayLike) -> Self:
        """The arm with its `ee` frame at `T_flange_ee` (4, 4); the inertia is unchanged."""
        return replace(self, T_flange_ee=np.asarray(T_flange_ee))


def require_robot(robot: Any) -> Any:
    """The robot itself. Raises ArgumentError: it is something else, such as the name of a robot."""
    if not isinstance(robot, RobotDescription):
        raise ArgumentError(f"robot: expected a robot, got {type(robot).__name__}; load_robot gives one by its name")
    return robot
