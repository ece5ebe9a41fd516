# SPDX-License-Identifier: Apache-2.0
"""A recording run through the pipeline of the nodes (`ArmMonitor`), offline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import ArmMonitor, ChangeEvent, PayloadEstimate, Shape, WrenchEstimator
from panda_dynamics_ros.estimation.payload.estimate import SETTLING, WAITING
from panda_dynamics_ros.estimation.payload.sample_intake import REFUSED_SHARE
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.recordings.dataset import MISPLACED_STAMPS
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joint_mapping import name_conflict
from panda_dynamics_ros.samples.sample_gate import IMPLAUSIBLE

AT_ONCE = 2048
"""Samples between two reports of progress."""


@dataclass(frozen=True)
class Replay:
    """What the nodes would have published over a recording of N samples.

    Attributes
    ----------
    stamp: (N,), s.
    gravity_torques, coriolis_torques, measured_torques: (N, n), N m, the last on the links (see `robot.effort`).
    external_torques: (N, n), N m, of the momentum observer, without those of the payload as estimated so far.
    contact_wrench: (N, 6), N and N m, force first, in base axes: what at the flange explains the external torques.
    touched_link: (N,), link 1..n that a contact is on, 0 while nothing touches the arm; a pick counts as a contact
        until the payload is known.
    pose: (N, 4, 4), T_base_ee.
    residual: (N, n), N m, low-passed measured torque that neither the arm's model nor the payload explains;
        nan while the filters settle.
    mass, mass_std: (N,), kg.
    com, com_std: (N, 3), m, in the flange frame.
    com_is_known: (N,), `PayloadEstimate.com_is_known` of each estimate.
    published: (K,), the samples after which an estimate was published, and `estimates`, these K.
    events: detected changes.
    last: the last estimate while a payload was carried, or of the recording where none was put down.
    problem: that the joints are called as another arm's, that many samples were left out, the sentence of
        `PayloadEstimate.problem` that was shown longest, or that the filters never settled; empty where all was well.
    joint_offsets, joint_offsets_std: (n,), N m, constant torques that the joints' sensors add, as learnt at the end.
    """

    stamp: FloatArray
    measured_torques: FloatArray
    gravity_torques: FloatArray
    coriolis_torques: FloatArray
    external_torques: FloatArray
    contact_wrench: FloatArray
    touched_link: NDArray[np.intp]
    pose: FloatArray
    residual: FloatArray
    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray
    com_is_known: NDArray[np.bool_]
    published: NDArray[np.intp]
    estimates: tuple[PayloadEstimate, ...]
    events: tuple[ChangeEvent, ...]
    last: PayloadEstimate
    problem: str
    joint_offsets: FloatArray
    joint_offsets_std: FloatArray

    @property
    def torque_residual_rms(self) -> FloatArray:
        """(n,), N m: root mean square of `residual` over the recording."""
        known = self.residual[~np.isnan(self.residual).any(axis=1)]
        return np.sqrt((known**2).mean(axis=0)) if len(known) else np.full(self.residual.shape[1], math.nan)


def replay(
    data: JointDataset,
    robot: RobotModel,
    progress: Callable[[int, int, PayloadEstimate], None] | None = None,
    *,
    shape: Shape | str | None = None,
    **options: Any,
) -> Replay:
    """What the nodes would publish over `data`.

    Parameters
    ----------
    data: a recording.
    robot: the arm's model with its end effector (`load_robot`), without the payload.
    progress: called now and then with (samples done, samples in all, estimate).
    shape, options: see `ArmMonitor`.

    Raises
    ------
    ArgumentError: an option is unknown or not positive, or the shape is malformed.
    """
    monitor, count, n = ArmMonitor(robot, shape=shape, **options), len(data.stamp), robot.n
    mass, mass_std, com, com_std = np.empty(count), np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    com_is_known, touched = np.zeros(count, dtype=bool), np.zeros(count, dtype=np.intp)
    external, residual = np.empty((2, count, n))
    estimates = [(0, monitor.payload_estimator.estimate)]  # each with the sample from which on it holds
    published: dict[int, PayloadEstimate] = {}
    for first in range(0, count, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        found = monitor.update_rows(data.stamp[part], data.q[part], data.dq[part], data.tau[part])
        external[part], residual[part] = found.external_torques, found.residual
        for k, estimate, is_due in found.estimates:
            estimates.append((first + k, estimate))
            if is_due:
                published[first + k] = estimate
        for k, contact in found.contacts:
            touched[first + k :] = contact.link if contact.lasts else 0
        if progress is not None:
            progress(min(first + AT_ONCE, count), count, estimates[-1][1])
    events: list[ChangeEvent] = []
    problems: Counter[str] = Counter()
    carried = before = None
    ends = [*(k for k, _ in estimates[1:]), count]
    for (k, estimate), end in zip(estimates, ends, strict=True):
        part = slice(k, end)
        mass[part], mass_std[part], com[part] = estimate.mass, estimate.std[0], estimate.com
        com_std[part], com_is_known[part] = estimate.com_std, estimate.com_is_known
        problems[estimate.problem] += end - k
        if estimate.event is not None:
            events.append(estimate.event)
            if estimate.event.kind == "release":
                carried = before
        before = estimate
    del problems[""]
    arm_errors = monitor.payload_estimator.arm_errors
    return Replay(
        stamp=data.stamp,
        measured_torques=robot.link_side_torques(data.q, data.tau),
        gravity_torques=robot.gravity_torques(data.q),
        coriolis_torques=robot.coriolis_torques(data.q, data.dq),
        external_torques=external,
        contact_wrench=WrenchEstimator(robot).wrenches(checks.for_kernel(data.q), data.dq, external),
        touched_link=touched,
        pose=robot.pose(data.q, "ee"),
        residual=residual,
        mass=mass,
        mass_std=mass_std,
        com=com,
        com_std=com_std,
        com_is_known=com_is_known,
        published=np.array(list(published), dtype=np.intp),
        estimates=tuple(published.values()),
        events=tuple(events),
        last=carried or estimates[-1][1],
        problem=_problem(data, robot, problems, estimates[-1][1]),
        joint_offsets=arm_errors.offset,
        joint_offsets_std=arm_errors.offset_std,
    )


def recording_problem(names: Sequence[str], rejected: Mapping[str, int], used: int, robot: RobotDescription) -> str:
    """A sentence if a recording's joint names or left-out samples contradict the robot; else empty.

    Parameters
    ----------
    names: of the joints.
    rejected, used: how many samples were left out, by reason, and how many were not.
    """
    if conflict := name_conflict(robot, names):
        return conflict
    for reasons, what, remedy in (
        (IMPLAUSIBLE, "are implausible", "the units, the order of the joints, and that the recording is of one robot"),
        (
            MISPLACED_STAMPS,
            "do not follow the one before in time",
            "that their stamps are sorted, not rounded, and of one run",
        ),
    ):
        refused = {reason: rejected[reason] for reason in reasons if rejected.get(reason)}
        total = used + sum(refused.values())
        if sum(refused.values()) > REFUSED_SHARE * total:
            counts = ", ".join(f"{reason}: {count}" for reason, count in refused.items())
            return f"many of the {total} samples {what} ({counts}): check {remedy}"
    return ""


def _problem(data: JointDataset, robot: RobotModel, problems: Counter[str], last: PayloadEstimate) -> str:
    """See `Replay.problem`; `problems`: how often each sentence was shown."""
    if problem := recording_problem(data.names, data.rejected, len(data.stamp), robot):
        return problem
    if problems:
        return max(problems, key=problems.__getitem__)
    if last.status in (WAITING, SETTLING):
        return (
            f"{data.stamp[-1] - data.stamp[0]:.3g} s of samples are too few for the filters to settle: expected a "
            "second of motion without gaps; are the stamps in s?"
        )
    return ""
