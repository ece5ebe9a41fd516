# SPDX-License-Identifier: Apache-2.0
"""From the effort in an arm's joint states to torques on the links, gravity included."""

from typing import Any

from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.batch import finite, is_one_state
from panda_dynamics_ros.dynamics.newton_euler import gravity_torques
from panda_dynamics_ros.robot.description import CURRENT, MEASURED, WITHOUT_GRAVITY, RobotDescription


def link_side_torques(robot: RobotDescription, q: ArrayLike, effort: ArrayLike) -> FloatArray:
    """Torques (..., n), N m, with gravity in them, of efforts (..., n) of the kind `robot.effort` at q (..., n), rad.

    Currents are multiplied by the motor constants; to torques without gravity, those of the arm's model are added.
    What accelerates the rotors stays in them: momenta of the arm contain it (`RobotDescription.felt_rotor_inertia`).
    """
    q, effort = checks.trailing(q, (robot.n,), "q"), checks.trailing(effort, (robot.n,), "effort")
    if robot.effort == CURRENT:
        return robot.motor_constants * effort
    if robot.effort == WITHOUT_GRAVITY:
        return effort + gravity_torques(robot, q)
    return effort


def link_side_sample(
    robot: RobotDescription, q: ArrayLike, dq: ArrayLike, effort: ArrayLike, *count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, dq and tau (n,) of one sample, or (N, n) where `count` is N, checked, with tau from the effort.

    Raises ArgumentError: an argument is not finite, or of another shape.
    """
    sample: Any = q, dq, effort
    if count or not (is_one_state(robot, sample) and all(map(finite, sample))):  # the short way for calls at 1 kHz
        named = {"q": q, "dq": dq, "tau": effort}
        sample = tuple(checks.for_kernel(checks.exactly(x, (*count, robot.n), name)) for name, x in named.items())
    return sample if robot.effort == MEASURED else (*sample[:2], link_side_torques(robot, sample[0], sample[2]))
