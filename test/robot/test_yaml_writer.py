# SPDX-License-Identifier: Apache-2.0
"""A robot written to a file and read back has the same bits."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from arms import random_chain

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot import Friction, write_robot


def assert_same(one: pdr.RobotModel, other: pdr.RobotModel) -> None:
    """Equal bit for bit, in every field."""
    assert (one.name, one.joint_names, one.prismatic) == (other.name, other.joint_names, other.prismatic)
    assert one.table.tobytes() == other.table.tobytes()  # placements, gravity, inertial vectors
    for ours, theirs in zip(one.links, other.links, strict=True):
        assert ours.mass == theirs.mass
        assert ours.com.tobytes() == theirs.com.tobytes()
        assert ours.inertia.tobytes() == theirs.inertia.tobytes()
    for part in ("friction", "limits", "residual"):
        for field in fields(getattr(one, part)):
            ours, theirs = (getattr(getattr(arm, part), field.name) for arm in (one, other))
            assert ours.tobytes() == theirs.tobytes(), f"{part}.{field.name}"


@pytest.mark.parametrize("effector", ["none", "hand"])
def test_every_arm_comes_back(robot: pdr.RobotModel, effector: str, tmp_path: Path) -> None:
    arm = pdr.load_robot(robot.name, end_effector=effector)
    path = write_robot(arm, tmp_path / "arm.yaml")
    assert path == tmp_path / "arm.yaml"
    assert_same(pdr.load_robot(path), arm)
    assert [file.name for file in tmp_path.iterdir()] == ["arm.yaml"]


@pytest.mark.parametrize("n", [1, 4, 9])
def test_random_chains_come_back(n: int, tmp_path: Path, rng: np.random.Generator) -> None:
    """Sliding joints, oblique placements and gravity, friction of every kind, numbers of any size."""
    terms = {
        field.name: rng.normal(size=n) ** 2 * 10.0 ** rng.uniform(-12, 6, n) + 1e-300 for field in fields(Friction)
    }
    arm = replace(random_chain(n, seed=20), friction=Friction(**terms))
    assert_same(pdr.load_robot(write_robot(arm, tmp_path / "arm.yml")), arm)


def test_a_link_that_could_not_be_read_back_is_refused(tmp_path: Path, panda: pdr.RobotModel) -> None:
    bad = replace(panda.links[2], mass=-1.0)
    write_robot(panda, tmp_path / "arm.yaml")
    with pytest.raises(RobotDescriptionError, match="link 3: expected a body that some distribution of mass has"):
        write_robot(replace(panda, links=(*panda.links[:2], bad, *panda.links[3:])), tmp_path / "arm.yaml")
    assert_same(pdr.load_robot(tmp_path / "arm.yaml"), panda)  # as it was


def test_what_cannot_be_written_is_refused(tmp_path: Path, panda: pdr.RobotModel) -> None:
    with pytest.raises(ArgumentError, match=r"path: expected a name that ends in .yaml, got 'arm.json'"):
        write_robot(panda, "arm.json")
    with pytest.raises(ArgumentError, match=r"path: expected a place to write to, got '.*': No such file"):
        write_robot(panda, tmp_path / "missing" / "arm.yaml")
    with pytest.raises(ArgumentError, match="robot: expected a robot, got str"):
        write_robot("panda", tmp_path / "arm.yaml")  # type: ignore[arg-type]
