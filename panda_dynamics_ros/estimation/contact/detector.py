# SPDX-License-Identifier: Apache-2.0
"""Detects contacts: when something touches the arm, on which link, and until when.

Detection, isolation and identification as in Haddadin, De Luca, Albu-Schaeffer, "Robot Collisions: A Survey on
Detection, Isolation, and Identification", IEEE T-RO 33(6), 2017. `torque_step` compares steps of the external torques
with the arm's residual and noise; `link` names the link from the steps of all joints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.effort import link_side_sample
from panda_dynamics_ros.estimation.contact.link import LinkEvidence
from panda_dynamics_ros.estimation.contact.sustained_load import SustainedLoad
from panda_dynamics_ros.estimation.contact.torque_step import TorqueStepDetector, quiet_samples
from panda_dynamics_ros.estimation.contact.velocity_noise import squared_inertia
from panda_dynamics_ros.estimation.momentum_terms import MomentumTerms, SampleRows, SampleTerms
from panda_dynamics_ros.estimation.options import PositiveOptions
from panda_dynamics_ros.estimation.regression import MeanChange, MomentumRegression
from panda_dynamics_ros.estimation.sample_clock import SampleClock
from panda_dynamics_ros.robot import InertialParameters, RobotDescription

RELEASED, PAYLOAD, STEADY = "released", "payload", "steady"
"""How a contact ended: by its release; by a change of the payload that explains it; by lasting so long that it counts
as something carried."""
SETTLING = 9.0
"""Time constants after which the transient of the filters' start, 10 N m of an arm in motion, is below 0.02 N m."""
FIRST_SETTLING = 0.5
"""s: the first samples after the start teach the arm's noise only; some drivers begin with wrong ones."""
BRIDGED = 0.15
"""s after a pause, across which the filters take the torques as linear, until no contact can begin: nine time constants
of the filters, as above."""
RISEN = 1.05
"""Factor by which the test statistic must grow for the link to be named again: larger steps determine it better."""


@dataclass(frozen=True)
class ContactOptions(PositiveOptions):
    """Options of the contact detector.

    Attributes
    ----------
    threshold: of the test statistic (sum z^4)^(1/4), z being the torque step of each joint in standard deviations, over
        the arm's `TorqueStepDetector.loudness`. A contact begins above it.
    end_threshold: standard deviations; a contact has ended when no joint's step was above it for `quiet_s`.
    link_time_s: how long after its detection a contact's link may be named again, while its torques rise.
    quiet_s: see above.
    longest_s: a contact that lasts longer counts as a body that is carried; its torques are expected from then on.
    bandwidth_hz: of the two low-pass filters on the external torques.
    max_gap_s: a longer silence, or a longer step back, restarts the filters.

    Raises
    ------
    ArgumentError: a value is not a positive number.
    """

    threshold: float = 5.25
    end_threshold: float = 2.5
    link_time_s: float = 0.1
    quiet_s: float = 0.1
    longest_s: float = 5.0
    bandwidth_hz: float = 10.0
    max_gap_s: float = 0.5


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact that lasts or has ended.

    Attributes
    ----------
    start: s, stamp of the sample at which it was detected.
    link: 1..n, on which a force explains the torques best.
    torques: (n,), N m, that it adds to the external torques: at the time of naming the link while it lasts; afterwards
        at the largest test statistic of the first `link_time_s`.
    end: s, stamp at which the torques had been back for `quiet_s`; None while it lasts.
    ended_by: "released", "payload", "steady"; empty while it lasts.
    """

    start: float
    link: int
    torques: FloatArray
    end: float | None = None
    ended_by: str = ""

    @property
    def lasts(self) -> bool:
        """Whether it has not ended."""
        return self.end is None


class ContactDetector:
    """Detects contacts of one arm, sample by sample.

    Parameters
    ----------
    robot: the arm with all that it always carries, its friction and its residual model.
    options: see `ContactOptions`, as keyword arguments.

    Raises
    ------
    ArgumentError: an option is unknown or not positive.
    """

    def __init__(self, robot: RobotDescription, **options: float) -> None:
        self.options = ContactOptions.of(options)
        self._robot, self._n, self._terms = robot, robot.n, MomentumTerms(robot)
        self._regression = MomentumRegression(robot.n, self.options.bandwidth_hz)
        self._torque_step = TorqueStepDetector(robot.residual, 2.0 * math.pi * self.options.bandwidth_hz)
        self._links = LinkEvidence(robot)
        self._load = SustainedLoad(robot.residual)
        self._payload = self._payload_before = np.zeros(10)
        # The known payload, and what has lasted so long that it counts as carried; then -1, see `weighted_columns`.
        self._weights = np.append(np.zeros(10), -1.0)
        self._regressor, self._inertia, self._torques = np.zeros((robot.n, 10)), np.zeros(robot.n), np.zeros(robot.n)
        self._table = robot.table
        self._clock = SampleClock(self.options.max_gap_s)
        self._last_loud, self._named_at, self._paused_at = -math.inf, 0.0, -math.inf
        self._settled = self._started = False
        self.contact: Contact | None = None
        """The last contact, which may last; None where there was none."""
        self.ratio = 0.0
        """Test statistic of the last sample, which is compared with `threshold`."""

    def carry(self, payload: InertialParameters) -> None:
        """From the next sample on, count `payload` (flange frame) as part of the arm; zero mass stands for none.

        A known payload is not a contact. A contact that ends with this call was the payload being picked up or put
        down. Whatever counted as carried because its contact had lasted is no longer counted.
        """
        self.carry_vector(payload.vector)

    def carry_vector(self, vector: FloatArray) -> None:
        """`carry` with an inertial vector (10,)."""
        self._payload = vector
        self._count_as_carried(vector)

    def change_arm(self, momentum: FloatArray, bias: FloatArray) -> None:
        """Go on as if the arm's terms had always been larger by these (n,): a better model is no contact."""
        self._regression.change_arm(momentum, bias)
        self._torque_step.shift(-bias)

    def update(self, stamp: float, q: ArrayLike, dq: ArrayLike, tau: ArrayLike) -> Contact | None:
        """The contact that lasts after one more sample, or None.

        Parameters
        ----------
        stamp: s. A stamp that repeats, or steps back a little, is ignored.
        q, dq, tau: (n,), rad, rad/s and N m; tau is the torque on the links with gravity, or what `robot.effort` says.

        Raises
        ------
        ArgumentError: an argument is not finite, or not of shape (n,). The detector is as it was before.
        """
        stamp = checks.number(stamp, "stamp")
        q, dq, tau = link_side_sample(self._robot, q, dq, tau)
        return self.update_terms(stamp, q, dq, self._terms.at(q, dq, tau))

    def change_mean(self, change: MeanChange) -> None:
        """Go on as if a `MeanChange` more had always been subtracted: a new residual map makes no contact."""
        self._regression.change_mean(*change)
        self._torque_step.shift(change.second)

    def update_terms(
        self, stamp: float, q: FloatArray, dq: FloatArray, terms: MomentumTerms | SampleTerms
    ) -> Contact | None:
        """`update` with a sample that was checked before, and its terms."""
        dt = self._clock.step(stamp)
        if dt is None:
            return self._lasting
        if dt == 0.0:
            self._regression.restart()
            self._settled = False
        if self._clock.paused:
            self._paused_at = stamp
        self._regressor, _ = self._regression.step(dt, terms)
        external = self._regression.weighted(self._weights)
        if not self._settled:
            self._settle(stamp, external)
            return None
        squared_inertia(self._table, q, self._inertia)
        self._torque_step.unexplained = terms.unexplained
        self.ratio = self._torque_step.update(stamp, external, dq, self._inertia) / self._torque_step.loudness
        if self._lasting is not None:
            self._load.add(dt, self._regressor, self._torque_step.jump)
            self._follow(stamp, q)
        elif self.ratio > self.options.threshold and not self._bridges(stamp):
            self._begin(stamp, q)
        return self._lasting

    def update_rows(self, rows: SampleRows, inertia: FloatArray, first: int, end: int) -> list[tuple[int, Contact]]:
        """`update_terms` with samples first .. end - 1; each change of `contact`, with the index of its sample.

        inertia: (N, n), `squared_inertias` of the rows.
        """
        changes, k = [], first
        while k < end:
            before = self.contact
            alone = not self._settled or self._lasting is not None or self._bridges(float(rows.stamp[k]))
            count = 0 if alone else self._follow_quiet(rows, inertia, k, end)
            if count == 0:
                self.update_terms(float(rows.stamp[k]), rows.q[k], rows.dq[k], rows.terms.at(k))
            k += max(count, 1)
            if self.contact is not before and self.contact is not None:
                changes.append((k - 1, self.contact))
        return changes

    def _follow_quiet(self, rows: SampleRows, inertia: FloatArray, first: int, end: int) -> int:
        """Follow samples from `first` on up to a pause or the begin of a contact; how many."""
        part, steps = slice(first, end), self._clock.before_pause(self._clock.regular(rows.stamp[first:end]))
        if not steps.size:
            return 0
        count, self.ratio = quiet_samples(
            rows.stamp[part], steps, rows.terms.momentum[part], rows.terms.bias[part], rows.dq[part], inertia[part],
            rows.terms.unexplained[part], self._regression.pole, self._weights, self.options.threshold,
            *self._regression.arrays, *self._torque_step.arrays,
        )  # fmt: skip
        stamp = float(rows.stamp[first + count - 1])
        self._clock.follow(stamp, float(steps[count - 1]))
        self._torque_step.follow(stamp)
        if self.ratio > self.options.threshold:
            self._begin(stamp, rows.q[first + count - 1])
        return int(count)

    def _bridges(self, stamp: float) -> bool:
        """Whether the filters still show a pause."""
        return abs(stamp - self._paused_at) < BRIDGED

    @property
    def _lasting(self) -> Contact | None:
        return self.contact if self.contact is not None and self.contact.lasts else None

    def _settle(self, stamp: float, external: FloatArray) -> None:
        """Wait until the transient of the filters has died out; a contact that lasted before counts as ended."""
        if self._lasting is not None:
            self._end(stamp, RELEASED)
        self._settled = self._regression.age > (SETTLING / self._regression.pole if self._started else FIRST_SETTLING)
        self._started |= self._settled
        self._torque_step.start(stamp, external)

    def _begin(self, stamp: float, q: FloatArray) -> None:
        self._torque_step.freeze()
        self._load.start()
        self._last_loud, self._payload_before = stamp, self._payload
        self.contact = Contact(stamp, self._name_link(q), self._torques)

    def _follow(self, stamp: float, q: FloatArray) -> None:
        contact = self._lasting
        assert contact is not None
        may_rise = stamp - contact.start <= self.options.link_time_s and self.ratio > RISEN * self._named_at
        if may_rise and (link := self._name_link(q)) != contact.link:
            self.contact = replace(contact, link=link, torques=self._torques)
        if self._torque_step.largest > self.options.end_threshold:
            self._last_loud = stamp
        if stamp - self._last_loud > self.options.quiet_s:
            self._end(stamp, PAYLOAD if self._payload_explains() else RELEASED)
        elif stamp - contact.start > self.options.longest_s:
            self._end(stamp, STEADY)

    def _end(self, stamp: float, ended_by: str) -> None:
        assert self.contact is not None
        self.contact = replace(self.contact, torques=self._torques, end=stamp, ended_by=ended_by)
        self._torque_step.resume()
        if ended_by == STEADY:
            self._count_as_carried(self._weights[:10] + self._load.vector)

    def _count_as_carried(self, known: FloatArray) -> None:
        change = known - self._weights[:10]
        self._weights[:10] = known
        if self._lasting is None:
            self._torque_step.shift(self._regressor @ change)

    def _payload_explains(self) -> bool:
        """Whether the change of the payload since the contact began exceeds the contact's end threshold."""
        change = self._regressor @ (self._payload - self._payload_before)
        return bool((np.abs(change) > self.options.end_threshold * self._torque_step.std).any())

    def _name_link(self, q: FloatArray) -> int:
        """The link that the present torque steps indicate; keeps these steps as the contact's torques."""
        self._named_at, self._torques = self.ratio, self._torque_step.jump.copy()
        return self._links.link(q, self._torque_step.jump, self._torque_step.std)
