# SPDX-License-Identifier: Apache-2.0
"""Descriptions in YAML: reading one back, and every way of getting one wrong."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from arms import random_chain
from conftest import message_of

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError, RobotDescriptionError
from panda_dynamics_ros.robot import Friction, write_robot
from panda_dynamics_ros.robot.yaml_file import LIBRARY

Content = dict[str, Any]


def load(folder: Path, content: Any) -> pdr.RobotModel:
    path = folder / "arm.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return pdr.load_robot(path)


@pytest.fixture
def panda_content():
    """The library's own description of the Panda, to spoil."""
    return dict(yaml.safe_load((LIBRARY / "panda.yaml").read_text(encoding="utf-8")))


def test_links_may_be_given_about_their_origin(panda, panda_content, tmp_path):
    panda_content["inertia_about"] = "origin"
    panda_content["links"] = [
        {"mass": link.mass, "first_moment": link.vector[1:4].tolist(), "inertia": link.vector[4:].tolist()}
        for link in panda.links
    ]
    back = load(tmp_path, panda_content)
    # Numbers print and read back to the last bit; m c makes the way to the CoM and back.
    np.testing.assert_allclose(back.inertial_vector, panda.inertial_vector, rtol=0.0, atol=1e-15)


def test_numbers_may_have_an_exponent_without_a_point(panda_content, tmp_path):
    """As YAML 1.2 has them, and PyYAML has not."""
    text = yaml.safe_dump(panda_content | {"gravity": "PLACE"}).replace("PLACE", "[1e-3, -2E-1, -9.8e+0]")
    assert load(tmp_path, text).gravity.tolist() == [1e-3, -0.2, -9.8]


def test_what_may_be_left_out(panda, panda_content, tmp_path):
    for key in ("friction", "gravity", "flange"):
        del panda_content[key]
    robot = load(tmp_path, panda_content)
    assert robot.gravity.tolist() == [0.0, 0.0, -9.81]
    assert np.array_equal(robot.T_joint_flange, np.eye(4))
    assert not robot.friction_torques(np.ones(7)).any()
    assert robot.prismatic == (False,) * 7


Spoil = Callable[[Content], Any]
MALFORMED: dict[str, tuple[Spoil, str]] = {
    "no joint names": (lambda c: c.pop("joint_names"), "description: expected the key joint_names, got name, "),
    "no kinematics": (lambda c: c.pop("modified_dh"), "description: expected either the key modified_dh or placements"),
    "a column too short": (lambda c: c["modified_dh"]["d"].pop(), "modified_dh.d: expected shape (7,), got (6,)"),
    "a word in place of a number": (
        lambda c: c["modified_dh"]["a"].__setitem__(0, "1e-3 m"),
        "modified_dh.a: expected an array of real numbers, got ['1e-3 m', 0.0",
    ),
    "joint kinds as words": (lambda c: c.update(prismatic=["no"] * 7), "prismatic: expected true or false for each "),
    "an unknown key": (lambda c: c.update(fricton={}), "description: expected keys among name, joint_names, "),
    "a stretched flange": (
        lambda c: c["flange"].update(rotation=[[2, 0, 0], [0, 1, 0], [0, 0, 1]]),
        "flange.rotation: expected R R^T = I within 0.0001, got a deviation of 3",
    ),
    "a link without CoM": (lambda c: c["links"][2].pop("com"), "link 3: expected the key com, got mass, inertia"),
    "a CoM and a first moment": (
        lambda c: c["links"][2].update(first_moment=[0, 0, 0]),
        "link 3: expected keys among mass, first_moment, inertia, got com",
    ),
    "a mass of nan": (lambda c: c["links"][3].update(mass=np.nan), "link 4: mass: expected finite numbers, "),
    "an impossible inertia": (
        lambda c: c["links"][5].update(inertia=[0.1, 0, 0, 0.01, 0, 0.01]),
        "link 6: expected a body that some distribution of mass has, got mass 1.66656 kg and second moments about the "
        "CoM of [-0.04, 0.05, 0.05] kg m^2",
    ),
    "a first moment without mass": (
        lambda c: c["links"].__setitem__(6, {"mass": 0, "first_moment": [1, 0, 0], "inertia": [0] * 6}),
        "link 7: vector: expected a zero first moment with zero mass, got [1.0, 0.0, 0.0]",
    ),
}


@pytest.mark.parametrize("how", MALFORMED)
def test_a_malformed_description_names_the_file_and_the_key(how, panda_content, tmp_path):
    spoil, message = MALFORMED[how]
    spoil(panda_content)
    said = message_of(RobotDescriptionError, load, tmp_path, panda_content)
    assert said.startswith(f"{tmp_path / 'arm.yaml'}: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "description: expected keys with values, got None"),
        ("{}", "description: expected the key name, got no key"),
        ("name: a\nname: b", "expected YAML, got: the key name twice"),
        ("name: [unclosed", "expected YAML, got: while parsing a flow sequence"),
        ("name: !!python/object:os.system {}", "expected YAML, got: could not determine a constructor"),
    ],
)
def test_a_file_that_is_no_description(text, message, tmp_path):
    assert message_of(RobotDescriptionError, load, tmp_path, text).startswith(f"{tmp_path / 'arm.yaml'}: {message}")


@pytest.mark.parametrize("name", ["pandas", "Panda", "", "panda.sdf", "arms/panda", None, 7])
def test_an_unknown_name_is_answered_with_those_there_are(name):
    known = "fr3, panda, panda_ledezma or a path to a .yaml, .yml, .urdf or .xml file"
    assert message_of(ArgumentError, pdr.load_robot, name) == f"robot: expected one of {known}, got {name!r}"


def test_a_file_that_is_not_there(tmp_path):
    for missing in (tmp_path / "missing.yaml", tmp_path / "folder.yaml"):
        (tmp_path / "folder.yaml").mkdir(exist_ok=True)
        message = f"robot: expected an existing file, got '{missing}'"
        assert message_of(DataFileNotFoundError, pdr.load_robot, missing) == message


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
def test_every_arm_comes_back(robot, effector, tmp_path):
    arm = pdr.load_robot(robot.name, end_effector=effector)
    path = write_robot(arm, tmp_path / "arm.yaml")
    assert path == tmp_path / "arm.yaml"
    assert_same(pdr.load_robot(path), arm)
    assert [file.name for file in tmp_path.iterdir()] == ["arm.yaml"]


@pytest.mark.parametrize("n", [1, 4, 9])
def test_random_chains_come_back(n, tmp_path, rng):
    """Sliding joints, oblique placements and gravity, friction of every kind, numbers of any size."""
    terms = {each.name: rng.normal(size=n) ** 2 * 10.0 ** rng.uniform(-12, 6, n) + 1e-300 for each in fields(Friction)}
    arm = replace(random_chain(n, seed=20), friction=Friction(**terms))
    assert_same(pdr.load_robot(write_robot(arm, tmp_path / "arm.yml")), arm)


def test_a_link_that_could_not_be_read_back_is_refused(tmp_path, panda):
    bad = replace(panda.links[2], mass=-1.0)
    write_robot(panda, tmp_path / "arm.yaml")
    with pytest.raises(RobotDescriptionError, match="link 3: expected a body that some distribution of mass has"):
        write_robot(replace(panda, links=(*panda.links[:2], bad, *panda.links[3:])), tmp_path / "arm.yaml")
    assert_same(pdr.load_robot(tmp_path / "arm.yaml"), panda)  # as it was


def test_what_cannot_be_written_is_refused(tmp_path, panda):
    with pytest.raises(ArgumentError, match=r"path: expected a name that ends in .yaml, got 'arm.json'"):
        write_robot(panda, "arm.json")
    with pytest.raises(ArgumentError, match=r"path: expected a place to write to, got '.*': No such file"):
        write_robot(panda, tmp_path / "missing" / "arm.yaml")
    with pytest.raises(ArgumentError, match="robot: expected a robot, got str"):
        write_robot("panda", tmp_path / "arm.yaml")  # type: ignore[arg-type]
