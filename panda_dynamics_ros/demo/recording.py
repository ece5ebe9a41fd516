# SPDX-License-Identifier: Apache-2.0
"""What the demo's nodes published, collected in one thread and read in another."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.recordings.bags import JointStateSample
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.samples.stamps import BILLION

INPUT, ESTIMATE, CONTACT = "payload_estimator: input", "payload_estimator: estimate", "panda_dynamics: contact"
"""Names in /diagnostics."""


@dataclass(frozen=True)
class Status:
    """One status of /diagnostics: its summary and its values."""

    summary: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recording:
    """All that had been published when it was made.

    Attributes
    ----------
    joint_states: all samples.
    truth: (stamp, body) at the start and at each pick and release; a body of zero mass for none.
    estimates: payload and covariance of one stamp, with the status of the last diagnostics before.
    diagnostics: the latest status by name.
    changes: (stamp, kind) of the detected changes.
    contacts: (stamp, link) of each contact's beginning; picks that were at first taken for contacts are left out.
    wrench: (6,), the latest at the flange, or None.
    """

    joint_states: tuple[JointStateSample, ...] = ()
    truth: tuple[tuple[float, InertialParameters], ...] = ()
    estimates: tuple[PayloadEstimate, ...] = ()
    diagnostics: Mapping[str, Status] = field(default_factory=dict)
    changes: tuple[tuple[float, str], ...] = ()
    contacts: tuple[tuple[float, str], ...] = ()
    wrench: FloatArray | None = None

    @property
    def start(self) -> float:
        """s, stamp of the first sample."""
        return self.joint_states[0].stamp

    def status(self, name: str) -> Status:
        """The latest status of this name; an empty one before the first."""
        return self.diagnostics.get(name, Status())


class Recorder:
    """Collects messages, already converted, as they arrive. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._joint_states: list[JointStateSample] = []
        self._truth: list[tuple[float, InertialParameters]] = []
        self._estimates: list[PayloadEstimate] = []
        self._bodies: dict[int, InertialParameters] = {}  # by stamp, ns, until their covariance comes
        self._covariances: dict[int, FloatArray] = {}
        self._diagnostics: dict[str, Status] = {}
        self._changes: dict[tuple[float, str], None] = {}
        self._contacts: dict[float, str] = {}
        self._wrench: FloatArray | None = None

    def recording(self) -> Recording:
        """What has come so far; it does not change any more."""
        with self._lock:
            return Recording(
                tuple(self._joint_states), tuple(self._truth), tuple(self._estimates), dict(self._diagnostics),
                tuple(self._changes), tuple(self._contacts.items()), self._wrench,
            )  # fmt: skip

    def add_joint_state(self, sample: JointStateSample) -> None:
        """A sample of the arm."""
        with self._lock:
            self._joint_states.append(sample)

    def add_truth(self, stamp: float, body: InertialParameters) -> None:
        """What the simulated arm carries from `stamp` on."""
        with self._lock:
            self._truth.append((stamp, body))

    def add_payload(self, stamp_ns: int, body: InertialParameters) -> None:
        """The estimated payload at a stamp in nanoseconds."""
        with self._lock:
            self._bodies[stamp_ns] = body
            self._pair(stamp_ns)

    def add_covariance(self, stamp_ns: int, covariance: FloatArray) -> None:
        """The covariance (10, 10) of the payload of this stamp."""
        with self._lock:
            self._covariances[stamp_ns] = covariance
            self._pair(stamp_ns)

    def _pair(self, stamp_ns: int) -> None:
        """An estimate, once both of its messages are there; of older ones the other half was lost."""
        if stamp_ns not in self._bodies or stamp_ns not in self._covariances:
            return
        body, covariance = self._bodies[stamp_ns], self._covariances[stamp_ns]
        self._bodies = {stamp: each for stamp, each in self._bodies.items() if stamp > stamp_ns}
        self._covariances = {stamp: each for stamp, each in self._covariances.items() if stamp > stamp_ns}
        status = self._diagnostics.get(ESTIMATE, Status())
        flags = np.array([flag == "1" for flag in status.values.get("identifiable", "0" * 10)])
        estimate = PayloadEstimate(stamp_ns / BILLION, body.vector, covariance, flags, status.summary)
        self._estimates.append(estimate)

    def set_wrench(self, wrench: FloatArray) -> None:
        """The latest wrench (6,) on the flange."""
        with self._lock:
            self._wrench = wrench

    def set_status(self, name: str, summary: str, values: Mapping[str, str]) -> None:
        """The latest status of this name in /diagnostics."""
        with self._lock:
            self._diagnostics[name] = Status(summary, dict(values))
            if values.get("last_change"):
                self._changes[float(values["last_change_stamp"]), values["last_change"]] = None
            if values.get("since"):
                start = float(values["since"])
                self._contacts[start] = values["link"]
                if values.get("ended_by") == "payload":
                    del self._contacts[start]
