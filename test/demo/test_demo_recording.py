# SPDX-License-Identifier: Apache-2.0
"""What the demo collects: payload and covariance of one stamp belong together, whatever came or got lost between."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.demo.recording import CONTACT, ESTIMATE, Recorder

BODY = InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))


def body(mass: float) -> InertialParameters:
    return InertialParameters(mass, BODY.com, BODY.inertia)


def test_payload_and_covariance_are_paired_by_stamp() -> None:
    """Number 2's covariance and number 4's payload are lost, and number 5's covariance comes before its payload."""
    recorder = Recorder()
    messages = [("body", k) for k in (1, 2, 3)] + [("covariance", k) for k in (1, 3, 4, 5)] + [("body", 5)]
    for kind, k in messages:
        if kind == "body":
            recorder.add_payload(20_000_000 * k, body(k))
        else:
            recorder.add_covariance(20_000_000 * k, k * np.eye(10))
    estimates = recorder.recording().estimates
    assert [round(estimate.stamp / 0.02) for estimate in estimates] == [1, 3, 5]
    assert [estimate.mass for estimate in estimates] == [1.0, 3.0, 5.0]
    assert [estimate.covariance[0, 0] for estimate in estimates] == [1.0, 3.0, 5.0]
    assert not recorder._bodies
    assert not recorder._covariances


def test_an_estimate_has_the_status_of_the_diagnostics() -> None:
    recorder = Recorder()
    recorder.set_status(ESTIMATE, "estimating", {"identifiable": "1100000001"})
    recorder.add_payload(0, BODY)
    recorder.add_covariance(0, np.eye(10))
    (estimate,) = recorder.recording().estimates
    assert estimate.status == "estimating"
    assert np.flatnonzero(estimate.identifiable).tolist() == [0, 1, 9]


def test_a_recording_does_not_change_while_messages_arrive() -> None:
    """The report walks through it in another thread than that in which they arrive."""
    recorder, stop = Recorder(), threading.Event()

    def fill() -> None:
        for k in range(20_000):  # else it may grow faster than it is read
            if stop.is_set():
                return
            recorder.set_status(f"status {k}", "", {"since": str(k), "link": "5"})

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for _ in range(20):
            recording = recorder.recording()
            time.sleep(0.001)  # messages arrive
            counts = {len(list(recording.diagnostics)), len(recording.contacts), len(dict(recording.diagnostics))}
            assert len(counts) == 1
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(("ended_by", "kept"), [("released", True), ("steady", True), ("payload", False)])
def test_a_pick_that_was_taken_for_a_contact_is_none(ended_by: str, kept: bool) -> None:
    recorder = Recorder()
    recorder.set_status(CONTACT, "", {"since": "3.5", "link": "7", "until": "", "ended_by": ""})
    assert recorder.recording().contacts == ((3.5, "7"),)
    recorder.set_status(CONTACT, "", {"since": "3.5", "link": "6", "until": "3.9", "ended_by": ended_by})
    assert recorder.recording().contacts == (((3.5, "6"),) if kept else ())
