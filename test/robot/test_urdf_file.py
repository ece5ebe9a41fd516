# SPDX-License-Identifier: Apache-2.0
"""Arms from URDF files against Pinocchio's own parser on the same text; of files that cannot be used each answer names
the file, and the link or joint at fault.

Tolerance 1e-9 of a sample's largest entry; both sides are exact up to rounding.
"""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import urdf_texts
from arms import random_states
from conftest import message_of
from numpy.typing import NDArray
from oracles import assert_agrees, pin
from urdf_texts import joint, link, robot

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError

Array = NDArray[np.float64]
RELATIVE = 1e-9
SAMPLES = 50
RANDOM_TREES = range(8)


class PinocchioChain:
    """The joints of one chain in Pinocchio's model of the whole file, all others locked at zero: they do not move."""

    def __init__(self, text: str, robot: pdr.RobotModel, base: str, tip: str) -> None:
        self.model = pin.buildModelFromXML(text)
        joints = [self.model.getJointId(name) for name in robot.joint_names]
        self.columns = [self.model.joints[i].idx_v for i in joints]
        self.base, self.tip = self.model.getFrameId(base), self.model.getFrameId(tip)
        self.data = self.model.createData()

    def _full(self, values: Array) -> Array:
        full = np.zeros(self.model.nv)
        full[self.columns] = values
        return full

    def _q(self, q: Array) -> Array:
        """Pinocchio's configuration: a continuous joint has a cosine and a sine there."""
        return np.asarray(pin.integrate(self.model, pin.neutral(self.model), self._full(q)))

    def pose(self, q: Array) -> Array:
        pin.framesForwardKinematics(self.model, self.data, self._q(q))
        return np.array(self.data.oMf[self.base].actInv(self.data.oMf[self.tip]).homogeneous)

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        tau = pin.rnea(self.model, self.data, self._q(q), self._full(dq), self._full(ddq))
        return np.array(tau)[self.columns]

    def mass_matrix(self, q: Array) -> Array:
        M = np.triu(pin.crba(self.model, self.data, self._q(q)))
        M = M + np.triu(M, 1).T
        return np.asarray(M[np.ix_(self.columns, self.columns)])


def load(text: str, folder: Path, base: str | None = None, tip: str | None = None) -> pdr.RobotModel:
    path = folder / "arm.urdf"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is left out; tested below
        return pdr.load_robot(path, base=base, tip=tip)


def assert_same_as_pinocchio(text: str, robot: pdr.RobotModel, base: str, tip: str, moments: float = 0.0) -> None:
    """`moments`, kg m^2: how far the nearest body that can exist is from one of the file that cannot."""
    oracle = PinocchioChain(text, robot, base, tip)
    q, dq, ddq = random_states(robot, np.random.default_rng(1), SAMPLES)
    zero = np.zeros(robot.n)
    assert_agrees(robot.pose(q), np.array([oracle.pose(row) for row in q]), RELATIVE, axes=2)
    assert_agrees(robot.gravity_torques(q), np.array([oracle.inverse_dynamics(row, zero, zero) for row in q]), RELATIVE)
    mass = np.array([oracle.mass_matrix(row) for row in q])
    if moments:
        # One joint at 1 rad/s turns a link at 1 rad/s: no entry changes by more than the inertia did.
        assert np.abs(robot.mass_matrix(q) - mass).max() <= moments
        return
    assert_agrees(robot.mass_matrix(q), mass, RELATIVE, axes=2)
    torques = np.array([oracle.inverse_dynamics(*rows) for rows in zip(q, dq, ddq, strict=True)])
    assert_agrees(robot.inverse_dynamics(q, dq, ddq), torques, RELATIVE)


@pytest.mark.parametrize("tip", ["link8", "hand", "link5"])
def test_panda(tmp_path, tip):
    text = urdf_texts.panda()
    assert_same_as_pinocchio(text, load(text, tmp_path, tip=tip), "link0", tip)


def test_axes_of_every_direction(tmp_path):
    text = urdf_texts.six_revolute()
    robot = load(text, tmp_path)
    assert robot.n == 6
    assert_same_as_pinocchio(text, robot, "base", "l6")


@pytest.mark.parametrize("base", ["world", "mount", "carriage"])
def test_slide_and_fixed_joints(tmp_path, base):
    """Gravity, too: the mount is turned against the world."""
    text = urdf_texts.with_slide_and_fixed_joints()
    robot = load(text, tmp_path, base=base)
    assert robot.prismatic == (True, False, False, False)[base == "carriage" :]
    assert_same_as_pinocchio(text, robot, base, "tool")


@pytest.mark.parametrize("seed", RANDOM_TREES)
def test_random_trees(tmp_path, seed):
    text, base, tip = urdf_texts.random_tree(seed)
    assert_same_as_pinocchio(text, load(text, tmp_path, base, tip), base, tip)


def test_panda_is_that_of_the_library(tmp_path):
    """Where the axis is z, a joint frame is the URDF's own: the modified DH frames of the Panda."""
    ours, library = load(urdf_texts.panda(), tmp_path, tip="link8"), pdr.load_robot("panda")
    (tmp_path / "panda.xml").write_text(urdf_texts.panda())  # MuJoCo would fuse link8 with link7
    assert pdr.load_robot(tmp_path / "panda.xml", tip="link8").flange_link == "link8"
    assert np.abs(ours.placements - library.placements).max() < 1e-15  # sines of the same right angles
    assert np.abs(ours.T_joint_flange - library.T_joint_flange).max() == 0.0
    assert ours.links[:6] == library.links[:6]
    for field in ("lower", "upper", "velocity", "effort"):
        assert np.array_equal(getattr(ours.limits, field), getattr(library.limits, field))
    assert ours.name == "panda"
    assert ours.joint_names == tuple(f"to_link{i}" for i in range(1, 8))


def test_fixed_hand_is_that_of_the_library(tmp_path):
    """Whatever the tip, the hand hangs on link 7, its fingers locked at zero, and its mass is link 7's."""
    library = pdr.load_robot("panda", end_effector="hand")
    for tip in (None, "link8", "hand"):
        last = load(urdf_texts.panda(), tmp_path, tip=tip).links[-1]
        assert np.abs(last.vector - library.links[-1].vector).max() < 1e-15  # rounding of 1 kg within 0.2 m


def test_joints_beyond_the_tip_are_locked_with_a_warning(tmp_path):
    """Fingers, and the wrist of an arm that is cut off at link 5: one body of all that it carries at zero."""
    (tmp_path / "arm.urdf").write_text(urdf_texts.panda())
    with pytest.warns(UserWarning, match=r"^panda: joints off the chain are locked at zero: to_(left|right), to_\w+$"):
        whole = pdr.load_robot(tmp_path / "arm.urdf", tip="hand")
    with pytest.warns(UserWarning, match=r"locked at zero: to_link6, to_link7, to_\w+, to_\w+$"):
        cut = pdr.load_robot(tmp_path / "arm.urdf", tip="link5")
    q = np.array([0.3, -0.4, 0.2, -1.0, 0.5, 0.0, 0.0])
    # The same arm, of which the last two joints stand at zero; sums of 30 N m.
    assert np.abs(cut.gravity_torques(q[:5]) - whole.gravity_torques(q)[:5]).max() < 1e-12


def test_of_links_as_many_joints_away_the_deeper_is_the_tip(tmp_path):
    """The tool, not the camera beside the chain nor the gripper: four movable joints, then most joints."""
    text = urdf_texts.with_slide_and_fixed_joints()
    deepest, told = load(text, tmp_path), load(text, tmp_path, base="world", tip="tool")
    assert np.array_equal(deepest.T_joint_flange, told.T_joint_flange)
    assert deepest.joint_names == told.joint_names == ("to_carriage", "to_cross", "to_fork", "to_wrist")


def test_zero_is_no_limit_of_velocity_or_effort(tmp_path):
    """Exporters write it where they know none; nothing moves at zero velocity."""
    arm = joint("revolute", "a", "b", limit=(-1.0, 1.0, 0.0, 0.0))
    (tmp_path / "arm.urdf").write_text(robot(link("a"), link("b", 1.0), arm))
    with pytest.warns(UserWarning, match="joint to_b: limit: (velocity|effort) 0 is taken for one that is"):
        limits = pdr.load_robot(tmp_path / "arm.urdf").limits
    assert (limits.velocity[0], limits.effort[0]) == (np.pi, 100.0)
    assert (limits.lower[0], limits.upper[0]) == (-1.0, 1.0)


def test_dynamics_are_friction(tmp_path):
    moved = joint("revolute", "a", "b", extra='<dynamics damping="0.3" friction="0.7"/>')
    arm = load(robot(link("a"), link("b", 1.0), moved), tmp_path)
    assert arm.friction_torques([2.0]) == pytest.approx([0.3 * 2.0 + 0.7], abs=1e-12)  # tanh(200) is 1


@pytest.mark.parametrize(
    ("rpy", "gravity"),
    [((np.pi, 0.0, 0.0), None), ((0.0, np.pi / 2, 0.3), (0.3, -0.2, -9.7)), ((0.2, -0.3, 0.1), (0.3, -0.2, -9.7))],
)
def test_mounting_is_that_of_a_turned_base_in_the_file(tmp_path, rpy, gravity):
    """Upright, from a ceiling, on a wall, on a tilted table: Pinocchio reads the turn from a joint of the file."""
    arm = urdf_texts.six_revolute()
    text = arm.replace("</robot>", f"{link('world')}{joint('fixed', 'world', 'base', rpy=rpy)}</robot>")
    (tmp_path / "arm.urdf").write_text(arm)
    robot = pdr.load_robot(tmp_path / "arm.urdf", mounting=rpy, gravity=gravity)
    oracle = PinocchioChain(text, robot, "base", "l6")
    if gravity is not None:
        oracle.model.gravity.linear[:] = gravity
    q, dq, ddq = random_states(robot, np.random.default_rng(2), SAMPLES)
    torques = np.array([oracle.inverse_dynamics(*rows) for rows in zip(q, dq, ddq, strict=True)])
    assert_agrees(robot.inverse_dynamics(q, dq, ddq), torques, RELATIVE)
    assert_agrees(robot.pose(q), np.array([oracle.pose(row) for row in q]), RELATIVE, axes=2)


def test_a_mounting_and_friction_that_are_none(panda):
    for given, words in (
        ({"mounting": (0.0, 1.0)}, r"mounting: expected shape \(3,\), got \(2,\)"),
        ({"mounting": (0.0, 180.0, 0.0)}, "mounting: expected rad .* got 0 180 0; are these degrees?"),
        ({"gravity": (0.0, 0.0, np.nan)}, "gravity: expected finite"),
        ({"friction": "some"}, "friction: expected published or none, got 'some'"),
    ):
        with pytest.raises(ArgumentError, match=words):
            pdr.load_robot("panda", **given)
    frictionless = pdr.load_robot("panda", friction="none")
    assert panda.friction_torques(np.ones(7)).all() and not frictionless.friction_torques(np.ones(7)).any()


GOOD = robot(link("a"), link("b", 1.0), joint("revolute", "a", "b"))


def refused(text: str | bytes, folder: Path, kind: type[Exception] = RobotDescriptionError, **options: Any) -> str:
    """The message of the error, without the path with which it begins, but of an argument; it has one line."""
    path = folder / "arm.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    message = message_of(kind, pdr.load_robot, path, **options)
    assert message.startswith(f"{path}: ") or kind is ArgumentError
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("old", "new", "nearest"),
    [('ixx="0.001"', 'ixx="0.1"', [0.1, 0.05, 0.05]), ('<mass value="1.0"/>', '<mass value="0"/>', [0.0, 0.0, 0.0])],
)
def test_the_nearest_body_that_can_exist_is_taken(tmp_path, old, new, nearest):
    """Sigma = tr(I)/2 1 - I is diag(-0.049, 0.05, 0.05); with 0 for the first, I' = tr(Sigma') 1 - Sigma'."""
    (tmp_path / "arm.urdf").write_text(GOOD.replace(old, new))
    with pytest.warns(UserWarning, match=r"^link b: no distribution of mass has this body; its (second|inertia)"):
        body = pdr.load_robot(tmp_path / "arm.urdf").links[0]
    assert np.diag(body.inertia) == pytest.approx(nearest, abs=1e-12)
    assert body.is_physical(tolerance=1e-12)


def test_links_without_inertial_are_named(tmp_path):
    text = re.sub("<inertial>.*?</inertial>", "", urdf_texts.panda(), flags=re.DOTALL)
    (tmp_path / "arm.urdf").write_text(text)
    with pytest.warns(UserWarning, match="^link link7: expected the element inertial"):
        pdr.load_robot(tmp_path / "arm.urdf")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<mass value="1.0"/>', "", "link b: mass: value: expected a number, got ''"),
        ('<mass value="1.0"/>', '<mass value="-1.0"/>', "link b: expected a body that some distribution of mass has"),
        ('type="revolute"', 'type="ball"', "joint to_b: expected a type among revolute, continuous, prismatic"),
        ('<parent link="a"/>', '<parent link="c"/>', "joint to_b: expected an existing link, got c"),
        ('<child link="b"/>', '<child link="a"/>', "link a: expected a way from the root b, got a loop"),
        ('axis xyz="0.0 0.0 1.0"', 'axis xyz="0 0 0"', "joint to_b: axis: expected a direction, got [0.0, 0.0, 0.0]"),
        ('limit lower="-2.0"', 'limits lower="-2.0"', "joint to_b: limit: velocity: expected a number, got ''"),
        ('lower="-2.0"', 'lower="2.0"', "limits.lower: expected values below limits.upper [2.0], got [2.0]"),
        ('type="revolute"', "", "joint to_b: expected the attribute type, got name"),
        ('velocity="3.0"', 'velocity="-1"', "limits.velocity: expected positive numbers, got [-1.0]"),
        ('effort="50.0"', 'effort="-1"', "limits.effort: expected positive numbers, got [-1.0]"),
        ("</joint>", '<mimic joint="c"/></joint>',
         "joint to_b: expected an independent revolute, continuous or prismatic joint on the chain, got one that"),
        ("0.0 0.0 0.0", "0 0 ${z}", "link b: origin: xyz: expected 3 numbers, got '0 0 ${z}'"),
        ("</robot>", '<x:if xmlns:x="http://www.ros.org/wiki/xacro"/></robot>', "expected plain URDF, got xacro;"),
        ("</robot>", link("c") + "</robot>", "expected one root link, got a, c"),
        ("<robot", '<!DOCTYPE r [<!ENTITY e "1">]>\n<robot', "expected XML without entities, got EntitiesForbidden"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert old in GOOD
    text = re.sub(re.escape(old), new.replace("\\", r"\\"), GOOD, count=0 if old == "0.0 0.0 0.0" else 1)
    assert refused(text, tmp_path).startswith(message)


def test_a_loop_and_a_joint_twice(tmp_path):
    there, back = joint("revolute", "a", "b"), joint("revolute", "b", "a")
    loop, twice = (robot(link("a"), link("b"), there, each) for each in (back, there.replace("to_b", "again")))
    assert refused(loop, tmp_path) == "expected one root link, got none: a loop of joints"
    assert refused(twice, tmp_path) == "link b: expected one parent joint, got to_b, again"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"robot: {}"])
def test_a_file_that_is_not_xml(tmp_path, content):
    assert refused(content, tmp_path).startswith("expected XML without entities, got ")


def test_another_kind_of_xml_and_one_of_another_size(tmp_path):
    assert refused("<sdf/>", tmp_path) == "expected the XML element robot, got sdf"
    assert refused("<robot/>", tmp_path) == "expected 1 to 2000 links, got none"
    assert refused(robot(*(link(f"l{i}") for i in range(2001))), tmp_path) == "expected 1 to 2000 links, got 2001"
    assert "expected at most 16777216 bytes" in refused("<robot>" + " " * (16 << 20) + "</robot>", tmp_path)


def test_several_tips_are_listed(tmp_path):
    """Two arms of two joints on a torso of one are no fingers."""
    arms = []
    for side in ("left", "right"):
        arms += [link(f"{side}1", 1.0), joint("revolute", "torso", f"{side}1")]
        arms += [link(f"{side}2", 1.0), joint("revolute", f"{side}1", f"{side}2")]
    text = robot(link("a"), link("torso", 1.0), joint("revolute", "a", "torso"), *arms)
    said = "tip: expected one link, got several that are as deep: left2, right2"
    assert refused(text, tmp_path, ArgumentError) == said


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
        ({"base": "link7", "tip": "hand"}, "tip: expected a movable joint between link7 and hand, got none"),
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


def test_yaml_has_no_chain_to_choose():
    for options in ({"base": "link8"}, {"tip": "link8"}):
        with pytest.raises(ArgumentError, match="base, tip: expected none for an arm in YAML"):
            pdr.load_robot("panda", **options)
