# SPDX-License-Identifier: Apache-2.0
"""The state of a Franka as Python bindings of libfranka give it: pylibfranka, panda-python, franky, franka-rs.

All have the attributes of libfranka's `RobotState`, but not its types. Poses are 16 numbers, column-major, (4, 4)
arrays or objects with a `matrix`; times are objects with `to_sec()` or seconds; modes are members of an enumeration or
words; errors are objects with a flag for each error or lists of names. No binding is imported here.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.inertial import InertialParameters

ARM_JOINTS = 7


class StateSample(NamedTuple):
    """A sample as `update` of the estimators takes it: stamp in s of the robot's clock; q, dq, tau (7,)."""

    stamp: float
    q: FloatArray
    dq: FloatArray
    tau: FloatArray


@dataclass(frozen=True, eq=False)
class FrankaState:
    """What this package takes from a libfranka RobotState, the binding's object `raw`, when it is asked for.

    Raises ArgumentError: by each property, where the attributes behind it are missing or malformed.
    """

    raw: Any

    @cached_property
    def sample(self) -> StateSample:
        """Time, q, dq and tau_J (link-side, gravity included)."""
        time = _seconds(_attribute(self.raw, "time"))
        return StateSample(time, *(_numbers(self.raw, name, ARM_JOINTS) for name in ("q", "dq", "tau_J")))

    @property
    def external_torques(self) -> FloatArray:
        """(7,), N m: Franka's own estimate, `tau_ext_hat_filtered`."""
        return _numbers(self.raw, "tau_ext_hat_filtered", ARM_JOINTS)

    @property
    def T_base_ee(self) -> FloatArray:
        """(4, 4), `O_T_EE`."""
        return _transform(self.raw, "O_T_EE")

    @property
    def T_flange_ee(self) -> FloatArray:
        """(4, 4), `F_T_EE`."""
        return _transform(self.raw, "F_T_EE")

    @property
    def end_effector(self) -> InertialParameters:
        """The end effector that is set in Desk, in the flange frame (`m_ee`, `F_x_Cee`, `I_ee`)."""
        return _body(self.raw, "m_ee", "F_x_Cee", "I_ee")

    @property
    def load(self) -> InertialParameters:
        """The load that was set by `setLoad`, in the flange frame (`m_load`, `F_x_Cload`, `I_load`)."""
        return _body(self.raw, "m_load", "F_x_Cload", "I_load")

    @property
    def mode(self) -> str:
        """The robot's mode: other, idle, move, guiding, reflex, user_stopped or automatic_error_recovery."""
        mode = _attribute(self.raw, "robot_mode")
        name = str(getattr(mode, "name", mode)).rpartition(".")[2]
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"^k(?=[A-Z])", "", name)).lower()

    @property
    def errors(self) -> tuple[str, ...]:
        """Names of the robot's current errors."""
        errors = _attribute(self.raw, "current_errors")
        if isinstance(errors, list | tuple):
            return tuple(str(name) for name in errors)
        return tuple(name for name in dir(errors) if not name.startswith("_") and getattr(errors, name) is True)


def _attribute(state: Any, name: str) -> Any:
    if not hasattr(state, name):
        raise ArgumentError(f"state: expected a libfranka RobotState, got {type(state).__name__} without {name}")
    return getattr(state, name)


def _numbers(state: Any, name: str, count: int) -> FloatArray:
    """An attribute (count,); it may also be a matrix, as of Eigen."""
    value = checks.real_array(_attribute(state, name), f"state.{name}")
    return checks.exactly(value.reshape(-1), (count,), f"state.{name}")


def _transform(state: Any, name: str) -> FloatArray:
    """A pose; numbers in a row are column by column."""
    given = _attribute(state, name)
    value = checks.real_array(getattr(given, "matrix", given), f"state.{name}")
    return checks.exactly(value.reshape(4, 4, order="F") if value.shape == (16,) else value, (4, 4), f"state.{name}")


def _body(state: Any, mass: str, com: str, inertia: str) -> InertialParameters:
    matrix = _numbers(state, inertia, 9).reshape(3, 3)  # symmetric: either order
    return InertialParameters(checks.number(_attribute(state, mass), f"state.{mass}"), _numbers(state, com, 3), matrix)


def _seconds(time: Any) -> float:
    for name in ("to_sec", "toSec", "total_seconds"):  # the last one of a timedelta
        if hasattr(time, name):
            return float(getattr(time, name)())
    return checks.number(time, "state.time")
