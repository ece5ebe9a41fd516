# SPDX-License-Identifier: Apache-2.0
"""A MuJoCo model of a robot description, its inertias written into the compiled model.

MuJoCo's compiler refuses a body whose principal moments break the triangle inequality (link 2 of
`panda_ledezma`, by rounding), and `balanceinertia` would replace all three moments by their mean. The
engine itself needs neither: it wants mass, centre, principal moments and their axes. So every body is
compiled with a placeholder and gets its own, diagonalised here, by `write_body`; nothing is rounded, and a
payload changes at run time the same way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.untrusted import import_elsewhere

PAYLOAD_BODY = "payload"


def engine() -> Any:
    """The `mujoco` module.

    Raises
    ------
    MissingDependencyError: it is not installed.
    """
    try:
        return import_elsewhere("mujoco")
    except ImportError as error:
        raise MissingDependencyError(f"the simulated arm needs MuJoCo (pip install mujoco): {error}") from error


def mujoco_model(
    robot: RobotDescription,
    *,
    payload: InertialParameters | None = None,
    armature: ArrayLike = 0.0,
    damping: ArrayLike = 0.0,
    timestep: float = 1e-3,
) -> Any:
    """The robot as a `mujoco.MjModel`, its inertias exact to rounding.

    Bodies `link1`.. (1..n), joints with the robot's names, site `flange`, body `payload`; world is base. There are no
    shapes, so that nothing collides; joint limits are not constraints: the controller keeps to them.

    Parameters
    ----------
    payload: what the flange carries, in flange axes; nothing by default.
    armature: number or (n,), kg m^2, rotor inertia behind the gear.
    damping: number or (n,), N m s/rad, viscous friction behind the gear.
    timestep: s.

    Raises
    ------
    ArgumentError: an inertia is not positive definite.
    MissingDependencyError: MuJoCo is not installed.
    """
    mujoco = engine()
    spec = mujoco.MjSpec()
    spec.modelname, spec.option.timestep, spec.option.gravity = robot.name, timestep, robot.gravity
    # Damping explicit: with the implicit one, qacc would not be the acceleration of the step.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    body, kinds = spec.worldbody, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    placeholder = {"mass": 1.0, "inertia": (0.01, 0.02, 0.025), "explicitinertial": True}
    for i, (name, T) in enumerate(zip(robot.joint_names, robot.placements, strict=True)):
        body = body.add_body(name=f"link{i + 1}", **_placement(T), **placeholder)
        body.add_joint(name=name, type=kinds[robot.prismatic[i]], axis=(0.0, 0.0, 1.0))
    flange = _placement(robot.T_joint_flange)
    body.add_site(name="flange", **flange)
    body.add_body(name=PAYLOAD_BODY, **flange, **placeholder)
    model = spec.compile()
    model.dof_armature[:], model.dof_damping[:] = armature, damping
    for i, link in enumerate(robot.links, start=1):
        write_body(model, f"link{i}", link)
    write_body(model, PAYLOAD_BODY, payload or InertialParameters.zero())
    refresh_constants(model)
    return model


def write_body(model: Any, name: str, body: InertialParameters) -> None:
    """Give the MuJoCo body `name` these inertial parameters (in its own frame). Call `refresh_constants` after.

    I = R diag(moments) R^T with a proper rotation R, which MuJoCo keeps as a quaternion.

    Raises
    ------
    ArgumentError: the mass is negative, or the inertia has a negative principal moment.
    """
    moments, R = np.linalg.eigh(body.inertia)
    if body.mass < 0.0 or moments[0] < 0.0:
        raise ArgumentError(
            f"{name}: expected mass and principal moments >= 0, got {body.mass:g} kg, {moments.tolist()} kg m^2"
        )
    R[:, 2] *= np.sign(np.linalg.det(R))
    quaternion = np.empty(4)
    engine().mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    index = model.body(name).id
    model.body_mass[index] = body.mass
    model.body_ipos[index] = body.com
    model.body_iquat[index] = quaternion
    model.body_inertia[index] = moments
    model.body_sameframe[index] = 0  # the inertial frame is its own, never taken for the body's


def refresh_constants(model: Any, scratch: Any = None) -> None:
    """Recompute what MuJoCo derives from masses. `scratch` is an MjData that this overwrites; made if absent."""
    mujoco = engine()
    mujoco.mj_setConst(model, mujoco.MjData(model) if scratch is None else scratch)


def _placement(T: FloatArray) -> dict[str, FloatArray]:
    """Position, and orientation as a quaternion w, x, y, z, of a rigid transform."""
    quaternion = np.empty(4)
    engine().mju_mat2Quat(quaternion, np.ascontiguousarray(T[:3, :3]).ravel())
    return {"pos": T[:3, 3], "quat": quaternion}
