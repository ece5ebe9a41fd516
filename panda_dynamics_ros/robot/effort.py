# SPDX-License-Identifier: Apache-2.0
"""What the effort in an arm's joint states is: drivers publish different things under this name."""

from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

MEASURED = "measured"
CURRENT = "current"
WITHOUT_GRAVITY = "without_gravity"
KINDS = (MEASURED, WITHOUT_GRAVITY, "actuator", CURRENT)
"""measured: joint torques on the links, N m, gravity included (Franka's tau_J). without_gravity: torques from which the
driver has subtracted gravity, N m. actuator: torques of the motors at the joints, N m, which accelerate the rotors, too
(simulators, torque commands). current: motor currents, A."""


def checked_constants(kind: str, constants: ArrayLike, n: int) -> FloatArray:
    """Motor constants (n,) of efforts of a `kind`, other than zero, read-only; (0,) of all kinds but current."""
    if kind not in KINDS:
        raise ArgumentError(f"effort: expected one of {', '.join(KINDS)}, got {kind!r:.60}")
    given = checks.real_array(constants, "motor_constants")
    if kind != CURRENT and given.size:
        raise ArgumentError(f"motor_constants: expected none for effort {kind}, got {given.tolist()}")
    if kind == CURRENT and (given.shape != (n,) or not given.all()):
        raise ArgumentError(
            f"motor_constants: expected {n} numbers other than zero for effort current, N m/A, got {given.tolist()}"
        )
    return checks.read_only(given)
