# SPDX-License-Identifier: Apache-2.0
"""A recording run through the pipeline of the nodes (`ArmMonitor`), offline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate, contact_wrench
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.recordings.findings import AT_ONCE, Findings, Follower
from panda_dynamics_ros.robot.joint_dataset import JointDataset

LISTED = 6  # events in the representation of a result


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Findings):
    """What the nodes would have published over a recording of N samples, and what they would have found in it.

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
    joint_offsets: FloatArray
    joint_offsets_std: FloatArray

    def __repr__(self) -> str:
        last = self.last
        events = ", ".join(f"{event.kind} at {event.stamp - self.start:.2f} s" for event in self.events[:LISTED])
        events += f", ... ({len(self.events)})" if len(self.events) > LISTED else ""
        carried = f"{last.mass:.3f} ± {last.mass_margin:.3f} kg" if last.is_carried else "none found"
        problem = f", problem={self.problem!r}" if self.problem else ""
        span = f"{self.samples} samples over {self.end - self.start:.1f} s"
        return f"Replay({span}, payload: {carried} (95 %), events: {events or 'none'}{problem})"


def replay(
    data: JointDataset,
    robot: RobotModel,
    progress: Callable[[int, int, PayloadEstimate], None] | None = None,
    **options: Any,
) -> Replay:
    """What the nodes would publish over `data`.

    data: a recording.
    robot: the arm's model with its end effector (`load_robot`), without the payload.
    progress: called now and then with (samples done, samples in all, estimate).
    options: see `ArmMonitor`; its errors.
    """
    follower, count, n = Follower(robot, **options), len(data.stamp), robot.n
    touched, wrench = np.zeros(count, dtype=np.intp), np.empty((count, 6))
    external, residual = np.empty((2, count, n))
    estimates = [(0, follower.monitor.payload_estimator.estimate)]  # each with the sample from which on it holds
    published: dict[int, PayloadEstimate] = {}
    for first in range(0, count, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        found = follower.add(data.stamp[part], data.q[part], data.dq[part], data.tau[part])
        external[part], residual[part], unexplained = found[:3]
        wrench[part] = contact_wrench(robot, data.q[part], external[part], unexplained).wrench
        estimates += [(first + k, estimate) for k, estimate, _ in found.estimates]
        published |= {first + k: estimate for k, estimate, is_due in found.estimates if is_due}
        for k, contact in found.contacts:
            touched[first + k :] = contact.link if contact.lasts else 0
        if progress is not None:
            progress(min(first + AT_ONCE, count), count, estimates[-1][1])
    lengths = np.diff([*(k for k, _ in estimates), count])

    def held(name: str) -> NDArray[Any]:
        """Of each sample's estimate."""
        return np.repeat([getattr(estimate, name) for _, estimate in estimates], lengths, axis=0)

    arm_errors = follower.monitor.payload_estimator.arm_errors
    return Replay(
        **vars(follower.findings(data.names, data.rejected)),
        stamp=data.stamp,
        measured_torques=robot.link_side_torques(data.q, data.tau),
        gravity_torques=robot.gravity_torques(data.q),
        coriolis_torques=robot.coriolis_torques(data.q, data.dq),
        external_torques=external,
        contact_wrench=wrench,
        touched_link=touched,
        pose=robot.pose(data.q, "ee"),
        residual=residual,
        mass=held("mass"),
        mass_std=held("std")[:, 0],
        com=held("com"),
        com_std=held("com_std"),
        com_is_known=held("com_is_known"),
        published=np.array(list(published), dtype=np.intp),
        estimates=tuple(published.values()),
        joint_offsets=arm_errors.offset,
        joint_offsets_std=arm_errors.offset_std,
    )
