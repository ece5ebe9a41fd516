# SPDX-License-Identifier: Apache-2.0
"""Checks of recordings and fits: a recording that no arm can be identified from is refused, with the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.identification.columns import LinearModel
from panda_dynamics_ros.identification.identifiability import IdentifiabilityWarning
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot.joint_dataset import JointDataset

LEAST_DURATION_S = 2.0
LEAST_MOTION = 0.05  # rad
_SATURATED = 0.99  # share of the effort limit
_OFTEN = 0.01  # share of the samples
_FOREIGN = 0.5  # share of the torque that stays unexplained
_FAR_OUT = 6.0  # times the largest position limit: no arm turns its joints that often
_WRONG_UNIT = 5.0  # times: noise and lag make the ratio of derivatives and velocities 0.8 to 1.2


class RecordingChecks:
    """Refuses recordings from which no model can be identified, and warns of saturated torques, seen one by one.

    Attributes
    ----------
    names: source and name of the first joint of each.
    """

    def __init__(self, robot: RobotModel) -> None:
        self._robot, self.names = robot, list[tuple[str, str]]()
        self._total, self._samples, self._saturated = 0.0, 0, np.zeros(robot.n)
        self._q, self._tau = (np.array([np.full(robot.n, np.inf), np.full(robot.n, -np.inf)]) for _ in range(2))
        self._wrong_units: DataError | None = None

    def add(self, data: JointDataset) -> bool:
        """See a recording; whether `check` may find nothing wrong with it and those before.

        Raises
        ------
        DataError: the number of joints is not the robot's.
        """
        check_joints([data], self._robot)
        self.names.append((data.source, data.names[0]))
        self._total += data.duration_s
        self._samples += len(data.stamp)
        for seen, values in ((self._q, data.q), (self._tau, data.tau)):
            seen[0], seen[1] = np.minimum(seen[0], values.min(axis=0)), np.maximum(seen[1], values.max(axis=0))
        self._saturated += (np.abs(data.tau) > _SATURATED * self._robot.limits.effort).sum(axis=0)
        if self._wrong_units is None and data.duration_s > 0.0:
            try:
                _check_units(data, self._robot)
            except DataError as error:  # what is wrong with all of them is said first
                self._wrong_units = error
        return self._wrong_units is None and data.duration_s > 0.0

    def join(self, other: RecordingChecks) -> None:
        """See the recordings that another has seen, after one's own."""
        self.names += other.names
        self._total += other._total
        self._samples += other._samples
        self._saturated += other._saturated
        for seen, more in ((self._q, other._q), (self._tau, other._tau)):
            seen[0], seen[1] = np.minimum(seen[0], more[0]), np.maximum(seen[1], more[1])
        self._wrong_units = self._wrong_units or other._wrong_units

    def check(self) -> None:
        """Judge all of them.

        Raises
        ------
        DataError: they are too short, nothing moves, units are wrong, or a joint's torque is constant.
        """
        sources = ", ".join(source for source, _ in self.names)
        if self._total < LEAST_DURATION_S:
            raise DataError(
                f"{sources}: expected at least {LEAST_DURATION_S:g} s of motion, got {self._total:.2f} s; no base "
                "parameter can be identified; one period of an exciting motion (panda-dynamics excite) shows all"
            )
        moved = self._q[1] - self._q[0]
        if (moved < LEAST_MOTION).all():
            raise DataError(
                f"{sources}: expected motion, got joints that move by {moved.max():.3f} rad at most; no inertia and no "
                "friction can be identified; record an exciting motion (panda-dynamics excite)"
            )
        if self._wrong_units is not None:
            raise self._wrong_units
        constant = [int(j) + 1 for j in np.flatnonzero(self._tau[1] == self._tau[0])]
        if constant:
            raise DataError(
                f"{sources}: expected measured torques, got a constant one at joints {constant}; neither their "
                "friction nor the base parameters of their links can be identified; record link-side torques of a "
                "moving arm"
            )
        often = self._saturated > _OFTEN * self._samples
        if often.any():
            joints = [int(j) + 1 for j in np.flatnonzero(often)]
            text = (
                f"{sources}: the torques of joints {joints} are at their limit, where they measure nothing; those "
                "samples do not count, and friction and base parameters of these joints are the less certain for it; "
                "move slower"
            )
            warnings.warn(IdentifiabilityWarning(text), stacklevel=3)


def _check_units(data: JointDataset, robot: RobotModel) -> None:
    """Refuse positions in degrees, and stamps or velocities in other units than the positions."""
    largest = float(np.abs(data.q).max())
    if largest > _FAR_OUT * float(np.abs([robot.limits.lower, robot.limits.upper]).max()):
        raise DataError(f"{data.source}: expected positions in rad, got up to {largest:.0f}; are they in degrees?")
    derivative = np.gradient(data.q, data.stamp, axis=0)
    ratio = float((data.dq * derivative).sum() / max((data.dq**2).sum(), 1e-12))
    if not 1.0 / _WRONG_UNIT < ratio < _WRONG_UNIT:
        raise DataError(
            f"{data.source}: expected velocities that are the positions' derivatives, got derivatives of {ratio:.2g} "
            "times the velocities; are stamps in s (not ms), positions in rad, velocities in rad/s?"
        )


def check_joints(recordings: Sequence[JointDataset], robot: RobotModel) -> None:
    """Refuse recordings of another number of joints.

    Raises
    ------
    DataError: the number of joints is not the robot's.
    """
    for data in recordings:
        if len(data.names) != robot.n:
            raise DataError(f"{data.source}: expected the {robot.n} joints of {robot.name}, got {len(data.names)}")


def without_saturated(samples: MotionSamples, robot: RobotModel) -> MotionSamples:
    """The rows in which no torque is at its limit.

    Raises
    ------
    DataError: there is none.
    """
    free = (np.abs(samples.tau) <= _SATURATED * robot.limits.effort).all(axis=1)
    if not free.any():
        raise DataError(
            f"data: expected torques within the limits of {robot.name}, got none; no base parameter can be identified; "
            "move slower, or is it another arm?"
        )
    rows = {name: getattr(samples, name)[free] for name in ("stamp", "q", "dq", "ddq", "tau", "block")}
    return replace(samples, **rows)


def check_fit(model: LinearModel, samples: MotionSamples, x: FloatArray) -> None:
    """Refuse a fit that leaves most of a torque unexplained.

    Raises
    ------
    DataError: the best fit leaves more than half of all torque unexplained, or more than half of a joint's torque
        and five times the prior's residual.
    """
    error = np.sqrt((model.unexplained(x) ** 2).mean(axis=0))
    size = np.sqrt((samples.tau**2).mean(axis=0))
    explained = 1.0 - np.linalg.norm(error) / np.linalg.norm(size)
    foreign = (error > _FOREIGN * size) & (error > 5.0 * model.prior.residual.std)
    if foreign.any() or explained < _FOREIGN:
        joints = [int(j) + 1 for j in np.flatnonzero(foreign if foreign.any() else error > _FOREIGN * size)]
        raise DataError(
            f"data: expected torques of {model.prior.name}, got {error.max():.2f} N m RMS that no such arm explains at "
            f"joints {joints}; none of its base parameters can be identified; is it another arm, another order of the "
            "joints or other units, or does it carry something?"
        )
