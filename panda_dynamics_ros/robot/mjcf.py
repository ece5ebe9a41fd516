# SPDX-License-Identifier: Apache-2.0
"""Serial arms from MJCF, compiled by MuJoCo: its bodies and joints become the links and joints of a tree.

A joint's `damping` is viscous friction, its `frictionloss` Coulomb friction, its `armature` rotor inertia. Effort
limits are the force ranges of joints and of actuators that drive them; MJCF states no velocity limits.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import RobotDescriptionError
from panda_dynamics_ros.pose import rigid
from panda_dynamics_ros.robot.inertial import InertialParameters
from panda_dynamics_ros.robot.urdf import FLANGES, UNSTATED, Joint, Tree
from panda_dynamics_ros.untrusted import import_optional, python_command

MEMORY, PATIENCE = 1 << 30, 60.0  # bytes and s that MuJoCo may take to compile a file; a Panda's meshes are 20 MB
FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's types of joints


def parse_mjcf(path: Path) -> Tree:
    """The bodies of a file, each in a frame with its own axes in the (last) joint that moves it, and its joints.

    Sites that are named like a flange (MuJoCo Menagerie's `attachment_site`) become massless links, and so do bodies
    between several joints of one body.

    Raises MissingDependencyError: MuJoCo is not installed.
    Raises RobotDescriptionError: MuJoCo cannot compile the file, for want of meshes, say.
    """
    mujoco = import_optional("mujoco", "mujoco")
    with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as folder:
        model = mujoco.MjModel.from_binary_path(str(_compiled(path, Path(folder))))
    data = mujoco.MjData(model)
    data.qpos[model.jnt_qposadr[model.jnt_type >= SLIDE]] = 0.0  # the posture of the file is at each joint's `ref`
    mujoco.mj_kinematics(model, data)
    names = [str(model.body(index).name or f"body{index}") for index in range(model.nbody)]
    world: dict[str, FloatArray] = {names[0]: np.eye(4)}  # T_world_link at zero
    links: dict[str, InertialParameters | None] = {names[0]: None}
    joints: list[Joint] = []

    def fixed_or_moved(link: str, parent: str, T: FloatArray, **joint: Any) -> None:
        world[link], links[link] = T, InertialParameters.zero()
        joint = joint or {"name": f"{link}_fixed", "kind": "fixed", "axis": np.array([0.0, 0.0, 1.0])}
        joints.append(Joint(parent=parent, child=link, T_parent_child=np.linalg.inv(world[parent]) @ T, **joint))

    for index in range(1, model.nbody):
        R, carrier = data.xmat[index].reshape(3, 3), names[model.body_parentid[index]]
        first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
        for number in range(first, first + count):
            link = names[index] if number == first + count - 1 else f"{names[index]}:{model.joint(number).name}"
            T = rigid(R, data.xanchor[number])
            fixed_or_moved(link, carrier, T, **_joint(mujoco, model, number, T[:3, :3].T @ data.xaxis[number]))
            carrier = link
        if count == 0:
            fixed_or_moved(names[index], carrier, rigid(R, data.xpos[index]))
        body = InertialParameters(float(model.body_mass[index]), np.zeros(3), np.diag(model.body_inertia[index]))
        T_world_body = rigid(data.ximat[index].reshape(3, 3), data.xipos[index])
        links[names[index]] = body.transformed(np.linalg.inv(world[names[index]]) @ T_world_body)
    for index in range(model.nsite):
        name = str(model.site(index).name)
        if name.endswith(FLANGES) and name not in links:
            T = rigid(data.site_xmat[index].reshape(3, 3), data.site_xpos[index])
            fixed_or_moved(name, names[model.site_bodyid[index]], T)
    return Tree(path.stem, links, joints, model.opt.gravity)


def _compiled(path: Path, folder: Path) -> Path:
    """The compiled model as a file in a folder, where MuJoCo logs its warnings, too."""
    target, expected = folder / "model.mjb", "expected MJCF that MuJoCo compiles, got"
    command = python_command(__name__, str(path.absolute()), str(target))
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise RobotDescriptionError(f"{expected} one that takes longer than {PATIENCE:g} s") from error
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-500:]
        raise RobotDescriptionError(f"{expected} {said or f'one that ends MuJoCo by signal {-done.returncode}'}")
    return target


def main() -> None:
    """Compile a file: a few characters of MJCF can take any memory and time, or end the process that reads them."""
    mujoco, (path, target) = import_optional("mujoco", "mujoco"), sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    sys.tracebacklimit = 0  # of an error the caller shows kind and message
    spec = mujoco.MjSpec.from_file(path)
    spec.nuserdata = 0  # which may be of any size, and is nothing to an arm
    model = spec.compile()
    model.names.decode()  # mujoco takes names of any bytes, and fails where one is read
    mujoco.MjData(model)
    mujoco.mj_saveModel(model, target, None)


def _joint(mujoco: Any, model: Any, number: int, axis: FloatArray) -> dict[str, Any]:
    """What a `Joint` has beside its links and its place."""
    kind, dof = int(model.jnt_type[number]), int(model.jnt_dofadr[number])
    limited = bool(model.jnt_limited[number])
    turns = "revolute" if limited else "continuous"
    lower, upper = model.jnt_range[number] if limited else (UNSTATED["lower"], UNSTATED["upper"])
    efforts = [np.abs(model.jnt_actfrcrange[number]).max()] if model.jnt_actfrclimited[number] else []
    for actuator in range(model.nu):
        drives = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
        if drives and model.actuator_trnid[actuator, 0] == number and model.actuator_forcelimited[actuator]:
            efforts.append(np.abs(model.actuator_gear[actuator, 0] * model.actuator_forcerange[actuator]).max())
    dynamics = {"damping": model.dof_damping, "friction": model.dof_frictionloss, "armature": model.dof_armature}
    return {
        "name": str(model.joint(number).name or f"joint{number}"),
        "kind": {SLIDE: "prismatic", HINGE: turns}.get(kind, "floating"),  # a ball is no joint of a serial arm either
        "axis": axis,
        "limit": UNSTATED | {"lower": lower, "upper": upper, "effort": min(efforts, default=UNSTATED["effort"])},
        "dynamics": {name: np.ravel(values)[dof] for name, values in dynamics.items()},
    }
