# SPDX-License-Identifier: Apache-2.0
"""Arms from MJCF files against MuJoCo's own dynamics of the same file."""

import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from arms import random_states
from oracles import assert_agrees

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import MissingDependencyError, RobotDescriptionError

mujoco = pytest.importorskip("mujoco")

ARM = (Path(__file__).parent / "odd_arm.xml").read_text(encoding="utf-8")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    return file


@pytest.fixture
def robot(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the fingers that are left out
        return pdr.load_robot(path)


def test_dynamics_are_mujocos(path, robot):
    assert robot.joint_names == ("j1", "j2", "j3", "j4")
    assert robot.prismatic == (False, False, True, False)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    q, dq, ddq = random_states(robot, np.random.default_rng(4), 50)
    torques, passive, poses, mass = [], [], [], []
    for row in zip(q, dq, ddq, strict=True):
        data.qpos[:4], data.qvel[:4], data.qacc[:4] = row
        mujoco.mj_inverse(model, data)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        mass.append(M[:4, :4])
        torques.append(data.qfrc_inverse[:4] + data.qfrc_passive[:4])
        passive.append(-data.qfrc_passive[:4])
        flange = np.eye(4)
        flange[:3, :3], flange[:3, 3] = data.body("tool_flange").xmat.reshape(3, 3), data.body("tool_flange").xpos
        poses.append(flange)
    rotors = np.diag(robot.rotor_inertia)
    # Exact on both sides but for rounding, and the fingers' 1e-9 kg: 1e-8 N m on some 10.
    assert_agrees(robot.pose(q), np.array(poses), 1e-9, axes=2)
    assert_agrees(robot.inverse_dynamics(q, dq, ddq) + ddq @ rotors, np.array(torques), 1e-7)
    assert_agrees(robot.mass_matrix(q) + rotors, np.array(mass), 1e-7, axes=2)
    # Damping is MuJoCo's own passive force; its friction loss is a constraint, of the size given.
    loss = np.array([0.4, 0.0, 0.4, 0.4]) * np.tanh(dq / 0.01)
    assert_agrees(robot.friction_torques(dq) - loss, np.array(passive), 1e-12)


def test_limits_and_rotors_are_those_of_the_file(robot):
    assert robot.rotor_inertia.tolist() == [0.1, 0.2, 0.1, 0.1]
    assert robot.limits.lower.tolist() == [-2.0, -2.0, -0.3, -2.0]
    assert robot.limits.effort.tolist() == [80.0, 100.0, 100.0, 30.0]  # 100 where the file states none


def test_base_and_tip_may_be_chosen(path):
    robot = pdr.load_robot(path, base="base", tip="b")
    assert robot.joint_names == ("j1", "j2", "j3")
    assert np.linalg.norm(robot.gravity) == pytest.approx(np.linalg.norm([0.3, -0.2, -9.7]), abs=1e-12)
    assert abs(robot.gravity[0]) > 0.5, "the base is tilted"


def test_a_site_named_like_a_flange_is_the_tip(path):
    """The arms of MuJoCo Menagerie end so: the site is where the hand would be, the last body's frame is not."""
    tree = ET.fromstring(ARM)
    (wrist,) = tree.findall(".//body[@name='c']")
    wrist.remove(wrist.find("body"))  # type: ignore[arg-type]
    for name, place in (("camera", "0.1 0 0"), ("attachment_site", "0 0 0.107")):
        ET.SubElement(wrist, "site", name=name, pos=place, euler="0.1 0 -0.785")
    path.write_text(ET.tostring(tree, encoding="unicode"))
    robot, model = pdr.load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:4] = q = np.array([0.3, -0.2, 0.1, 0.5])
    mujoco.mj_kinematics(model, data)
    assert_agrees(robot.pose(q)[:3, 3], data.site("attachment_site").xpos, 1e-12)
    assert_agrees(robot.pose(q)[:3, :3].ravel(), data.site("attachment_site").xmat, 1e-12)


def test_what_mujoco_does_not_compile_is_said(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM.replace('diaginertia="0.01 0.02 0.015"', 'diaginertia="0.01 0.2 0.015"'))
    with pytest.raises(RobotDescriptionError, match=r"arm\.xml: expected MJCF that MuJoCo compiles, got .*inertia"):
        pdr.load_robot(tmp_path / "arm.xml")


def test_what_would_fill_the_memory_is_refused_or_left_out(tmp_path):
    for size in ("1000G", "3G"):
        (tmp_path / "arm.xml").write_text(ARM.replace("<worldbody>", f'<size memory="{size}"/><worldbody>', 1))
        with pytest.raises(RobotDescriptionError, match=r"arm\.xml: expected MJCF that MuJoCo compiles, got "):
            pdr.load_robot(tmp_path / "arm.xml")
    (tmp_path / "arm.xml").write_text(ARM.replace("<worldbody>", '<size nuserdata="2000000000"/><worldbody>', 1))
    with pytest.warns(UserWarning, match="locked"):
        assert pdr.load_robot(tmp_path / "arm.xml").n == 4  # 16 GB and minutes otherwise


def test_without_mujoco_it_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingDependencyError, match="pip install mujoco"):
        pdr.load_robot(path)
