# SPDX-License-Identifier: Apache-2.0
"""Franka arms as others publish them, against Pinocchio reading the same file.

None of the files lies in this repository. They are taken where they are found: from the packages example-robot-data and
pybullet of PyPI, which `make test` installs where there are wheels, and from the repository
frankaemika/franka_description at $FRANKA_DESCRIPTION, expanded by xacro (PyPI). Those that are not there are skipped;
the defects of these files are repeated in test_urdf_errors.py, which always runs.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from arms import random_states
from oracles import assert_agrees
from test_other_arms import of_package
from test_urdf_file import RELATIVE, SAMPLES, PinocchioChain

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import RobotDescriptionError


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
    """`moments`, kg m^2: how far the nearest body that can exist is from one that cannot."""
    (tmp_path / "arm.urdf").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tested apart
        robot = pdr.load_robot(tmp_path / "arm.urdf")
    base = "base" if '<link name="base"' in text else "panda_link0"  # newer files have `base` above link0
    oracle = PinocchioChain(text, robot, base, flange)
    q, dq, ddq = random_states(robot, np.random.default_rng(1), SAMPLES)
    zero = np.zeros(robot.n)
    assert robot.n == 7
    assert_agrees(robot.pose(q), np.array([oracle.pose(row) for row in q]), RELATIVE, axes=2)
    assert_agrees(robot.gravity_torques(q), np.array([oracle.inverse_dynamics(row, zero, zero) for row in q]), RELATIVE)
    mass = np.array([oracle.mass_matrix(row) for row in q])
    if moments:
        # One joint at 1 rad/s turns a link at 1 rad/s: no entry changes by more than the inertia did.
        assert np.abs(robot.mass_matrix(q) - mass).max() <= moments
        return robot
    assert_agrees(robot.mass_matrix(q), mass, RELATIVE, axes=2)
    torques = np.array([oracle.inverse_dynamics(*rows) for rows in zip(q, dq, ddq, strict=True)])
    assert_agrees(robot.inverse_dynamics(q, dq, ddq), torques, RELATIVE)
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
    with pytest.raises(RobotDescriptionError, match="link fer_link4: expected a body"):
        pdr.load_robot(tmp_path / "arm.urdf", strict=True)
    check(text, tmp_path, "fer_link8", moments=5.6e-4)


def test_example_robot_data(tmp_path):
    check(of_package("example-robot-data", "panda_description/urdf/panda.urdf"), tmp_path, "panda_link8")


def test_pybullet_data(tmp_path):
    """Massless links with 0.1 kg m^2."""
    text = of_package("pybullet", "franka_panda/panda.urdf")
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match="link panda_link8, panda_grasptarget: no body has inertia without mass"):
        pdr.load_robot(tmp_path / "arm.urdf")
    check(text, tmp_path, "panda_link8")
