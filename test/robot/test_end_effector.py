# SPDX-License-Identifier: Apache-2.0
"""End effectors that belong to the arm: the Franka hand, and a user's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_states
from oracles import Pinocchio, assert_agrees, pin

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot import read_end_effector

MOUNT = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, -np.pi / 4), np.array([0.0, 0.0, 0.107]))  # the hand in joint 7
HAND = (0.73, (-0.01, 0.0, 0.03), (0.001, 0.0025, 0.0017))  # kg, m, kg m^2
FINGER = (0.015, (0.0, 0.0, 0.0584), (2.375e-6, 2.375e-6, 7.5e-7))

GRIPPER = """\
name: gripper
mount: {translation: [0.0, 0.0, 0.01]}
tool: {translation: [0.0, 0.02, 0.2]}
inertia_about: com
bodies:
  palm: {mass: 1.0, com: [0.0, 0.0, 0.05], inertia: [0.002, 0.0, 0.0, 0.002, 0.0, 0.001]}
"""


@pytest.mark.parametrize("name", ["panda", "fr3"])
def test_dynamics_with_the_hand_are_those_of_arm_and_bodies(name: str, rng: np.random.Generator) -> None:
    bare, carrying = pdr.load_robot(name), pdr.load_robot(name, end_effector="hand")
    assert carrying.name == f"{name}+hand"
    oracle = Pinocchio(bare)
    for mass, com, diagonal in (HAND, FINGER, FINGER):
        oracle.model.appendBodyToJoint(7, pin.Inertia(mass, np.array(com), np.diag(diagonal)), MOUNT)
    oracle.data = oracle.model.createData()
    states = random_states(bare, rng, samples=100)
    # Exact on both sides but for rounding.
    assert_agrees(carrying.inverse_dynamics(*states), oracle.inverse_dynamics(*states), 1e-11)
    assert_agrees(carrying.mass_matrix(states.q), oracle.mass_matrix(states.q), 1e-11, axes=2)


def test_tool_of_the_hand(panda: pdr.RobotModel) -> None:
    """Between the finger tips: Franka's own F_T_EE with the hand, -45 degrees about z and 0.1034 m."""
    T = pdr.load_robot("panda", end_effector="hand").T_flange_ee
    assert np.abs(T[:3, :3] - MOUNT.rotation).max() < 1e-15  # two roundings of sin 45 degrees
    assert T[:3, 3].tolist() == [0.0, 0.0, 0.1034]
    assert np.array_equal(panda.T_flange_ee, np.eye(4))


def test_a_users_end_effector(tmp_path: Path, panda: pdr.RobotModel) -> None:
    (tmp_path / "gripper.yaml").write_text(GRIPPER)
    carrying = pdr.load_robot("panda", end_effector=tmp_path / "gripper.yaml")
    palm = pdr.InertialParameters(1.0, np.array([0.0, 0.0, 0.06]), np.diag((0.002, 0.002, 0.001)))
    # A translation only, so that 0.01 + 0.05 is all the rounding.
    assert np.abs(carrying.inertial_vector - panda.with_payload(palm).inertial_vector).max() < 1e-15
    assert carrying.T_flange_ee[:3, 3] == pytest.approx([0.0, 0.02, 0.21], abs=1e-15)


@pytest.mark.parametrize("name", ["hands", "hand.urdf", "", None, 7])
def test_an_unknown_name_is_answered_with_those_there_are(name: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_end_effector(name)
    assert str(caught.value) == (
        f"end_effector: expected one of none, hand or a path to a .yaml or .yml file, got {name!r}"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass: 1.0", "mass: -1.0", "body palm: mass: expected a number in [0, inf], got -1"),
        ("inertia: [0.002", "inertia: [0.02", "body palm: expected a body that some distribution of mass has"),
        ("bodies:", "bodys:", "description: expected keys among name, inertia_about, bodies, mount, tool, got bodys"),
        ("name: gripper\n", "", "description: expected the key name, got mount, tool"),
        ("{translation: [0.0, 0.02, 0.2]}", "{rotation: [1, 2, 3]}", "tool.rotation: expected shape (3, 3), got (3,)"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GRIPPER.count(old) == 1
    path = tmp_path / "gripper.yaml"
    path.write_text(GRIPPER.replace(old, new))
    with pytest.raises(RobotDescriptionError) as caught:
        pdr.load_robot("panda", end_effector=path)
    assert str(caught.value).startswith(f"{path}: {message}")
