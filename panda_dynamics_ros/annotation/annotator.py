# SPDX-License-Identifier: Apache-2.0
"""One recording as rows, by the pipeline of the nodes, in memory that does not grow with its length."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.annotation.rows import CONTACT, PAYLOAD, RECORDING, Row
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import ArmMonitor, ArmRows, PayloadEstimate, WrenchEstimator
from panda_dynamics_ros.estimation.contact.detector import Contact
from panda_dynamics_ros.recordings.dataset import BLOCK, open_dataset
from panda_dynamics_ros.recordings.replay import recording_problem
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.robot.joint_dataset import JointDataset

LONGEST_STEP = 0.5  # s: a longer one restarts the filters (`EstimatorOptions.max_gap_s`)
REMEMBERED = 100
"""Estimates that are kept, 2 s of them: a change is detected after its onset, and the payload before it ended there."""
CURVE_POINTS = 1000
_DIGITS = re.compile(r"\d")


@dataclass
class Curve:
    """Mass and residual over a recording, at most `CURVE_POINTS` of each: where there are more, every second goes.

    time: s since the first sample; mass, mass_std: kg; residual: N m, root sum square over the joints.
    """

    time: list[float] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    mass_std: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    _stride: int = 1
    _waiting: int = 0

    def add(self, *point: float) -> None:
        """One more point, if it is its turn."""
        self._waiting -= 1
        if self._waiting > 0:
            return
        self._waiting = self._stride
        columns = (self.time, self.mass, self.mass_std, self.residual)
        for column, value in zip(columns, point, strict=True):
            column.append(value)
        if len(self.time) >= CURVE_POINTS:
            self._stride *= 2
            for column in columns:
                del column[1::2]

    def as_dict(self) -> dict[str, list[float]]:
        """The four lists by name."""
        return {"time": self.time, "mass": self.mass, "mass_std": self.mass_std, "residual": self.residual}


def annotate(
    path: str | Path,
    robot: RobotDescription,
    *,
    topic: str | None = None,
    arm_prefix: str = "",
    columns: str | None = None,
    progress: Callable[[int], None] | None = None,
    curve: Curve | None = None,
    **options: Any,
) -> list[Row]:
    """The rows of one recording: itself, its payloads and its contacts, each in order of time.

    Parameters
    ----------
    path, topic, arm_prefix, columns: see `load_dataset`.
    robot: the arm's model with its end effector, without the payload.
    progress: called with the number of samples done, after each 10,000.
    curve: gets mass and residual over time.
    options: see `ArmMonitor`.

    Raises
    ------
    The errors of `load_dataset` and `ArmMonitor`.
    """
    blocks = open_dataset(path, robot, topic=topic, arm_prefix=arm_prefix, columns=columns, block=BLOCK)
    annotator = _Annotator(robot, curve, options)
    names: tuple[str, ...] = ()
    for block in blocks:
        names = block.names
        annotator.add(block)
        if progress is not None:
            progress(annotator.samples)
    recording = annotator.recording()
    rejected = {reason: count for reason, count in blocks.rejected.items() if count}
    if problem := recording_problem(names, rejected, annotator.samples, robot):
        recording["problem"] = "\n".join(filter(None, [problem, recording["problem"]]))
    recording |= {"rejected": sum(rejected.values()), "notes": "\n".join(blocks.notes)}
    recording |= {"reasons": json.dumps(rejected, sort_keys=True), "robot": robot.name}
    return [recording, *annotator.payloads, *annotator.contacts]


class _Annotator:
    """What becomes of the samples of one recording."""

    def __init__(self, robot: RobotDescription, curve: Curve | None, options: dict[str, Any]) -> None:
        self._monitor, self._curve = ArmMonitor(robot, **options), curve
        self._wrenches = WrenchEstimator(robot)
        self.payloads: list[Row] = []
        self.contacts: list[Row] = []
        self.samples = self._lost = self._gaps = self._settled = 0
        self._first = self._last = self._period = math.nan
        self._longest_gap = self._force = 0.0
        self._sum, self._squares = np.zeros(robot.n), np.zeros(robot.n)
        self._problems: dict[str, str] = {}
        self._start = math.nan  # of the payload that is carried
        self._recent: deque[PayloadEstimate] = deque(maxlen=REMEMBERED)
        self._contact: Contact | None = None

    def add(self, block: JointDataset) -> None:
        """Follow the samples of the next block."""
        self._count_steps(block)
        found = self._monitor.update_rows(block.stamp, block.q, block.dq, block.tau)
        settled = found.residual[~np.isnan(found.residual[:, 0])]
        self._settled += len(settled)
        self._sum += settled.sum(axis=0)
        self._squares += (settled * settled).sum(axis=0)
        for k, estimate, is_due in found.estimates:
            self._follow_payload(estimate, is_due, found.residual[k])
        self._follow_contacts(block, found)
        self.samples += len(block.stamp)
        self._last = float(block.stamp[-1])

    def recording(self) -> Row:
        """Close what is open at the last sample; the row of the recording."""
        self._close_payload(self._last, self._recent[-1] if self._recent else None)
        if self._contact is not None:
            self._add_contact(self._contact)
        rms = np.sqrt(self._squares / max(self._settled, 1))
        known = self._settled > 0
        return {
            "kind": RECORDING,
            "start_s": 0.0,
            "end_s": self._last - self._first,
            "first_stamp_s": self._first,
            "samples": self.samples,
            "rate_hz": 1.0 / self._period if self._period > 0.0 else None,
            "lost": self._lost,
            "gaps": self._gaps,
            "longest_gap_s": self._longest_gap if self._gaps else None,
            "residual_nm": float(np.linalg.norm(rms)) if known else None,
            "joint_residual_nm": rms.tolist() if known else None,
            "joint_offset_nm": (self._sum / self._settled).tolist() if known else None,
            "problem": "\n".join(self._problems.values()),
        }

    def _count_steps(self, block: JointDataset) -> None:
        stamps = block.stamp
        if self.samples == 0:
            self._first = self._start = float(stamps[0])
            self._period = block.period_s
        else:
            stamps = np.concatenate([[self._last], stamps])
        steps = np.diff(stamps)
        long = steps > LONGEST_STEP
        self._gaps += int(long.sum())
        self._longest_gap = max(self._longest_gap, float(steps[long].max(initial=0.0)))
        missing = np.rint(steps[~long] / self._period) - 1.0 if self._period > 0.0 else np.zeros(0)
        self._lost += int(missing[missing > 0.0].sum())

    def _follow_payload(self, estimate: PayloadEstimate, is_due: bool, residual: FloatArray) -> None:
        event = estimate.event
        if event is not None and event.kind != "contact":
            onset = event.onset if math.isfinite(event.onset) else event.stamp
            self._end_payload(max(onset, self._start))
        if is_due:
            self._recent.append(estimate)
            if estimate.problem:
                self._problems[_DIGITS.sub("", estimate.problem)] = estimate.problem  # the last numbers of each kind
            if self._curve is not None:
                size = float(np.linalg.norm(residual))
                self._curve.add(estimate.stamp - self._first, estimate.mass, float(estimate.std[0]), size)

    def _follow_contacts(self, block: JointDataset, found: ArmRows) -> None:
        ends = [k for k, _ in found.contacts]
        for first, end, contact in zip([0, *ends], [*ends, len(block.stamp)], [None, *found.contacts], strict=True):
            if contact is not None:
                self._change_contact(contact[1])
            if self._contact is not None:
                part = slice(first, end)
                sample = checks.for_kernel(block.q[part]), block.dq[part]
                wrenches = self._wrenches.wrenches(*sample, found.external_torques[part])
                forces = np.sqrt((wrenches[:, :3] ** 2).sum(axis=1))
                self._force = max(self._force, float(forces.max(initial=0.0)))

    def _end_payload(self, onset: float) -> None:
        """Something else is carried since `onset`."""
        before = [estimate for estimate in self._recent if estimate.stamp <= onset]
        if onset > self._start:
            last = before[-1] if before else self._recent[0] if self._recent else None
            self._close_payload(onset, last)
        self._start = onset
        self._recent.clear()

    def _close_payload(self, end: float, estimate: PayloadEstimate | None) -> None:
        if estimate is None:
            return
        known = estimate.com_is_known
        self.payloads.append({
            "kind": PAYLOAD,
            "start_s": self._start - self._first,
            "end_s": end - self._first,
            "carried": estimate.is_carried,
            "mass_kg": estimate.mass,
            "mass_std_kg": float(estimate.std[0]),
            "com_m": estimate.com.tolist() if known else None,
            "com_std_m": estimate.com_std.tolist() if known else None,
            "inertia_kgm2": six_from_symmetric(estimate.inertia).tolist() if known else None,
            "status": estimate.status,
        })  # fmt: skip

    def _change_contact(self, contact: Contact) -> None:
        if self._contact is not None and contact.start != self._contact.start:
            self._add_contact(self._contact)
        if self._contact is None or contact.start != self._contact.start:
            self._force = 0.0
        self._contact = contact
        if not contact.lasts:
            self._add_contact(contact)
            self._contact = None

    def _add_contact(self, contact: Contact) -> None:
        self.contacts.append({
            "kind": CONTACT,
            "start_s": contact.start - self._first,
            "end_s": None if contact.end is None else contact.end - self._first,
            "link": contact.link,
            "force_n": self._force,
            "contact_torque_nm": contact.torques.tolist(),
            "ended_by": contact.ended_by,
        })  # fmt: skip
