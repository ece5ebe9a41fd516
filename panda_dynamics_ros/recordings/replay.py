# SPDX-License-Identifier: Apache-2.0
"""A recording run through the dynamics and the payload estimator, as the nodes would, offline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import (
    ChangeEvent,
    ContactDetector,
    MomentumObserver,
    PayloadEstimate,
    PayloadEstimator,
    Shape,
    WrenchEstimator,
)
from panda_dynamics_ros.estimation.payload.publication import PublicationSchedule
from panda_dynamics_ros.estimation.regression import MomentumRegression
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.samples.joint_dataset import JointDataset


@dataclass(frozen=True)
class Replay:
    """What the nodes would have published over a recording of N samples.

    Attributes
    ----------
    stamp: (N,), s.
    gravity_torques, coriolis_torques, measured_torques: (N, n), N m.
    external_torques: (N, n), N m, of the momentum observer; a payload counts as external.
    contact_wrench: (N, 6), N and N m, force first, in base axes: what at the flange explains the external torques.
    touched_link: (N,), link 1..n that a contact is on, 0 while nothing touches the arm; a pick is a contact, too,
        until the payload is known.
    pose: (N, 4, 4), T_base_ee.
    residual: (N, n), N m, low-passed measured torque that neither the arm's model nor the payload explains;
        nan while the filters settle.
    mass, mass_std: (N,), kg.
    com, com_std: (N, 3), m, in the flange frame.
    published: (K,), the samples after which an estimate was published, and `estimates`, these K.
    events: detected changes.
    last: the last estimate while a payload was carried, or of the recording where none was put down.
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
    published: NDArray[np.intp]
    estimates: tuple[PayloadEstimate, ...]
    events: tuple[ChangeEvent, ...]
    last: PayloadEstimate

    @property
    def torque_residual_rms(self) -> FloatArray:
        """(n,), N m: root mean square of `residual` over the recording."""
        return np.sqrt(np.nanmean(self.residual**2, axis=0))


def replay(
    data: JointDataset,
    robot: RobotModel,
    progress: Callable[[int, int, PayloadEstimate], None] | None = None,
    *,
    shape: Shape | str | None = None,
    **options: float,
) -> Replay:
    """Run `data` through the dynamics and the estimator.

    Parameters
    ----------
    data: a recording.
    robot: the arm's model, without payload; with its end effector (`load_robot`), which is none.
    progress: called now and then with (samples done, samples in all, estimate).
    shape, options: see `PayloadEstimator`.

    Raises
    ------
    ArgumentError: an option is unknown or not positive, or the shape is none.
    """
    estimator = PayloadEstimator(robot, shape=shape, **options)
    # The estimator's own filters take a contact for granted, and a new payload for one that was always there.
    regression = MomentumRegression(robot, "flange", estimator.options.bandwidth_hz)
    observer, schedule, wrenches = MomentumObserver(robot), PublicationSchedule(), WrenchEstimator(robot)
    detector = ContactDetector(robot)
    count = len(data.stamp)
    mass, mass_std, com, com_std = np.empty(count), np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    residual, external = np.full((count, robot.n), np.nan), np.empty((count, robot.n))
    wrench, touched = np.empty((count, 6)), np.zeros(count, dtype=np.intp)
    published: dict[int, PayloadEstimate] = {}
    events: list[ChangeEvent] = []
    carried: PayloadEstimate | None = None
    previous = data.stamp[0]
    for k in range(count):
        before = estimator.estimate
        estimate = estimator.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k])
        if estimate is not before and estimate.event is not None:
            events.append(estimate.event)
            if estimate.event.kind == "release":
                carried = before
        if schedule.due(estimate, data.stamp[k]):
            published[k] = estimate
            detector.carry(estimate.payload)  # what is known to be carried touches nothing
        external[k] = observer.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k])
        wrench[k] = wrenches.estimate(data.q[k], external[k]).wrench
        if (contact := detector.update(data.stamp[k], data.q[k], data.dq[k], data.tau[k])) is not None:
            touched[k] = contact.link
        dt = data.stamp[k] - previous
        previous = data.stamp[k]
        if dt > estimator.options.max_gap_s:
            regression.restart()
        Y, y = regression.step(dt, data.q[k], data.dq[k], data.tau[k])
        if regression.settled:
            residual[k] = y - Y @ estimate.vector
        mass[k], mass_std[k], com[k], com_std[k] = estimate.mass, estimate.std[0], estimate.com, estimate.com_std
        if progress is not None and k % 500 == 0:
            progress(k, count, estimate)
    if progress is not None:
        progress(count, count, estimator.estimate)
    return Replay(
        stamp=data.stamp,
        measured_torques=data.tau,
        gravity_torques=robot.gravity_torques(data.q),
        coriolis_torques=robot.coriolis_torques(data.q, data.dq),
        external_torques=external,
        contact_wrench=wrench,
        touched_link=touched,
        pose=robot.pose(data.q, "ee"),
        residual=residual,
        mass=mass,
        mass_std=mass_std,
        com=com,
        com_std=com_std,
        published=np.array(list(published), dtype=np.intp),
        estimates=tuple(published.values()),
        events=tuple(events),
        last=carried or estimator.estimate,
    )
