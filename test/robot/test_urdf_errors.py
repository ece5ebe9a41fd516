# SPDX-License-Identifier: Apache-2.0
"""URDF files that cannot be used: each answer names the file, and the link or joint at fault."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import urdf_texts
from urdf_texts import joint, link, robot

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError

GOOD = robot(link("a"), link("b", 1.0), joint("revolute", "a", "b"))


def refused(text: str | bytes, folder: Path, kind: type[Exception] = RobotDescriptionError, **options: Any) -> str:
    """The message of the error, which begins with the path and has one line, without that path."""
    path = folder / "arm.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(kind) as caught:
        pdr.load_robot(path, **options)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("old", "new", "nearest"),
    [
        # Sigma = tr(I)/2 1 - I is diag(-0.049, 0.05, 0.05); with 0 for the first, I' = tr(Sigma') 1 - Sigma'.
        ('ixx="0.001"', 'ixx="0.1"', [0.1, 0.05, 0.05]),
        ('<mass value="1.0"/>', '<mass value="0"/>', [0.0, 0.0, 0.0]),
    ],
)
def test_the_nearest_body_that_can_exist_is_taken(tmp_path, old, new, nearest):
    text = GOOD.replace(old, new)
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match=r"^link b: no distribution of mass has this body; its (second|inertia)"):
        body = pdr.load_robot(tmp_path / "arm.urdf").links[0]
    assert np.diag(body.inertia) == pytest.approx(nearest, abs=1e-12)
    assert body.is_physical(tolerance=1e-12)
    with pytest.raises(RobotDescriptionError, match="link b: expected a body that some distribution of mass has"):
        pdr.load_robot(tmp_path / "arm.urdf", strict=True)


def test_links_without_inertial_are_named(tmp_path):
    text = re.sub("<inertial>.*?</inertial>", "", urdf_texts.panda(), flags=re.DOTALL)
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match="the links that to_link2, to_link3.* have no mass.*inertial missing"):
        pdr.load_robot(tmp_path / "arm.urdf")


def test_inertia_without_mass_is_that_of_the_links_fixed_to_it(tmp_path):
    c = link("c", 0.0, six=(0.1, 0, 0, 0.1, 0, 0.1)) + joint("fixed", "b", "c")
    (tmp_path / "arm.urdf").write_text(GOOD.replace("</robot>", f"{c}</robot>"))
    with pytest.warns(UserWarning, match=r"^link c: no body has inertia without mass.*fixed to it \(1 kg\)"):
        body = pdr.load_robot(tmp_path / "arm.urdf").links[0]
    assert body.mass == 1.0
    assert np.diag(body.inertia) == pytest.approx([0.101] * 3, abs=1e-12)
    with pytest.raises(RobotDescriptionError, match="link c: expected a body that some distribution of mass has"):
        pdr.load_robot(tmp_path / "arm.urdf", strict=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<mass value="1.0"/>', "", "link b: expected the element mass in inertial, got none"),
        ('<mass value="1.0"/>', '<mass value="nan"/>', "link b: mass: value: expected finite numbers, got nan"),
        ('<mass value="1.0"/>', '<mass value="-1.0"/>', "link b: expected a body that some distribution of mass has"),
        ('type="revolute"', 'type="ball"', "joint to_b: expected a type among revolute, continuous, prismatic"),
        ('<parent link="a"/>', '<parent link="c"/>', "joint to_b: expected an existing link, got c"),
        ('<child link="b"/>', '<child link="a"/>', "link a: expected a way from the root b, got a loop"),
        ('axis xyz="0.0 0.0 1.0"', 'axis xyz="0 0 0"', "joint to_b: axis: expected a direction, got [0.0, 0.0, 0.0]"),
        ('limit lower="-2.0"', 'limits lower="-2.0"', "joint to_b: limit: expected the element limit, got none"),
        ('lower="-2.0"', 'lower="2.0"', "joint to_b: limit: expected lower below upper, got 2 and 2"),
        ('velocity="3.0"', 'velocity="-1"', "joint to_b: limit: velocity: expected a positive number, got -1"),
        ("</joint>", '<mimic joint="c"/></joint>', "joint to_b: expected independent joints, got one that mimics c"),
        ("0.0 0.0 0.0", "0 0 ${z}", "link b: origin rpy: expected plain URDF, got the xacro expression 0 0 ${z}"),
        ("</robot>", '<x:if xmlns:x="http://www.ros.org/wiki/xacro"/></robot>', "expected plain URDF, got xacro;"),
        ("</robot>", link("c") + "</robot>", "expected one root link, got a, c"),
        ("</robot>", joint("fixed", "a", "b") + "</robot>", "link b: expected one parent joint, got to_b, to_b"),
        ("<robot", '<!DOCTYPE r [<!ENTITY e "1">]>\n<robot', "expected XML without entities, got EntitiesForbidden"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert old in GOOD
    text = re.sub(re.escape(old), new.replace("\\", r"\\"), GOOD, count=0 if old == "0.0 0.0 0.0" else 1)
    if message.startswith("link b: expected one parent joint"):
        text = text.replace('name="to_b" type="fixed"', 'name="again" type="fixed"')
        message = message.replace("to_b, to_b", "to_b, again")
    assert refused(text, tmp_path).startswith(message)


def test_a_loop_and_a_joint_twice(tmp_path):
    there, back = joint("revolute", "a", "b"), joint("revolute", "b", "a")
    assert refused(robot(link("a"), link("b"), there, back), tmp_path) == (
        "expected one root link, got none: a loop of joints"
    )
    assert refused(robot(link("a"), link("b"), there, there), tmp_path) == (
        "joint to_b: expected one joint of this name, got two"
    )


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"robot: {}", b'<?xml version="1.0" encoding="x-none"?><robot/>']
)
def test_a_file_that_is_not_xml(tmp_path, content):
    assert refused(content, tmp_path).startswith("expected XML without entities, got ")


def test_another_kind_of_xml_and_one_of_another_size(tmp_path):
    assert refused("<sdf/>", tmp_path) == "expected the XML element robot, got sdf"
    assert refused("<robot/>", tmp_path) == "expected 1 to 2000 links, got none"
    many = robot(*(link(f"l{i}") for i in range(2001)))
    assert refused(many, tmp_path) == "expected 1 to 2000 links, got 2001"
    assert refused("<robot>" + " " * (16 << 20) + "</robot>", tmp_path).startswith("expected at most 16777216 bytes")


def test_several_tips_are_listed(tmp_path):
    """Two arms of two joints on a torso of one are no fingers."""
    arms = [
        element
        for side in ("left", "right")
        for element in (
            *(link(f"{side}{i}", 1.0) for i in (1, 2)),
            joint("revolute", "torso", f"{side}1"),
            joint("revolute", f"{side}1", f"{side}2"),
        )
    ]
    text = robot(link("a"), link("torso", 1.0), joint("revolute", "a", "torso"), *arms)
    assert refused(text, tmp_path, ArgumentError) == (
        "tip: expected a link, since several are as deep; got none, the ends are left2 (3 joints), right2 (3 joints)"
    )


def test_of_several_links_on_the_last_body_the_flange_is_the_tip(tmp_path):
    frames = [element for name in ("camera", "arm_flange") for element in (link(name), joint("fixed", "b", name))]
    (tmp_path / "arm.urdf").write_text(robot(link("a"), link("b", 1.0), joint("revolute", "a", "b"), *frames))
    assert pdr.load_robot(tmp_path / "arm.urdf").flange_link == "arm_flange"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tip": "link9"}, "tip: expected one of the links link0, link1, link2, "),
        ({"base": ""}, "base: expected one of the links link0, link1, link2, "),
        ({"base": "link3", "tip": "link2"}, "tip: expected a link below the base link3, got link2"),
        ({"base": "left", "tip": "right"}, "tip: expected a link below the base left, got right"),
        ({"base": "link7", "tip": "hand"}, "tip: expected a movable joint between link7 and hand, got none"),
        ({"base": "link3", "tip": "link3"}, "tip: expected a movable joint between link3 and link3, got none"),
    ],
)
def test_a_base_or_tip_that_does_not_fit(tmp_path, options, message):
    assert refused(urdf_texts.panda(), tmp_path, ArgumentError, **options).startswith(message)


def test_what_is_off_the_chain_needs_no_limits(tmp_path):
    """A finger is locked; that its inertia is impossible still matters."""
    text = urdf_texts.panda().replace('ixx="2.375e-06"', 'ixx="1.0"').replace('lower="-2.0"', 'lower="no number"')
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match="link left: no distribution of mass has this body"):
        assert pdr.load_robot(tmp_path / "arm.urdf", tip="hand").n == 7
    with pytest.raises(RobotDescriptionError, match=r"link (left|right): expected a body"):
        pdr.load_robot(tmp_path / "arm.urdf", tip="hand", strict=True)


def test_yaml_has_no_chain_to_choose():
    for options in ({"base": "link8"}, {"tip": "link8"}):
        with pytest.raises(ArgumentError, match=r": expected none, since only a \.urdf or \.xml file has a chain"):
            pdr.load_robot("panda", **options)  # type: ignore[arg-type]
