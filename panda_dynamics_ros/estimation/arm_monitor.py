# SPDX-License-Identifier: Apache-2.0
"""One pipeline from samples of joint states to all that the nodes publish.

The nodes, `replay` and `batch` call it, so that they cannot differ. A sample is a block of one row. Samples
are checked once, and their momentum terms are computed once: the filters of the payload estimator and of the contact
detector, which is the momentum observer, both start from them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.newton_euler import link_side_sample
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.estimation.contact import Contact, ContactDetector
from panda_dynamics_ros.estimation.estimate import PayloadEstimate
from panda_dynamics_ros.estimation.external_torques import ContactWrench, contact_wrench
from panda_dynamics_ros.estimation.hypotheses import CONTACT
from panda_dynamics_ros.estimation.options import EstimatorOptions, Shape
from panda_dynamics_ros.estimation.payload_estimator import PayloadEstimator
from panda_dynamics_ros.estimation.regression import BLOCK, ArmTerms, Rows
from panda_dynamics_ros.estimation.validation import STAMP_RESOLUTION, SampleValidator, without_gaps
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.description import RobotDescription, require_robot
from panda_dynamics_ros.robot.libfranka_state import FrankaState

PUBLISH_PERIOD = 0.02  # s


@dataclass(eq=False, slots=True)  # a frozen one takes a microsecond more
class ArmOutput:
    """What the arm's model and the estimators say after one sample.

    stamp: s.
    gravity_torques, coriolis_torques: (n,), N m.
    T_base_ee: (4, 4).
    external_torques: (n,), N m, of the momentum observer, without torques of the known payload and those that the
        estimator has learnt to be errors of the arm's model.
    contact: the last contact, which may still last; None before the first one.
    contact_changed: whether a contact began, ended or moved to another link with this sample.
    estimate: the payload.
    is_due: whether this estimate is one of those that the node publishes: one in each `publish_period_s` of stamps, and
        each change at once.
    residual: (n,), N m, the filtered torque that neither model nor payload explains; nan while the filters settle.
    """

    stamp: float
    gravity_torques: FloatArray
    coriolis_torques: FloatArray
    T_base_ee: FloatArray
    external_torques: FloatArray
    contact: Contact | None
    contact_changed: bool
    estimate: PayloadEstimate
    is_due: bool
    residual: FloatArray
    _wrench: Callable[[], ContactWrench]

    @property
    def wrench(self) -> ContactWrench:
        """At the flange, that explains the external torques; it is computed when it is asked for."""
        return self._wrench()


class ArmRows(NamedTuple):
    """What `ArmMonitor` says of N samples.

    external_torques, residual: (N, n), as those of `ArmOutput`.
    unexplained: (N, n), share of the residual's variance that a residual map leaves open; 1 without one.
    estimates: each new estimate, with the index of the sample after which it holds, and whether it is due.
    contacts: each change of the contact, with the index of its sample.
    """

    external_torques: FloatArray
    residual: FloatArray
    unexplained: FloatArray
    estimates: list[tuple[int, PayloadEstimate, bool]]
    contacts: list[tuple[int, Contact]]


class ArmMonitor:
    """Dynamics, payload, external torques and contacts of one arm.

    robot: the arm with all that it always carries, without the payload.
    shape: of the payloads, if it is known (see `PayloadEstimator`).
    external_torque_bandwidth_hz: of the external torques.
    contact: options of the contact detector (see `ContactOptions`).
    publish_period_s: between two estimates that are due; the attribute may be set.
    options: of the payload estimator (see `EstimatorOptions`).
    Raises ArgumentError: `robot` is not a robot, an option is unknown or not positive, or the shape is malformed.
    """

    def __init__(
        self, robot: RobotDescription, *, shape: Shape | str | None = None, external_torque_bandwidth_hz: float = 10.0,
        contact: Mapping[str, float] | None = None, publish_period_s: float = PUBLISH_PERIOD, **options: float,
    ) -> None:  # fmt: skip
        self.robot = require_robot(robot)
        self._shape, self._options = Shape.of(shape), options
        self.contact_detector = ContactDetector(robot, external_torque_bandwidth_hz, **(contact or {}))
        self.publish_period_s = checks.number(publish_period_s, "publish_period_s", minimum=0.0)
        self._terms, self._published = ArmTerms(robot), -math.inf
        others = "shape", "external_torque_bandwidth_hz", "contact", "publish_period_s"
        self._dynamics_validator = SampleValidator(robot, EstimatorOptions.of(options, *others).max_gap_s)
        self._unexplained, self._arm_errors, self._external = np.ones(robot.n), *np.zeros((2, robot.n))

    @cached_property
    def payload_estimator(self) -> PayloadEstimator:
        """The payload estimator, made at its first use: who needs torques alone, or at once, does not wait for it."""
        return PayloadEstimator(self.robot, shape=self._shape, **self._options)

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, `payload` (flange frame) is known: neither external torque nor contact.

        `update` calls it with each estimate that is due; without any (`payload` false) the caller does.
        """
        self.contact_detector.carry(payload.vector)

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> ArmOutput:
        """All outputs after one more sample.

        stamp: s. A stamp that repeats, or steps back a little, is ignored by the filters; after a gap they restart.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.
            A sample that the arm cannot have measured (`SampleValidator`) is ignored by the filters, too.
        Raises ArgumentError: an argument is not finite, or not of shape (n,). All filters are as they were before.
        """
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        stamp, (external, residual, unexplained) = checks.number(stamp, "stamp"), np.empty((3, 1, self.robot.n))
        found = ArmRows(external, residual, unexplained, [], [])
        self._follow(np.array([stamp]), q[None], dq[None], tau[None], found)
        state = robot_state(self.robot, q, dq)
        return ArmOutput(
            stamp, state.gravity_torques, state.coriolis_torques, state.T_base_ee, external[0],
            self.contact_detector.contact, bool(found.contacts), self.payload_estimator.estimate,
            any(is_due for *_, is_due in found.estimates), residual[0],
            partial(contact_wrench, self.robot, q.copy(), external[0], unexplained[0]),
        )  # fmt: skip

    def update_state(self, state: Any) -> ArmOutput:
        """`update` with a libfranka RobotState, as pylibfranka, panda-python, franky or franka-rs give it.

        The stamp is the robot's time. It is called in the control loop, since a robot takes one connection only.

        Raises ArgumentError: `state` has no `time`, `q`, `dq` or `tau_J`, or one of them is malformed.
        """
        return self.update(*FrankaState(state).sample)

    def update_rows(
        self, stamp: ArrayLike, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, *, payload: bool = True
    ) -> ArmRows:
        """`update` with N samples, stamp (N,) and q, dq, tau (N, n); without `payload`, no estimates of it.

        External torques and contacts need no estimate: a program that has only these calls it without.
        """
        stamps = np.atleast_1d(checks.for_kernel(checks.real_array(stamp, "stamp")))
        checks.exactly(stamps, (stamps.size,), "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau, len(stamps))
        external, residual, unexplained = np.empty((3, len(stamps), self.robot.n))
        found = ArmRows(external, residual, unexplained, [], [])
        for first in range(0, len(stamps), BLOCK):
            part = slice(first, first + BLOCK)
            block = ArmRows(external[part], residual[part], unexplained[part], [], [])
            self._follow(stamps[part], q[part], dq[part], tau[part], block, payload)
            found.estimates.extend((first + k, estimate, due) for k, estimate, due in block.estimates)
            found.contacts.extend((first + k, contact) for k, contact in block.contacts)
        return found

    def _follow(
        self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray, found: ArmRows, payload: bool = True
    ) -> None:
        """All filters follow N samples; what they say of each goes into `found`."""
        validator, residual = self._dynamics_validator, np.full(self.robot.n, math.nan)
        if payload:
            validator, residual = self.payload_estimator.validator, self.payload_estimator.residual
        kept, steps = validator.select(stamp, q, dq, tau)
        if len(kept) < len(stamp):
            if payload:  # the estimator may have something to say of samples that are not used
                was = self.payload_estimator.estimate
                self.payload_estimator.ignore()
                if self.payload_estimator.estimate is not was:
                    found.estimates.append((0, self.payload_estimator.estimate, False))
            stamp, q, dq, tau = (values[kept] for values in (stamp, q, dq, tau))
        for part in without_gaps(steps):
            if steps[part][0] <= 0.0:
                self._terms.resume(q[part][0])
            rows = self._terms.rows(stamp[part], q[part], dq[part], tau[part])
            self._follow_rows(rows, steps[part], part.start, kept, found, payload)
        if len(kept) < len(found.residual):  # at samples that were not used, all of it stays what it was
            last = np.searchsorted(kept, np.arange(len(found.residual)), side="right")
            for values, before in zip(found[:3], (self._external, residual, self._unexplained), strict=True):
                values[:] = np.vstack((before, values[: len(kept)]))[last]
        if len(found.residual):
            self._external, self._unexplained = found.external_torques[-1].copy(), found.unexplained[-1].copy()

    def _follow_rows(self, rows: Rows, steps: FloatArray, first: int, kept: Any, found: ArmRows, payload: bool) -> None:
        """The contact detector follows N samples without a gap, with `payload` one update of the estimator after it.

        They are those from `first` on of the samples that are `kept`: in this order they come into `found`.
        """
        detector, k, end = self.contact_detector, 0, len(steps)
        while k < len(steps):
            residual: FloatArray | float = math.nan
            if payload:
                estimator = self.payload_estimator
                before, residual = estimator.estimate, estimator.residual if steps[k] > 0.0 else math.nan
                end = estimator.advance(rows, steps, k)
            here, last = slice(first + k, first + end), end - 1
            external, contacts = detector.follow(rows, steps[:end], k)
            np.add(external, self._arm_errors, out=found.external_torques[here])
            found.residual[here], found.unexplained[here] = residual, rows.unexplained[k:end]
            if payload:
                estimate = estimator.estimate
                found.residual[first + last] = estimator.residual
                if estimate.event is not None and estimate.event.kind == CONTACT:
                    was = detector.contact
                    detector.begin(estimate.stamp, rows.q[last])
                    if detector.contact is not was and detector.contact is not None:
                        contacts.append((last, detector.contact))
                if estimate is not before:
                    is_due = self._is_to_publish(estimate, float(rows.stamp[last]))
                    found.estimates.append((int(kept[first + last]), estimate, is_due))
                    if is_due:
                        detector.carry(estimate.vector, estimator.delay)
                        self._arm_errors = estimator.error_torques
            found.contacts.extend((int(kept[first + j]), contact) for j, contact in contacts)
            k = end

    def _is_to_publish(self, estimate: PayloadEstimate, stamp: float) -> bool:
        """Whether the estimate after the sample at `stamp` is due; where stamps jump back, a recording begins anew."""
        if estimate.stamp != stamp:
            return False  # the sample was only filtered, or ignored for its stamp
        if estimate.event is None and 0.0 <= stamp - self._published < self.publish_period_s - STAMP_RESOLUTION:
            return False
        self._published = stamp
        return True
