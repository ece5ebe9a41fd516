# SPDX-License-Identifier: Apache-2.0
"""Arms as others publish them: from the columns that drivers write to the payload, and Franka's against Pinocchio.

The torques are Pinocchio's, of the same URDF with a payload. None of the files lies in this repository. They are taken
where they are found: from the packages example-robot-data and pybullet of PyPI, which `make test` installs where there
are wheels, and from frankaemika/franka_description at $FRANKA_DESCRIPTION, expanded by xacro (PyPI). Those that are not
there are skipped; an arm of the tests' own always runs, and so do the files' defects in test_urdf_file.py.
"""

import os
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import urdf_texts
from conftest import some
from motion import write_csv
from numpy.typing import NDArray
from oracles import pin_inertia, se3
from test_urdf_file import PinocchioChain, assert_same_as_pinocchio, load

import panda_dynamics_ros as pdr

Array = NDArray[np.float64]
SECONDS, RATE = 10.0, 250.0
PAYLOAD = pdr.InertialParameters(1.5, np.array([0.02, -0.01, 0.08]), np.diag([0.004, 0.004, 0.003]))
MASS = 0.1  # kg, of exact torques at 250 Hz; 5 kg arms differ from 50 kg arms in what 1 % of the effort limits is
CONSTANTS = np.array([10.0, 10.0, 10.0, 8.0, 8.0, 8.0])  # N m/A


@dataclass(frozen=True)
class Log:
    """How one driver writes: columns with # for the joint (from `first`), factors on rad and N m, what effort is."""

    t: str
    q: str
    dq: str
    tau: str
    first: int
    columns: str
    options: tuple[str, ...] = ()
    per_radian: float = 1.0


RTDE = Log(
    "timestamp", "actual_q_#", "actual_qd_#", "actual_current_#", 0,
    "t=timestamp q=actual_q_# dq=actual_qd_# tau=actual_current_#",
    ("--effort", "current", "--motor-constants", *map(str, CONSTANTS)),
)  # fmt: skip
UR_DRIVER = Log("t", "q#", "dq#", "tau#", 1, "", ("--effort", "without_gravity"))
FRI = Log(
    "time", "MeasuredJointPosition_#", "velocity_#", "MeasuredTorque_#", 1,
    "t=time q=MeasuredJointPosition_# dq=velocity_# tau=MeasuredTorque_#",
)  # fmt: skip
KORTEX = Log(
    "time", "position_#", "velocity_#", "torque_#", 0, "t=time q=position_#:deg dq=velocity_#:deg tau=torque_#",
    per_radian=180.0 / np.pi,
)  # fmt: skip


def of_package(package: str, ending: str) -> str:
    """The text of a distribution's file, or a skip."""
    try:
        files = metadata.distribution(package).files or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    found = next((file for file in files if str(file).endswith(ending)), None)
    if found is None:
        pytest.skip(f"{package} has no {ending}")
    return found.read_text(encoding="utf-8")


def motion(robot: pdr.RobotModel) -> tuple[Array, Array, Array, Array]:
    """Stamps and a sine of each joint within its limits: t (N,), q, dq, ddq (N, n)."""
    t, k = np.arange(round(SECONDS * RATE)) / RATE, np.arange(robot.n)
    lower, upper = np.maximum(robot.limits.lower, -1.5), np.minimum(robot.limits.upper, 1.5)
    centre, amplitude, w = 0.5 * (lower + upper), 0.35 * (upper - lower), 2.0 * np.pi * (0.13 + 0.05 * k)
    amplitude = np.minimum(amplitude, 0.7 * robot.limits.velocity / w)
    phase = np.outer(t, w) + k
    return (
        t, centre + amplitude * np.sin(phase), amplitude * w * np.cos(phase), -amplitude * w**2 * np.sin(phase)
    )  # fmt: skip


def pinocchio_torques(text: str, robot: pdr.RobotModel, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """Torques (N, n) with the payload at the flange, and those of gravity of the arm alone."""
    loaded, bare = (PinocchioChain(text, robot, robot.base_link, robot.flange_link) for _ in range(2))
    last = loaded.model.getJointId(robot.joint_names[-1])
    T_joint_flange = loaded.model.frames[loaded.tip].placement
    assert loaded.model.frames[loaded.tip].parentJoint == last
    loaded.model.inertias[last] += (T_joint_flange * se3(np.eye(4))).act(pin_inertia(PAYLOAD))
    loaded.data = loaded.model.createData()
    zero = np.zeros(robot.n)
    tau = np.array([loaded.inverse_dynamics(*row) for row in zip(q, dq, ddq, strict=True)])
    return tau, np.array([bare.inverse_dynamics(row, zero, zero) for row in q])


@some(
    ("package", "ending", "log"),
    [
        ("", "", RTDE),
        ("example-robot-data", "ur_description/urdf/ur5_robot.urdf", RTDE),
        ("example-robot-data", "ur_description/urdf/ur10_robot.urdf", UR_DRIVER),
        ("pybullet", "kuka_iiwa/model.urdf", FRI),
        ("example-robot-data", "kinova_description/robots/kinova.urdf", KORTEX),
    ],
    always=2,
)
def test_a_payload_of_another_arm(package, ending, log, tmp_path, answer):
    text = of_package(package, ending) if package else urdf_texts.six_revolute()
    urdf, table, result = tmp_path / "arm.urdf", tmp_path / "log.csv", tmp_path / "result"
    urdf.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fingers and of bodies that cannot exist
        robot = pdr.load_robot(urdf, friction="none")
    t, q, dq, ddq = motion(robot)
    tau, gravity = pinocchio_torques(text, robot, q, dq, ddq)
    if "without_gravity" in log.options:
        tau = tau - gravity
    elif "current" in log.options:
        tau = tau / CONSTANTS
    numbers = range(log.first, log.first + robot.n)
    header = [log.t, *(name.replace("#", str(k)) for name in (log.q, log.dq, log.tau) for k in numbers)]
    rows = np.column_stack((t, log.per_radian * q, log.per_radian * dq, tau))
    np.savetxt(table, rows, delimiter=",", header=",".join(header), comments="", fmt="%.12g")
    columns = ("--columns", log.columns) if log.columns else ()
    words = ["replay", table, "--robot", urdf, "--friction", "none", *log.options, *columns]
    payload = answer(*words, "--output", result, "--bag-format", "none", "--max-mass", 5)["payload"]
    print(f"{package} {ending}: {payload['mass']:.3f} kg, {payload['com']}")  # for docs/connect.md: pytest -rP
    assert payload["mass"] == pytest.approx(PAYLOAD.mass, abs=MASS)
    assert payload["com"] == pytest.approx(PAYLOAD.com.tolist(), abs=0.02)


@pytest.mark.slow
def test_a_payload_in_mujoco(tmp_path, answer):
    """Torques of actuators, which accelerate rotors (armature), too, against friction: what `qfrc_actuator` is."""
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec.from_string(urdf_texts.six_revolute())
    spec.compile()
    xml, table = tmp_path / "arm.xml", tmp_path / "log.csv"
    joints = '<default><joint armature="0.4" damping="2" frictionloss="0.5"/></default><worldbody>'
    xml.write_text(spec.to_xml().replace("<worldbody>", joints, 1))
    robot = pdr.load_robot(xml)
    assert robot.rotor_inertia.tolist() == [0.4] * robot.n
    loaded = mujoco.MjSpec.from_file(str(xml))
    flange = loaded.body(robot.flange_link)
    flange.add_body(
        name="payload", mass=PAYLOAD.mass, ipos=PAYLOAD.com, inertia=np.diag(PAYLOAD.inertia), explicitinertial=True
    )
    model = loaded.compile()
    state, tau, (t, q, dq, ddq) = mujoco.MjData(model), [], motion(robot)
    for state.qpos[:], state.qvel[:], state.qacc[:] in zip(q, dq, ddq, strict=True):
        mujoco.mj_inverse(model, state)
        tau.append(state.qfrc_inverse.copy())
    write_csv(table, t, q, dq, np.array(tau))
    masses = []
    for effort in ("actuator", "measured"):
        words = ["replay", table, "--robot", xml, "--effort", effort, "--bag-format", "none"]
        masses.append(answer(*words, "--output", tmp_path / "result")["payload"]["mass"])
    assert masses[0] == pytest.approx(PAYLOAD.mass, abs=MASS)
    assert abs(masses[0] - PAYLOAD.mass) < abs(masses[1] - PAYLOAD.mass)  # rotors taken for payload


def of_franka(name: str, hand: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """franka_description's arm, expanded; xacro finds the package as ament has it."""
    folder = os.environ.get("FRANKA_DESCRIPTION")
    if not folder:
        pytest.skip("FRANKA_DESCRIPTION does not name a checkout of frankaemika/franka_description")
    xacro = pytest.importorskip("xacro", reason="xacro is not installed")
    pytest.importorskip("ament_index_python", reason="xacro needs ament_index_python to find a package")
    (tmp_path / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (tmp_path / "share/ament_index/resource_index/packages/franka_description").touch()
    (tmp_path / "share/franka_description").symlink_to(Path(folder).resolve())
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    mappings = {"hand": str(hand).lower(), "ee_id": "franka_hand" if hand else "none"}
    return str(xacro.process_file(f"{folder}/robots/{name}/{name}.urdf.xacro", mappings=mappings).toxml())


def check(text: str, tmp_path: Path, flange: str, moments: float = 0.0) -> pdr.RobotModel:
    robot = load(text, tmp_path)
    assert robot.n == 7
    base = "base" if '<link name="base"' in text else "panda_link0"  # newer files have `base` above link0
    assert_same_as_pinocchio(text, robot, base, flange, moments)
    return robot


@pytest.mark.parametrize("hand", [False, True])
@pytest.mark.parametrize("name", ["fr3", "fp3"])
def test_franka_description(name, hand, tmp_path, monkeypatch):
    robot = check(of_franka(name, hand, tmp_path, monkeypatch), tmp_path, f"{name}_link8")
    ours = pdr.load_robot("fr3").links[:6]
    assert [link.mass for link in robot.links[:6]] == pytest.approx([link.mass for link in ours], abs=1e-5)


@pytest.mark.parametrize("hand", [False, True])
def test_franka_descriptions_fer(hand, tmp_path, monkeypatch):
    """Its link 4 has a second moment of -0.00055 kg m^2."""
    text = of_franka("fer", hand, tmp_path, monkeypatch)
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match=r"link fer_link4: no distribution of mass has this body; its second moments"):
        pdr.load_robot(tmp_path / "arm.urdf")
    check(text, tmp_path, "fer_link8", moments=5.6e-4)


def test_example_robot_data(tmp_path):
    check(of_package("example-robot-data", "panda_description/urdf/panda.urdf"), tmp_path, "panda_link8")


def test_pybullet_data(tmp_path):
    """Massless links with 0.1 kg m^2, two of them on joint 7 beside the fingers."""
    text = of_package("pybullet", "franka_panda/panda.urdf")
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match="link panda_link8: no distribution .* inertia without mass is left out"):
        pdr.load_robot(tmp_path / "arm.urdf")
    check(text, tmp_path, "panda_link8", moments=0.2 + 1e-9)  # and rounding
