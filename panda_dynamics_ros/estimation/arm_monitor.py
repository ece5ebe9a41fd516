# SPDX-License-Identifier: Apache-2.0
"""One pipeline from a sample of joint states to all that the nodes publish.

The nodes, `replay` and the demo call it, so that they cannot differ. The momentum terms of a sample are computed once;
the filters of the payload estimator, the momentum observer and the contact detector all start from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.contact.detector import Contact, ContactDetector
from panda_dynamics_ros.estimation.contact.wrench import ContactWrench, WrenchEstimator
from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.payload.estimate import PayloadEstimate
from panda_dynamics_ros.estimation.payload.estimator import PayloadEstimator
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import PERIOD, PublicationSchedule
from panda_dynamics_ros.estimation.regression import ARM, MeanChange, MomentumRegression, MomentumTerms
from panda_dynamics_ros.estimation.residual_learner import ResidualLearner
from panda_dynamics_ros.estimation.sample_clock import SampleClock
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.residual_map import ResidualMap
from panda_dynamics_ros.samples.libfranka_state import sample_of

LIGHTEST, LIGHT = 0.02, 0.1
"""kg: a mass estimate up to which nothing is carried, where the map knows the arm and where it does not."""
AFTER_CONTACT = 5.0
"""s after something has touched the arm, for which its residual map learns nothing."""
AFTER_CHANGE = 1.0
"""s after a pick or a release: the filtered torque of 3 kg that were put down is below .02 N m after half of it."""


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
    learn_residual: whether the residual map goes on learning while nothing is carried (see `ResidualLearner`).
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
        learn_residual: bool = False,
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
        self._learner = ResidualLearner(robot, self.payload_estimator.options) if learn_residual else None
        self._busy_until = -math.inf

    @property
    def learns(self) -> bool:
        """Whether the residual map goes on learning."""
        return self._learner is not None

    @property
    def residual_map(self) -> ResidualMap | None:
        """The residual map in use, with what was learnt since the start."""
        return self.robot.residual_map if self._learner is None else self._learner.map

    def restore_map(self, residual_map: ResidualMap) -> None:
        """Go on from a residual map that was learnt before; to be called before the first sample.

        Raises
        ------
        ArgumentError: it is a map of another number of joints, or this monitor does not learn.
        """
        if self._learner is None or len(residual_map.sigma) != self.robot.n:
            raise ArgumentError("residual_map: expected one of this arm, and a monitor that learns")
        self._learner.start_from(residual_map)
        nothing = np.zeros(self.robot.n)
        self._terms.use_map(residual_map)
        self.payload_estimator.use_map(residual_map, self._terms.unexplained, MeanChange(nothing, nothing, nothing))

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

    def update_state(self, state: Any) -> ArmOutput:
        """`update` with a libfranka RobotState, as pylibfranka, panda-python, franky or franka-rs give it.

        The stamp is the robot's time. It is called in the control loop, since a robot takes one connection only.

        Raises
        ------
        ArgumentError: `state` has no `time`, `q`, `dq` or `tau_J`, or one of them is malformed.
        """
        return self.update(*sample_of(state))

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
        state, unexplained = robot_state(self.robot, q, dq), terms.unexplained if terms.has_map else None
        external = self._observer.update_terms(stamp, terms)
        before = self.contact_detector.contact
        self.contact_detector.update_terms(stamp, q, dq, terms)
        contact = self.contact_detector.contact
        return DynamicsOutput(
            stamp, state.gravity_torques, state.coriolis_torques, state.T_base_ee, external,
            self._wrench_estimator.estimate(q, external, unexplained), contact, contact is not before,
        )  # fmt: skip

    def _payload_output(
        self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray, terms: MomentumTerms
    ) -> PayloadOutput:
        estimate = self.payload_estimator.update_terms(stamp, q, dq, tau, terms)
        residual = self._residual_after(stamp, q, dq, terms, estimate)
        return PayloadOutput(estimate, self.schedule.is_due(estimate, stamp), residual)

    def _residual_after(
        self, stamp: float, q: FloatArray, dq: FloatArray, terms: MomentumTerms, estimate: PayloadEstimate
    ) -> FloatArray:
        dt = self._clock.step(stamp)
        if dt is None:
            return self._residual
        if dt == 0.0:
            self._regression.restart()
        Y, y = self._regression.step(dt, terms)
        settled = self._regression.settled
        self._residual = y - Y @ estimate.vector if settled else np.full(self.robot.n, math.nan)
        if self._learner is not None and self._learner.update(
            stamp, dt, (q, dq), y, terms.mean, settled and self._is_empty(stamp, estimate, terms)
        ):
            self._use_new_map(q, dq, terms, self._learner)
        return self._residual

    def _use_new_map(self, q: FloatArray, dq: FloatArray, terms: MomentumTerms, learner: ResidualLearner) -> None:
        before = terms.mean.copy()
        changes = learner.renew(terms, self.contact_detector.pole, self._observer.pole)
        if changes is None:
            return
        change, in_detector, in_observer = changes
        terms.evaluate_map(q, dq)
        terms.bias[:, ARM] += before - terms.mean  # detector and observer are yet to see this sample
        self._regression.change_mean(*change)
        self.contact_detector.change_mean(in_detector)
        self._observer.change_mean(in_observer)
        self.payload_estimator.use_map(learner.map, terms.unexplained, change)

    def _is_empty(self, stamp: float, estimate: PayloadEstimate, terms: MomentumTerms) -> bool:
        """Whether the arm carries nothing, as far as can be told, and nothing has touched it for a while."""
        if estimate.event is not None:
            self._busy_until = stamp + (AFTER_CONTACT if estimate.event.kind == "contact" else AFTER_CHANGE)
        # Where nothing has been learnt the error of the model looks like a small payload.
        least = LIGHTEST + (LIGHT - LIGHTEST) * float(terms.unexplained.mean())
        limit = min(max(least, 2.0 * float(estimate.std[0])), LIGHT)
        return stamp >= self._busy_until and self.payload_estimator.raw_mass <= limit and not estimate.problem
