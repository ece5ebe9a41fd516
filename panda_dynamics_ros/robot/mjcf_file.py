# SPDX-License-Identifier: Apache-2.0
"""Serial arms from MJCF files, read by MuJoCo: its bodies and joints become the links and joints of a URDF tree.

A joint's `damping` is viscous friction, its `frictionloss` Coulomb friction, its `armature` rotor inertia. Effort
limits are the force ranges of joints and of actuators that drive them; MJCF states no velocity limits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import MissingDependencyError, RobotDescriptionError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.inertial import InertialParameters
from panda_dynamics_ros.robot.urdf_file import UNSTATED, read_chain
from panda_dynamics_ros.robot.urdf_tree import FLANGES
from panda_dynamics_ros.robot.urdf_xml import UrdfJoint, UrdfTree
from panda_dynamics_ros.robot.visual import Visual

Robot = TypeVar("Robot", bound=RobotDescription)

LAST_SHOWN = 2  # group of geoms
KINDS = ("floating", "floating", "prismatic", "revolute")
"""Of MuJoCo's joint types free, ball, slide, hinge; a ball is no joint of a serial arm either."""


def read_mjcf(
    path: Path, model: type[Robot], base: str | None = None, tip: str | None = None, *, strict: bool = False
) -> Robot:
    """The chain of an MJCF file from body `base` to body `tip`, as an instance of `model`; see `read_urdf`.

    Parameters
    ----------
    base: by default the world.
    tip: by default the body, or site named like a flange, that is most joints away, or the flange that carries a hand.

    Raises
    ------
    MissingDependencyError: MuJoCo is not installed.
    RobotDescriptionError, ArgumentError: as of `read_urdf`; MuJoCo cannot compile the file, for want of meshes, say.
    """
    return read_chain(path, parse_mjcf, model, base, tip, strict)


def parse_mjcf(path: Path) -> UrdfTree:
    """The bodies and joints of a file; frames of bodies lie in the joints that move them.

    Sites that are named like a flange (MuJoCo Menagerie's `attachment_site`) become massless links.

    Raises
    ------
    MissingDependencyError: MuJoCo is not installed.
    RobotDescriptionError: MuJoCo cannot compile the file.
    """
    try:
        import mujoco
    except ImportError as error:
        raise MissingDependencyError(f"an MJCF file needs MuJoCo (pip install mujoco): {error}") from error
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
        model.names.decode()  # mujoco takes names of any bytes, and fails where one is read
    except ValueError as error:
        raise RobotDescriptionError(
            f"expected MJCF that MuJoCo compiles, got {' '.join(str(error).split())}"
        ) from error
    links: dict[str, InertialParameters | None] = {_name(model, 0): None}
    joints: list[UrdfJoint] = []
    T_frame = {0: np.eye(4)}  # of a body's link, in the body's own frame: MuJoCo's joints may be off the body's origin
    for index in range(1, model.nbody):
        body, parent = model.body(index), int(model.body_parentid[index])
        T = np.linalg.inv(T_frame[parent]) @ _transform(mujoco, body.pos, body.quat)
        carrier, T_frame[index] = _name(model, parent), np.eye(4)
        first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
        for number in range(first, first + count):
            last = number == first + count - 1
            link = _name(model, index) if last else f"{_name(model, index)}:{model.joint(number).name}"
            T_body_joint = np.eye(4)
            T_body_joint[:3, 3] = model.jnt_pos[number]
            T = T @ np.linalg.inv(T_frame[index]) @ T_body_joint
            joints.append(_joint(mujoco, model, number, carrier, link, T))
            links[link], carrier, T, T_frame[index] = None, link, np.eye(4), T_body_joint
        if count == 0:
            joints.append(_fixed(_name(model, index), carrier, T))
        inertial = InertialParameters(
            float(body.mass[0]),
            body.ipos,
            (R := _transform(mujoco, body.ipos, body.iquat)[:3, :3]) @ np.diag(body.inertia) @ R.T,
        )
        links[_name(model, index)] = inertial.transformed(np.linalg.inv(T_frame[index]))
    for index in range(model.nsite):
        name, body = str(model.site(index).name), int(model.site_bodyid[index])
        if name.endswith(FLANGES) and name not in links:
            T = np.linalg.inv(T_frame[body]) @ _transform(mujoco, model.site_pos[index], model.site_quat[index])
            joints.append(_fixed(name, _name(model, body), T))
            links[name] = None
    x, y, z = model.opt.gravity.tolist()
    return UrdfTree(path.stem, links, tuple(joints), (x, y, z), _visuals(mujoco, model, T_frame))


def _visuals(mujoco: Any, model: Any, T_frame: dict[int, FloatArray]) -> tuple[Visual, ...]:
    """The meshes that MuJoCo's viewer shows, in the links' frames; those of higher groups are for collisions."""
    found = []
    for geom in range(model.ngeom):
        if model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH or model.geom_group[geom] > LAST_SHOWN:
            continue
        mesh, body, material = int(model.geom_dataid[geom]), int(model.geom_bodyid[geom]), int(model.geom_matid[geom])
        vertices = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
        faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
        T = np.linalg.inv(T_frame[body]) @ _transform(mujoco, model.geom_pos[geom], model.geom_quat[geom])
        red, green, blue, opacity = (model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]).tolist()
        triangles = np.array(model.mesh_vert[vertices], dtype=float), np.array(model.mesh_face[faces], dtype=np.int64)
        name = str(model.mesh(mesh).name)
        colour = (red, green, blue, opacity)
        found.append(Visual(_name(model, body), T, name, np.ones(3), colour, None, triangles))
    return tuple(found)


def _name(model: Any, index: int) -> str:
    return str(model.body(index).name or f"body{index}")


def _transform(mujoco: Any, position: FloatArray, quaternion: FloatArray) -> FloatArray:
    rotation, T = np.empty(9), np.eye(4)
    mujoco.mju_quat2Mat(rotation, np.ascontiguousarray(quaternion))
    T[:3, :3], T[:3, 3] = rotation.reshape(3, 3), position
    return T


def _fixed(link: str, parent: str, T: FloatArray) -> UrdfJoint:
    return UrdfJoint(f"{link}_fixed", "fixed", parent, link, T, np.array([0.0, 0.0, 1.0]), None, {}, None)


def _joint(mujoco: Any, model: Any, number: int, parent: str, link: str, T: FloatArray) -> UrdfJoint:
    """Joint `number`, with its zero where MuJoCo has it: the file's posture is at `ref`."""
    axis, kind = np.array(model.jnt_axis[number]), KINDS[model.jnt_type[number]]
    limited = bool(model.jnt_limited[number])
    reference = float(model.qpos0[model.jnt_qposadr[number]]) if kind != "floating" else 0.0
    T_zero = np.eye(4)
    if kind == "prismatic":
        T_zero[:3, 3] = -reference * axis
    elif kind == "revolute":
        quaternion = np.empty(4)
        mujoco.mju_axisAngle2Quat(quaternion, axis, -reference)
        T_zero = _transform(mujoco, np.zeros(3), quaternion)
        kind = "revolute" if limited else "continuous"
    lower, upper = model.jnt_range[number] if limited else (UNSTATED["lower"], UNSTATED["upper"])
    limit = {"lower": lower, "upper": upper, "velocity": UNSTATED["velocity"], "effort": _effort(mujoco, model, number)}
    dof = int(model.jnt_dofadr[number])
    dynamics = {
        "damping": np.ravel(model.dof_damping)[dof],
        "friction": np.ravel(model.dof_frictionloss)[dof],
        "armature": np.ravel(model.dof_armature)[dof],
    }
    return UrdfJoint(
        name=str(model.joint(number).name or f"joint{number}"),
        kind=kind,
        parent=parent,
        child=link,
        T_parent_child=T @ T_zero,
        axis=axis,
        limit=_text(limit),
        dynamics=_text(dynamics),
        mimics=None,
    )


def _effort(mujoco: Any, model: Any, number: int) -> float:
    """The largest torque or force at the joint, of its own range and of the actuators that drive it."""
    found = []
    if model.jnt_actfrclimited[number]:
        found.append(float(np.abs(model.jnt_actfrcrange[number]).max()))
    for actuator in range(model.nu):
        drives = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
        if drives and model.actuator_trnid[actuator, 0] == number and model.actuator_forcelimited[actuator]:
            gear = abs(float(model.actuator_gear[actuator, 0]))
            found.append(gear * float(np.abs(model.actuator_forcerange[actuator]).max()))
    return min(found, default=UNSTATED["effort"])


def _text(values: dict[str, float]) -> dict[str, str]:
    return {key: repr(float(value)) for key, value in values.items()}
