# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics demo`: the whole chain, as a user starts it."""

import json
import math
import sys

import pytest
from waiting import FIRST_START, ran

from panda_dynamics_ros.estimation.estimate import ESTIMATING

pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")

DURATION = 12.0  # s
MASS, COM = 1.0, [0.02, -0.015, 0.06]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def summary(folder, nodes):
    command = [sys.executable, "-m", "panda_dynamics_ros.cli", "demo", "--duration", DURATION, "--output", folder]
    printed = json.loads(ran([*command, "--json"], env=nodes.environment, timeout=2.0 * FIRST_START).stdout)
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8")) == printed
    return printed


def test_every_sample_is_used_or_counted(summary):
    """The robot's stamps lie on a grid of 1 ms: what is missing on it was lost. A machine that pauses loses some."""
    assert summary["samples"] <= 1000.0 * summary["duration_s"] + 1.5  # duration_s is of stamps in double precision
    assert summary["samples"] + summary["dropped"] >= 1000.0 * DURATION
    assert summary["rate_hz"] == pytest.approx(1000.0, abs=1.0)
    assert summary["duration_s"] >= DURATION


def test_the_summary_has_the_keys_that_programs_rely_on(summary):
    assert set(summary) >= {
        "samples", "dropped", "duration_s", "rate_hz", "torque_residual_rms", "problem", "joint_offsets",
        "joint_offsets_std", "payload", "truth", "events",
    }  # fmt: skip
    assert len(summary["torque_residual_rms"]) == 7
    payload = summary["payload"]
    assert set(payload) >= {"mass", "com", "inertia", "std", "identifiable", "status"}
    assert payload["status"] == ESTIMATING  # as `replay` has it, without the mass that the diagnostics say
    lengths = {key: len(payload[key]) for key in ("com", "inertia", "std", "identifiable")}
    assert lengths == {"com": 3, "inertia": 6, "std": 10, "identifiable": 10}
    assert summary["truth"]["mass"] == MASS
    assert summary["truth"]["com"] == pytest.approx(COM)
    assert len(summary["truth"]["inertia"]) == 6
    for event in summary["events"]:
        assert set(event) >= {"stamp", "kind", "mass_after_2s", "com_after_2s"}


def test_pick_and_release_are_detected_right_after_they_happen(summary):
    """In this order, nothing else detected; within the .3 s that the filters need and the detector's .15 s."""
    events = summary["events"]
    assert [event["kind"] for event in events] == ["picked", "detected_pick", "released", "detected_release"]
    picked, seen_pick, released, seen_release = (event["stamp"] for event in events)
    assert 0.0 < seen_pick - picked < 0.5
    assert 0.0 < seen_release - released < 0.5


def test_the_payload_is_found(summary):
    """Of a plant with errors like a real arm's: mass within 60 g and CoM within 20 mm two seconds after the pick."""
    after = next(event for event in summary["events"] if event["kind"] == "picked")
    assert after["mass_after_2s"] == pytest.approx(MASS, abs=0.06)
    assert math.dist(after["com_after_2s"], COM) < 0.02
    assert summary["payload"]["mass"] == pytest.approx(MASS, abs=0.06)


def test_pictures_recording_and_logs_are_written(summary, folder):
    for name in ("payload.png", "torques.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert (folder / "recording" / "metadata.yaml").is_file()
    for module in ("dynamics", "payload_estimator", "simulated_panda"):
        assert "Traceback" not in (folder / f"{module}.log").read_text(encoding="utf-8")
