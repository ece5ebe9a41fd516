# SPDX-License-Identifier: Apache-2.0
"""One pipeline from a sample of joint states to all that the nodes publish.

The nodes, `replay` and the demo call it, so that they cannot differ. The momentum terms of a sample are computed once;
the filters of the payload estimator, the momentum observer and the contact detector all start from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample, link_side_torques
from panda_dynamics_ros.dynamics.robot_state import RobotState, robot_state
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.arm_output import ArmOutput, ArmRows, DynamicsOutput, PayloadOutput
from panda_dynamics_ros.estimation.contact.detector import ContactDetector
from panda_dynamics_ros.estimation.contact.velocity_noise import squared_inertias
from panda_dynamics_ros.estimation.contact.wrench import WrenchEstimator
from panda_dynamics_ros.estimation.learnt_arm import LearntArm
from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.momentum_terms import ARM, MomentumTerms, SampleRows
from panda_dynamics_ros.estimation.payload.estimate import PayloadEstimate
from panda_dynamics_ros.estimation.payload.estimator import PayloadEstimator
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.publication import PERIOD, PublicationSchedule
from panda_dynamics_ros.estimation.regression import MeanChange
from panda_dynamics_ros.estimation.residual_learner import ResidualLearner, UnloadedState
from panda_dynamics_ros.estimation.residual_torque import ResidualTorque
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.libfranka_state import sample_of
from panda_dynamics_ros.robot.residual_map import ResidualMap
from panda_dynamics_ros.samples.sample_gate import SampleGate

ROWS = 512
"""Samples of a recording whose terms are in memory at a time: 1 MB."""


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
        self._residual = ResidualTorque(robot.n, self.payload_estimator.options)
        self._learner = ResidualLearner(robot, self.payload_estimator.options) if learn_residual else None
        self._unloaded = UnloadedState()
        self._gate, self._external = SampleGate(robot), np.zeros(robot.n)
        self._learnt = LearntArm(self._observer, self.contact_detector)

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
        self._carry_vector(payload.vector)

    def _carry_vector(self, vector: FloatArray) -> None:
        self._observer.carry_vector(vector)
        self.contact_detector.carry_vector(vector)

    def update(
        self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, state: RobotState | None = None
    ) -> ArmOutput:
        """All outputs after one more sample.

        Parameters
        ----------
        stamp: s. A stamp that repeats, or steps back a little, is ignored by the filters; after a gap they restart.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.
            A sample that the arm cannot have measured (`SampleGate`) is ignored by the filters, too.
        state: `robot_state` of this q and dq, from a caller that needed it before; left out, it is computed.

        Raises
        ------
        ArgumentError: an argument is not finite, or not of shape (n,). All filters are as they were before.
        """
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        terms = self._terms.at(q, dq, tau)
        payload = self._payload_output(stamp, q, dq, tau, terms)
        if payload.is_due:
            self._carry_vector(payload.estimate.vector)
            self._learnt.update(self.payload_estimator, terms, q, dq, tau)
        self._learnt.apply(terms, q, dq, tau)
        is_refused = self.payload_estimator.counts.last_is_refused
        return ArmOutput(*self._dynamics_output(stamp, q, dq, terms, is_refused, state), *payload)

    def update_state(self, state: Any) -> ArmOutput:
        """`update` with a libfranka RobotState, as pylibfranka, panda-python, franky or franka-rs give it.

        The stamp is the robot's time. It is called in the control loop, since a robot takes one connection only.

        Raises
        ------
        ArgumentError: `state` has no `time`, `q`, `dq` or `tau_J`, or one of them is malformed.
        """
        return self.update(*sample_of(state))

    def update_dynamics(
        self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, state: RobotState | None = None
    ) -> DynamicsOutput:
        """The part of `update` that needs no payload estimate (node `dynamics`)."""
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        is_refused, terms = not self._gate.accepts(stamp, q, dq, tau), self._terms.at(q, dq, tau)
        self._learnt.apply(terms, q, dq, tau)
        return self._dynamics_output(stamp, q, dq, terms, is_refused, state)

    def update_payload(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> PayloadOutput:
        """The payload part of `update` (node `payload_estimator`)."""
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self.robot, q, dq, tau)
        return self._payload_output(stamp, q, dq, tau, self._terms.at(q, dq, tau))

    def update_rows(self, stamp: ArrayLike, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> ArmRows:
        """`update` with N samples, stamp (N,) and q, dq, tau (N, n), in compiled loops; the same to the last bit."""
        stamps = checks.for_kernel(np.atleast_1d(checks.trailing(stamp, (), "stamp")))
        shape = (len(stamps), self.robot.n)
        named = (("q", q), ("dq", dq), ("tau", tau))
        q, dq, effort = (checks.for_kernel(checks.exactly(value, shape, name)) for name, value in named)
        found = ArmRows(np.empty(shape), np.empty(shape), [], [])
        if self._learner is not None:
            self._follow_one_by_one(stamps, q, dq, effort, found=found)
            return found
        tau = checks.for_kernel(link_side_torques(self.robot, q, effort))
        for first in range(0, len(stamps), ROWS):
            part = slice(first, first + ROWS)
            terms = self._terms.rows(q[part], dq[part], tau[part])
            self._follow_rows(SampleRows(stamps[part], q[part], dq[part], tau[part], terms), first, found)
        return found

    def _follow_one_by_one(self, stamp: FloatArray, *samples: FloatArray, found: ArmRows) -> None:
        """A residual map that goes on learning changes between any two samples."""
        for k in range(len(stamp)):
            before = self.payload_estimator.estimate
            output = self.update(float(stamp[k]), *(values[k] for values in samples))
            found.external_torques[k], found.residual[k] = output.external_torques, output.residual
            if output.estimate is not before:
                found.estimates.append((k, output.estimate, output.is_due))
            if output.contact_changed and output.contact is not None:
                found.contacts.append((k, output.contact))

    def _follow_rows(self, rows: SampleRows, first: int, found: ArmRows) -> None:
        """The payload estimator is ahead by up to its next estimate, which counts from its own sample on."""
        inertia, estimator = squared_inertias(self.robot.table, rows.q), self.payload_estimator
        learnt, done, k = self._learnt.rows(rows, 0), 0, 0
        while k < len(rows.stamp):
            before = estimator.estimate
            k = estimator.update_rows(rows, k, self._learnt.renewal if not rows.terms.has_map else math.inf)
            estimate, is_refused = estimator.estimate, estimator.counts.last_is_refused
            if estimate is not before or is_refused:
                self._follow_others((rows, learnt), inertia, (done, k - 1), before, first, found)
                done = k - 1
            if estimate is not before:
                is_due = self.schedule.is_due(estimate, float(rows.stamp[done]))
                if is_due:
                    self._carry_vector(estimate.vector)
                    if self._learnt.update(estimator, rows.terms.at(done), *rows.sample(done)):
                        learnt = self._learnt.rows(rows, done)
                found.estimates.append((first + done, estimate, is_due))
            if is_refused:
                found.external_torques[first + done] = self._external
                found.residual[first + done] = self._residual.value
                done = k
        self._follow_others((rows, learnt), inertia, (done, k), estimator.estimate, first, found)

    def _follow_others(
        self, both: tuple[SampleRows, SampleRows], inertia: FloatArray, span: tuple[int, int],
        estimate: PayloadEstimate, first: int, found: ArmRows,
    ) -> None:  # fmt: skip
        """Residual, external torques and contacts of a span of samples, all with one estimate.

        both: the samples with the published model's terms, for the residual, and with those of the learnt one.
        """
        (published, rows), (k, end) = both, span
        external = found.external_torques[first + k : first + end]
        if k < end:
            self._observer.update_rows(rows, k, end, external)
            self._external = external[-1].copy()
        changes = self.contact_detector.update_rows(rows, inertia, k, end)
        found.contacts.extend((first + j, contact) for j, contact in changes)
        self._residual.update_rows(published, k, end, estimate.vector, found.residual[first + k : first + end])

    def _dynamics_output(
        self, stamp: float, q: FloatArray, dq: FloatArray, terms: MomentumTerms, is_refused: bool,
        state: RobotState | None,
    ) -> DynamicsOutput:  # fmt: skip
        state = robot_state(self.robot, q, dq) if state is None else state
        unexplained = terms.unexplained if terms.has_map else None
        before = self.contact_detector.contact
        if not is_refused:  # one sample of 1e308 N m would spoil the observer's filters for good
            self._external = self._observer.update_terms(stamp, terms)
            self.contact_detector.update_terms(stamp, q, dq, terms)
        contact, external = self.contact_detector.contact, self._external
        return DynamicsOutput(
            stamp, state.gravity_torques, state.coriolis_torques, state.T_base_ee, external,
            self._wrench_estimator.estimate(q, external, unexplained), contact, contact is not before,
        )  # fmt: skip

    def _payload_output(
        self, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray, terms: MomentumTerms
    ) -> PayloadOutput:
        estimate = self.payload_estimator.update_terms(stamp, q, dq, tau, terms)
        is_refused = self.payload_estimator.counts.last_is_refused
        dt = None if is_refused else self._residual.update(stamp, terms, estimate.vector)
        if self._learner is not None and dt is not None:
            self._learn(self._learner, stamp, dt, (q, dq, tau), terms, estimate)
        return PayloadOutput(estimate, self.schedule.is_due(estimate, stamp), self._residual.value)

    def _learn(
        self, learner: ResidualLearner, stamp: float, dt: float, sample: tuple[FloatArray, FloatArray, FloatArray],
        terms: MomentumTerms, estimate: PayloadEstimate,
    ) -> None:  # fmt: skip
        regression, raw_mass = self._residual.regression, self.payload_estimator.raw_mass
        is_unloaded = self._unloaded.update(stamp, estimate, raw_mass, float(terms.unexplained.mean()))
        is_empty = regression.settled and is_unloaded
        if not learner.update(stamp, dt, sample[:2], regression.filtered[:, ARM], terms.mean, is_empty):
            return
        had_map, before = terms.has_map, terms.mean.copy()
        detector_pole = 2.0 * math.pi * self.contact_detector.options.bandwidth_hz
        changes = learner.renew(terms, detector_pole, self._observer.pole)
        if changes is not None:
            change, in_detector, in_observer = changes
            if not had_map:  # which knows better than the learnt model
                self._learnt.use(None, terms, *sample)
            terms.evaluate_map(*sample[:2])
            terms.bias[:, ARM] += before - terms.mean  # detector and observer are yet to see this sample
            regression.change_mean(*change)
            self.contact_detector.change_mean(in_detector)
            self._observer.change_mean(in_observer)
            self.payload_estimator.use_map(learner.map, terms.unexplained, change)
