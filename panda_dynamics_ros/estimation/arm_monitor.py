# SPDX-License-Identifier: Apache-2.0
"""One pipeline from a sample of joint states to all that the nodes publish.

The nodes, `replay` and the demo call it, so that they cannot differ. The momentum terms of a sample are computed once;
the filters of the payload estimator, the momentum observer and the contact detector all start from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.estimation.contact.detector import Contact, ContactDetector
from panda_dynamics_ros.estimation.contact.wrench import ContactWrench, WrenchEstimator
from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.payload.estimate import PayloadEstimate
from panda_dynamics_ros.estimation.payload.estimator import PayloadEstimator
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import PERIOD, PublicationSchedule
from panda_dynamics_ros.estimation.regression import MomentumRegression, MomentumTerms
from panda_dynamics_ros.estimation.sample_clock import SampleClock
from panda_dynamics_ros.robot import InertialParameters, RobotDescription


class DynamicsOutput(NamedTuple):
    """What the arm's model says about one sample.

    Attributes
    ----------
    stamp: s.
    gravity_torques, coriolis_torques: (n,), N m.
    T_base_ee: (4, 4).
    external_torques: (n,), N m, of the momentum observer; torques of the known payload are not among them.
    wrench: at the flange, that explains the external torques.
    contact: the last contact, which may still last; None before the first one.
    contact_changed: whether a contact began, ended or moved to another link with this sample.
    """

    stamp: float
    gravity_torques: FloatArray
    coriolis_torques: FloatArray
    T_base_ee: FloatArray
    external_torques: FloatArray
    wrench: ContactWrench
    contact: Contact | None
    contact_changed: bool


class PayloadOutput(NamedTuple):
    """What is known of the payload after one sample.

    Attributes
    ----------
    estimate: the payload.
    is_due: whether this estimate is one of those that the node publishes (see `PublicationSchedule`).
    residual: (n,), N m, the filtered torque that neither the arm's model nor the payload explains; nan while the
        filters settle.
    """

    estimate: PayloadEstimate
    is_due: bool
    residual: FloatArray


class ArmOutput(NamedTuple):
    """All that the nodes publish after one sample: the fields of `DynamicsOutput` and `PayloadOutput`."""

    stamp: float
    gravity_torques: FloatArray
    coriolis_torques: FloatArray
    T_base_ee: FloatArray
    external_torques: FloatArray
    wrench: ContactWrench
    contact: Contact | None
    contact_changed: bool
    estimate: PayloadEstimate
    is_due: bool
    residual: FloatArray


class ArmMonitor:
    """Dynamics, payload, external torques and contacts of one arm, sample by sample.

    Parameters
    ----------
    robot: the arm with all that it always carries, without the payload.
    shape: of the payloads, if it is known (see `PayloadEstimator`).
    external_torque_bandwidth_hz: of the momentum observer.
    contact: options of the contact detector (see `ContactOptions`).
    publish_period_s: between two estimates that are due; a detected change is due at once.
    options: of the payload estimator (see `EstimatorOptions`).

    Raises
    ------
    ArgumentError: an option is unknown or not positive, or the shape is malformed.
    """

    def __init__(
        self,
        robot: RobotDescription,
        *,
        shape: Shape | str | None = None,
        external_torque_bandwidth_hz: float = 10.0,
        contact: Mapping[str, float] | None = None,
        publish_period_s: float = PERIOD,
        **options: float,
    ) -> None:
        self.robot = robot
        self.payload_estimator = PayloadEstimator(robot, shape=shape, **options)
        self.contact_detector = ContactDetector(robot, **(contact or {}))
        self.schedule = PublicationSchedule(publish_period_s)
        self._observer = MomentumObserver(robot, external_torque_bandwidth_hz)
        self._wrench_estimator = WrenchEstimator(robot)
        self._terms = MomentumTerms(robot)
        # The estimator changes its own filters at a contact or a pick; the residual needs filters that go on.
        self._regression = MomentumRegression(robot.n, self.payload_estimator.options.bandwidth_hz)
        self._clock = SampleClock(self.payload_estimator.options.max_gap_s)
        self._residual = np.full(robot.n, math.nan)

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, `payload` (flange frame) is known: neither external torque nor contact.

        `update` calls it with each estimate that is due; without a payload estimator beside it (`update_dynamics`) the
        caller does.
        """
        self._observer.carry(payload)
        self.contact_detector.carry(payload)

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> ArmOutput:
        """All outputs after one more sample.

        Parameters
        ----------
        stamp: s. A stamp that repeats, or steps back a little, is ignored by the filters; after a gap they restart.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.

        Raises
        ------
        ArgumentError: an argument is not finite, or not of shape (n,). All filters are as they were before.
        """
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        terms = self._terms.at(q, dq, tau)
        payload = self._payload_output(stamp, q, dq, tau, terms)
        if payload.is_due:
            self.carry(payload.estimate.payload)
        return ArmOutput(*self._dynamics_output(stamp, q, dq, terms), *payload)

    def update_dynamics(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> DynamicsOutput:
        """The part of `update` that needs no payload estimate (node `dynamics`)."""
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        return self._dynamics_output(stamp, q, dq, self._terms.at(q, dq, tau))

    def update_payload(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> PayloadOutput:
        """The payload part of `update` (node `payload_estimator`)."""
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        return self._payload_output(stamp, q, dq, tau, self._terms.at(q, dq, tau))

    def _dynamics_output(self, stamp: float, q: FloatArray, dq: FloatArray, terms: MomentumTerms) -> DynamicsOutput:
        state = robot_state(self.robot, q, dq)
        external = self._observer.update_terms(stamp, terms)
        before = self.contact_detector.contact
        self.contact_detector.update_terms(stamp, q, dq, terms)
        contact = self.contact_detector.contact
        return DynamicsOutput(
            stamp, state.gravity_torques, state.coriolis_torques, state.T_base_ee, external,
            self._wrench_estimator.estimate(q, external), contact, contact is not before,
        )  # fmt: skip

    def _payload_output(
        self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray, terms: MomentumTerms
    ) -> PayloadOutput:
        estimate = self.payload_estimator.update_terms(stamp, q, dq, tau, terms)
        residual = self._residual_after(stamp, terms, estimate.vector)
        return PayloadOutput(estimate, self.schedule.is_due(estimate, stamp), residual)

    def _residual_after(self, stamp: float, terms: MomentumTerms, payload: FloatArray) -> FloatArray:
        dt = self._clock.step(stamp)
        if dt is None:
            return self._residual
        if dt == 0.0:
            self._regression.restart()
        Y, y = self._regression.step(dt, terms)
        self._residual = y - Y @ payload if self._regression.settled else np.full(self.robot.n, math.nan)
        return self._residual
