# SPDX-License-Identifier: Apache-2.0
"""A recording run through the pipeline of the nodes (`ArmMonitor`), offline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import ArmMonitor, ChangeEvent, PayloadEstimate, Shape
from panda_dynamics_ros.estimation.payload.estimate import SETTLING, WAITING
from panda_dynamics_ros.estimation.payload.sample_intake import REFUSED_SHARE
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.samples.joint_dataset import JointDataset
from panda_dynamics_ros.samples.joint_mapping import doubt_about
from panda_dynamics_ros.samples.sample_gate import IMPLAUSIBLE


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
    com_is_known = np.zeros(count, dtype=bool)
    gravity, coriolis, external, residual = np.empty((4, count, n))
    pose, wrench, touched = np.empty((count, 4, 4)), np.empty((count, 6)), np.zeros(count, dtype=np.intp)
    published: dict[int, PayloadEstimate] = {}
    events: list[ChangeEvent] = []
    problems: Counter[str] = Counter()
    carried, before = None, monitor.payload_estimator.estimate
    for k in range(count):
        output = monitor.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k])
        estimate = output.estimate
        if estimate.event is not None:
            events.append(estimate.event)
            if estimate.event.kind == "release":
                carried = before
        before = estimate
        if output.is_due:
            published[k] = estimate
        gravity[k], coriolis[k], pose[k] = output.gravity_torques, output.coriolis_torques, output.T_base_ee
        external[k], residual[k], wrench[k] = output.external_torques, output.residual, output.wrench.wrench
        if output.contact is not None and output.contact.lasts:
            touched[k] = output.contact.link
        problems[estimate.problem] += 1
        mass[k], mass_std[k], com[k], com_std[k] = estimate.mass, estimate.std[0], estimate.com, estimate.com_std
        com_is_known[k] = estimate.com_is_known
        if progress is not None and k % 500 == 0:
            progress(k, count, estimate)
    if progress is not None:
        progress(count, count, before)
    del problems[""]
    arm_errors = monitor.payload_estimator.arm_errors
    return Replay(
        stamp=data.stamp,
        measured_torques=robot.link_side_torques(data.q, data.tau),
        gravity_torques=gravity,
        coriolis_torques=coriolis,
        external_torques=external,
        contact_wrench=wrench,
        touched_link=touched,
        pose=pose,
        residual=residual,
        mass=mass,
        mass_std=mass_std,
        com=com,
        com_std=com_std,
        com_is_known=com_is_known,
        published=np.array(list(published), dtype=np.intp),
        estimates=tuple(published.values()),
        events=tuple(events),
        last=carried or before,
        problem=_problem(data, robot, problems, before),
        joint_offsets=arm_errors.offset,
        joint_offsets_std=arm_errors.offset_std,
    )


def _problem(data: JointDataset, robot: RobotModel, problems: Counter[str], last: PayloadEstimate) -> str:
    """See `Replay.problem`; `problems`: how often each sentence was shown."""
    refused = {reason: data.rejected[reason] for reason in IMPLAUSIBLE if reason in data.rejected}
    total = len(data.stamp) + sum(refused.values())
    if doubt := doubt_about(robot, data.names):
        return doubt
    if sum(refused.values()) > REFUSED_SHARE * total:
        counts = ", ".join(f"{reason}: {count}" for reason, count in refused.items())
        return (
            f"many of the {total} samples are implausible ({counts}): check the units, the order of the joints, and "
            "that the recording is of one robot"
        )
    if problems:
        return max(problems, key=problems.__getitem__)
    if last.status in (WAITING, SETTLING):
        return (
            f"{data.stamp[-1] - data.stamp[0]:.3g} s of samples are too few for the filters to settle: expected a "
            "second of motion without gaps; are the stamps in s?"
        )
    return ""
