# SPDX-License-Identifier: Apache-2.0
"""A recording run through the pipeline of the nodes (`ArmMonitor`), offline, and what that finds.

`replay`, `batch`, the demo and their summaries all take it from here, so that a recording has one truth.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.model import RobotModel
from panda_dynamics_ros.estimation import ArmMonitor, ArmRows, Contact, PayloadEstimate, contact_wrench
from panda_dynamics_ros.estimation.estimate import SETTLING, WAITING, ChangeEvent, PayloadSegment
from panda_dynamics_ros.estimation.hypotheses import CONTACT, LOAD, PICK
from panda_dynamics_ros.estimation.validation import IMPLAUSIBLE, REFUSED_SHARE
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset, StreamSteps, require_dataset, stream_steps
from panda_dynamics_ros.robot.joint_mapping import name_conflict
from panda_dynamics_ros.robot.stamps import MISPLACED_STAMPS

LISTED = 6  # events in the representation of a result
AT_ONCE = 2048  # samples that the pipeline gets at once; in between, `replay` reports progress
_DIGITS = str.maketrans("", "", "0123456789")


@dataclass(frozen=True, eq=False)
class Event(ChangeEvent):
    """Something that happened to the arm; a "load" is one that the recording does not decide.

    end: s, of a contact; None while it lasts, and where its end was not seen.
    link: 1..n, on which a contact is; None where no link is named.
    torques: (n,), N m, that a contact added; None where no link is named.
    force: N, the largest at the flange that explains a contact's torques; None where no link is named.
    ended_by: "released" or "steady"; empty while it lasts.
    """

    end: float | None = None
    link: int | None = None
    torques: FloatArray | None = None
    force: float | None = None
    ended_by: str = ""


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found in a recording.

    start, end: s, stamps of the first and the last sample.
    samples: that were used; dropped: samples of the file that could not be used, by reason.
    steps: between the stamps: their median, what is lost between others, and pauses, after which the filters restart.
    residual_rms, residual_mean: (n,), N m, torque that neither arm nor payload explains; nan where it is not known.
    events: in order of time, each once.
    payloads: what was carried, from the begin to the end of the recording.
    problem: that the joints are called as another arm's, that many samples were left out, the sentence of
        `PayloadEstimate.problem` that was shown longest, or that the filters never settled; empty where all was well.
    """

    start: float
    end: float
    samples: int
    dropped: dict[str, int]
    steps: StreamSteps
    residual_rms: FloatArray
    residual_mean: FloatArray
    events: tuple[Event, ...]
    payloads: tuple[PayloadSegment, ...]
    problem: str

    @property
    def last(self) -> PayloadEstimate:
        """The last estimate of what was carried last, or of the end where nothing was put down."""
        *before, final = [each.estimate for each in self.payloads]
        changes = [event.kind for event in self.events if event.kind != CONTACT]
        return before[-1] if before and changes[-1:] == ["release"] and not final.is_carried else final

    @property
    def losses(self) -> str:
        """What is missing of the recording, in words."""
        parts = [f"{count} {reason}" for reason, count in self.dropped.items()]
        if self.steps.lost:
            parts.append(f"{self.steps.lost} missing between others")
        if len(pauses := self.steps.pauses):
            longest = f"{pauses[:, 1].max():.3g} s"
            several = f"{len(pauses)} pauses (the longest {longest})"
            parts.append(several if len(pauses) > 1 else f"a pause of {longest}")
        return ", ".join(parts) or "nothing"


class Follower:
    """Follows the samples of one recording of an arm (its model without the payload); `options` as of `ArmMonitor`."""

    def __init__(self, robot: RobotDescription, **options: Any) -> None:
        self.monitor = ArmMonitor(robot, **options)
        self._stamps: list[FloatArray] = []
        self._settled, self.samples = 0, 0
        self._sum, self._squares = np.zeros(robot.n), np.zeros(robot.n)
        self._estimate = self.monitor.payload_estimator.estimate
        self._since = 0  # the sample from which on it holds
        self._shown: dict[str, tuple[int, str]] = {}  # samples with a problem, its last words; by words without digits
        self._begin = math.nan  # of what is carried
        self._recent: deque[PayloadEstimate] = deque(maxlen=100)  # 2 s: a change is detected after its onset
        self._payloads: list[PayloadSegment] = []
        self._changes: list[Event] = []
        self._touches: list[Event] = []  # that the payload estimator noticed
        self._contact: Contact | None = None  # the last one
        self._contacts: dict[float, Contact] = {}  # as last told, by their start
        self._forces: dict[float, float] = {}  # the largest of each, by its start

    def add(self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray) -> ArmRows:
        """Follow the next samples: (N,), (N, n) each; what the pipeline says of them."""
        found = self.monitor.update_rows(stamp, q, dq, tau)
        if not self._stamps:
            self._begin = float(stamp[0])
        self._stamps.append(stamp)
        settled = found.residual[~np.isnan(found.residual[:, 0])]
        self._settled += len(settled)
        self._sum += settled.sum(axis=0)
        self._squares += (settled * settled).sum(axis=0)
        for k, estimate, is_due in found.estimates:
            self._follow_payload(self.samples + k, estimate, is_due)
        self._follow_contacts(found, q)
        self.samples += len(stamp)
        return found

    def findings(self, names: Sequence[str], dropped: Mapping[str, int]) -> Findings:
        """All that was found, once every sample has been added.

        `names` are the joints' as recorded; `dropped` counts samples that could not be used, by reason.
        """
        stamp = np.concatenate(self._stamps)
        self._count_problem(self.samples)
        last = PayloadSegment(self._begin, float(stamp[-1]), self._recent[-1] if self._recent else self._estimate)
        contacts = [
            Event(start, CONTACT, start, each.end, each.link, each.torques, self._forces.get(start, 0.0), each.ended_by)
            for start, each in self._contacts.items()
            if each.ended_by != "payload"  # a pick or release touches the arm until the payload is known
        ]
        contacts += [touch for touch in self._touches if not any(_is_part(touch, each) for each in contacts)]
        rejected = {reason: count for reason, count in dropped.items() if count}
        problem = _recording_problem(names, rejected, self.samples, self.monitor.robot)
        if not problem and self._shown:
            _, problem = max(self._shown.values(), key=itemgetter(0))
        elif not problem and self._estimate.status in (WAITING, SETTLING):
            found = f"{stamp[-1] - stamp[0]:.3g} s of samples are too few for the filters to settle"
            problem = f"{found}: expected a second of motion without gaps; are the stamps in s?"
        known = self._settled or math.nan
        return Findings(
            start=float(stamp[0]),
            end=float(stamp[-1]),
            samples=self.samples,
            dropped=rejected,
            steps=stream_steps(stamp),
            residual_rms=np.sqrt(self._squares / known),
            residual_mean=self._sum / known,
            events=tuple(sorted([*self._changes, *contacts], key=lambda event: event.stamp)),
            payloads=(*self._payloads, last),
            problem=problem,
        )

    def _follow_payload(self, sample: int, estimate: PayloadEstimate, is_due: bool) -> None:
        self._count_problem(sample)
        self._estimate, self._since = estimate, sample
        event = estimate.event
        load = self._changes[-1] if self._changes and self._changes[-1].kind == LOAD else None
        is_decided = event is not None and load is not None and event.onset <= load.stamp
        if event is not None and event.kind == CONTACT:
            self._touches.append(Event(event.stamp, CONTACT, event.onset))
            if is_decided or (self._changes and event.onset == self._changes[-1].onset):  # what had come was a push
                withdrawn = self._changes.pop()
                if self._payloads and self._payloads[-1].end == withdrawn.onset:  # one payload all the time
                    self._begin = self._payloads.pop().start
        elif event is not None and event.kind == PICK and is_decided:  # it was a weight
            self._changes[-1] = replace(self._changes[-1], kind=PICK)
        elif event is not None:
            onset = event.onset if math.isfinite(event.onset) else event.stamp
            self._changes.append(Event(event.stamp, event.kind, onset))
            if onset > self._begin and self._recent:  # something else is carried since then
                before = [estimate for estimate in self._recent if estimate.stamp <= onset]
                self._payloads.append(PayloadSegment(self._begin, onset, (before or [self._recent[0]])[-1]))
            self._begin = max(onset, self._begin)
            self._recent.clear()
        if is_due and not (self._recent and estimate.status == SETTLING):  # after a pause: what was known before it
            self._recent.append(estimate)

    def _count_problem(self, sample: int) -> None:
        """Count how long the sentence of the current estimate was shown, until `sample`."""
        if problem := self._estimate.problem:
            kind = problem.translate(_DIGITS)
            before, _ = self._shown.get(kind, (0, ""))
            self._shown[kind] = before + sample - self._since, problem

    def _follow_contacts(self, found: ArmRows, q: FloatArray) -> None:
        ends = [k for k, _ in found.contacts]
        for first, end, change in zip([0, *ends], [*ends, len(q)], [None, *found.contacts], strict=True):
            if change is not None:
                self._contact = change[1]
                self._contacts[self._contact.start] = self._contact
            if self._contact is not None and self._contact.lasts:
                part, start = slice(first, end), self._contact.start
                arrays = q[part], found.external_torques[part], found.unexplained[part]
                forces = np.linalg.norm(contact_wrench(self.monitor.robot, *arrays).wrench[:, :3], axis=1)
                self._forces[start] = float(forces.max(initial=self._forces.get(start, 0.0)))


def _is_part(touch: Event, contact: Event) -> bool:
    """Whether a touch that the payload estimator noticed is the begin or the end of this contact."""
    onset = touch.onset if math.isfinite(touch.onset) else touch.stamp
    return contact.stamp <= touch.stamp and (contact.end is None or onset <= contact.end)


def _recording_problem(names: Sequence[str], rejected: Mapping[str, int], used: int, robot: RobotDescription) -> str:
    """A sentence if a recording's joint names or left-out samples contradict the robot; else empty."""
    if conflict := name_conflict(robot, names):
        return conflict
    followed = "do not follow the one before in time", "that their stamps are sorted, not rounded, and of one run"
    implausible = "are implausible", "the units, the order of the joints, and that the recording is of one robot"
    for reasons, (what, remedy) in ((IMPLAUSIBLE, implausible), (MISPLACED_STAMPS, followed)):
        refused = {reason: rejected[reason] for reason in reasons if reason in rejected}
        total = used + sum(refused.values())
        if sum(refused.values()) > REFUSED_SHARE * total:
            counts = ", ".join(f"{reason}: {count}" for reason, count in refused.items())
            return f"many of the {total} samples {what} ({counts}): check {remedy}"
    return ""


@dataclass(frozen=True, eq=False)
class PayloadCurves:
    """What is carried, over N samples.

    mass, mass_std: (N,), kg; com, com_std: (N, 3), m, in the flange frame.
    com_is_known: (N,), `PayloadEstimate.com_is_known` of each estimate.
    """

    mass: FloatArray
    mass_std: FloatArray
    com: FloatArray
    com_std: FloatArray
    com_is_known: NDArray[np.bool_]

    @classmethod
    def of(cls, estimates: Sequence[PayloadEstimate], which: NDArray[np.intp]) -> "PayloadCurves":
        """Of the estimates, each sample's by its number `which` (N,)."""
        names = ("mass", "std", "com", "com_std", "com_is_known")
        mass, std, *of_com = (np.array([getattr(each, name) for each in estimates])[which] for name in names)
        return PayloadCurves(mass, std[:, 0], *of_com)

    @classmethod
    def of_segments(cls, stamp: FloatArray, segments: Sequence[PayloadSegment]) -> "PayloadCurves":
        """Of smoothed payloads, at the stamps (N,), s, of their recording."""
        which = np.searchsorted([segment.start for segment in segments[1:]], stamp, side="right")
        return cls.of([segment.estimate for segment in segments], which)


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Findings, PayloadCurves):
    """What the nodes would have published over a recording of N samples, and what they would have found in it.

    stamp: (N,), s.
    gravity_torques, coriolis_torques, measured_torques: (N, n), N m, the last on the links (see `robot.effort`).
    external_torques: (N, n), N m, of the momentum observer, without those of the payload as estimated so far.
    contact_wrench: (N, 6), N and N m, force first, in base axes: what at the flange explains the external torques.
    touched_link: (N,), link 1..n that a contact is on, 0 without one; a pick counts as one until the payload is known.
    pose: (N, 4, 4), T_base_ee.
    residual: (N, n), N m, low-passed torque that neither model nor payload explains; nan while filters settle.
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
    progress: Callable[[int, int, PayloadEstimate], None] = lambda *_: None,
    **options: Any,
) -> Replay:
    """What the nodes would publish over `data`.

    data: a recording (`load_dataset`).
    robot: the arm's model with its end effector (`load_robot`), without the payload.
    progress: called now and then with (samples done, samples in all, estimate).
    options: see `ArmMonitor`; its errors, and ArgumentError where `data` is no recording.
    """
    follower, count, n = Follower(robot, **options), len(require_dataset(data).stamp), robot.n
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
        progress(min(first + AT_ONCE, count), count, estimates[-1][1])
    which = np.repeat(np.arange(len(estimates)), np.diff([*(k for k, _ in estimates), count]))
    arm_errors = follower.monitor.payload_estimator.arm_errors
    return Replay(
        **vars(follower.findings(data.names, data.rejected)),
        **vars(PayloadCurves.of([estimate for _, estimate in estimates], which)),
        stamp=data.stamp,
        measured_torques=robot.link_side_torques(data.q, data.tau),
        gravity_torques=robot.gravity_torques(data.q),
        coriolis_torques=robot.coriolis_torques(data.q, data.dq),
        external_torques=external,
        contact_wrench=wrench,
        touched_link=touched,
        pose=robot.pose(data.q, "ee"),
        residual=residual,
        published=np.array(list(published), dtype=np.intp),
        estimates=tuple(published.values()),
        joint_offsets=arm_errors.offset,
        joint_offsets_std=arm_errors.offset_std,
    )
