# SPDX-License-Identifier: Apache-2.0
"""Named joint values of any order, as messages and recordings have them, turned into arrays of the arm's joints."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, SampleError
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.yaml_file import library_names
from panda_dynamics_ros.untrusted import listed

# Reasons of `SampleError`, as counts and diagnostics show them, that stand in more than one place.
MISSING_JOINTS = "missing joints"
OTHER_JOINTS = "other joints"  # a message without any of the arm's, such as a gripper's: no sample of the arm is lost
NOT_FINITE = "not finite"

MOST_KNOWN = 100  # kinds of messages in one stream
FIELDS = ("position", "velocity", "effort")
# rad, rad/s, N m: beyond these a number is no joint's but a fault of transmission or memory, and squares of
# it may overflow further on.
_LARGEST = np.array([[1e3], [1e3], [1e5]])
_SURELY = 1e3**2  # if all squares together are less, no number is beyond its limit
_NUMBERED = re.compile(r"(?P<stem>.*joint)(?P<number>[1-9]\d*)")


def resolve_joint_names(
    available_names: Sequence[str], robot_joint_names: Sequence[str], arm_prefix: str = "", by_scheme: bool = True
) -> tuple[str, ...]:
    """The arm's joints, from base to tip, among the names of a message or recording.

    The robot's own names are taken where they are all there; else the one set `<stem>joint1` .. `<stem>jointn`
    whose stem starts with `arm_prefix`: panda_joint1, fer_joint1, fr3_joint1, left_panda_joint1, ...

    arm_prefix: `left` or `left_`, where several arms share a topic.
    by_scheme: False for names that the user states: there is no other set.
    Raises ArgumentError: several sets fit.
    Raises SampleError: the arm's joints are not all there.
    """
    available = set(available_names)
    for prefix in ("", arm_prefix, f"{arm_prefix}_") if arm_prefix else ("",):
        own = tuple(f"{prefix}{name}" for name in robot_joint_names)
        if own[0].startswith(arm_prefix) and available.issuperset(own):
            return own
    n = len(robot_joint_names)
    stems = sorted({match["stem"] for name in available if by_scheme and (match := _NUMBERED.fullmatch(name))})
    sets = [tuple(f"{stem}{i + 1}" for i in range(n)) for stem in stems if stem.startswith(arm_prefix)]
    complete = [names for names in sets if available.issuperset(names)]
    if len(complete) == 1:
        return complete[0]
    if complete:
        candidates = ", ".join(f"{names[0]}..{n}" for names in complete)
        raise ArgumentError(f"arm_prefix: expected the prefix of one arm (or joint_names), got {candidates}")
    wanted = f"{robot_joint_names[0]} .. {robot_joint_names[-1]}{f', or <name>joint1 .. {n}' if by_scheme else ''}"
    beginning = f" that start with {arm_prefix!r}" if arm_prefix else ""
    is_others = available and not any(name.startswith(arm_prefix if by_scheme else own) for name in available)
    reason = OTHER_JOINTS if is_others else MISSING_JOINTS
    raise SampleError(f"names: expected {wanted}{beginning}, got {listed(available_names, 'names')}", reason)


def name_conflict(robot: RobotDescription, joint_names: Sequence[str]) -> str:
    """A sentence if the joints have the names of another arm of the library than `robot`; else empty."""
    stem, own = (names[0].removesuffix("joint1") for names in (joint_names, robot.joint_names))
    arm = next((name for name in library_names() if stem.endswith(f"{name}_")), "")
    if not arm or arm == robot.name or stem.endswith(own):
        return ""
    return f"the joints are those of {arm}, the parameters those of {robot.name}: set robot to {arm}"


def link_name(joint_names: Sequence[str], number: int, robot: RobotDescription | None = None) -> str:
    """Frame id of link 0 (base) or 8 (flange): the robot's with its joints' prefix, or panda_joint1 -> panda_link0."""
    own = "" if robot is None else robot.flange_link if number else robot.base_link
    if robot is not None and own and joint_names[0].endswith(robot.joint_names[0]):
        return joint_names[0].removesuffix(robot.joint_names[0]) + own
    return f"{joint_names[0].removesuffix('joint1')}link{number}"


class JointMapping:
    """Takes the values of `joint_names` out of messages that name them in any order, beside others."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        if not self.joint_names or len(set(self.joint_names)) != len(self.joint_names):
            raise ArgumentError(f"joint_names: expected distinct names, got {self.joint_names}")
        # A stream repeats its names: the index array is that of the last names seen.
        self._seen: tuple[str, ...] = ()
        self._index: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def extract(
        self, names: Sequence[str], position: ArrayLike, velocity: ArrayLike, effort: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, dq, tau, each (n,), of a message with N names and values (N,), rad, rad/s, N m.

        Raises SampleError: joints are missing or named twice, lengths disagree, velocity or effort is absent, a value
            is not finite or beyond any joint's, or every effort is zero. Its `reason` is what the sample counts under.
        """
        seen = names if isinstance(names, tuple) else tuple(names)
        if seen is not self._seen and seen != self._seen:
            self._index = self._index_of(seen)
            self._seen = seen
        # Not [:, index], whose rows are not contiguous: kernels would be compiled anew for them, or refuse them.
        sample = _rows((position, velocity, effort), len(seen)).take(self._index, axis=1)
        # Two products are enough for nearly all: a thousand samples a second pass here.
        if not np.vdot(sample, sample) < _SURELY and not (plausible := np.abs(sample) <= _LARGEST).all():  # also of nan
            field, joint = np.argwhere(~plausible)[0]
            got = f"got {sample[field, joint]:g} for {self.joint_names[joint]}"
            if not np.isfinite(sample[field, joint]):
                raise SampleError(f"{FIELDS[field]}: expected finite numbers, {got}", NOT_FINITE)
            raise SampleError(f"{FIELDS[field]}: expected at most {_LARGEST[field, 0]:g}, {got}", "implausible")
        if not np.vdot(sample[2], sample[2]):
            got = "zero for every joint (torque sensing is off, or the topic comes without effort)"
            raise SampleError(f"effort: expected measured torques, got {got}", "all-zero effort")
        return sample[0], sample[1], sample[2]

    def _index_of(self, names: tuple[str, ...]) -> NDArray[np.intp]:
        if missing := [name for name in self.joint_names if name not in names]:
            reason = OTHER_JOINTS if names and len(missing) == len(self.joint_names) else MISSING_JOINTS
            raise SampleError(f"names: expected {', '.join(missing)}, got {listed(names, 'names')}", reason)
        if repeated := ", ".join(name for name in self.joint_names if names.count(name) > 1):
            raise SampleError(f"names: expected each joint once, got {repeated} repeatedly", "repeated joints")
        return np.array([names.index(name) for name in self.joint_names], dtype=np.intp)


class ArmJoints:
    """Finds the arm's joints in a stream of messages, of which some may have other joints alone, such as a gripper's.

    wanted, arm_prefix, by_scheme: names, prefix of the arm, whether other names will do (`resolve_joint_names`).
    mapping: that of the arm; None until a message came which has all of its joints.
    """

    def __init__(self, wanted: Sequence[str], arm_prefix: str = "", by_scheme: bool = True) -> None:
        self._wanted = wanted, arm_prefix, by_scheme
        self.mapping: JointMapping | None = None
        self._known: set[tuple[str, ...]] = set()  # names that came, and leave no doubt about the arm

    def mapping_for(self, names: tuple[str, ...]) -> JointMapping:
        """What takes the arm's joints out of a message with these names.

        Raises ArgumentError: several arms fit, together or in turn.
        Raises SampleError: no message had the arm's joints yet, nor has this one.
        """
        if self.mapping is not None and names in self._known:
            return self.mapping
        own = self.mapping.joint_names if self.mapping else ()
        arm = resolve_joint_names((*names, *own), *self._wanted)
        if own and arm != own:
            choice = f"{own[0]} and {arm[0]} to choose from"
            raise ArgumentError(f"arm_prefix: expected the prefix of one arm (or joint_names), got {choice}")
        self.mapping = self.mapping or JointMapping(arm)
        if len(self._known) > MOST_KNOWN:  # of a stream whose names never repeat
            self._known.clear()
        self._known.add(names)
        return self.mapping


def _rows(values: tuple[ArrayLike, ArrayLike, ArrayLike], count: int) -> FloatArray:
    """The three fields (3, count)."""
    try:
        rows = np.array(values, dtype=np.float64)
    except ValueError:  # they are not of one length
        rows = np.empty(0)
    if rows.shape == (3, count):
        return rows
    shapes = zip(FIELDS, map(np.shape, values), strict=True)
    field, size = next((field, math.prod(shape)) for field, shape in shapes if shape != (count,))
    if size == 0:
        what, reason = f"got none: the message comes without {field}, take a topic that has it", f"no {field}"
    else:
        what, reason = f"as many as names, got {size}", "lengths disagree"
    raise SampleError(f"{field}: expected {count} values, {what}", reason)
