# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics demo`: the whole chain, as a user starts it."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from nodes.processes import Nodes

pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")

DURATION = 12.0  # s
MASS, COM = 1.0, [0.02, -0.015, 0.06]


def run_demo(output: Path, nodes: Nodes) -> dict[str, Any]:
    command = [sys.executable, "-m", "panda_dynamics_ros.cli", "demo", "--duration", str(DURATION)]
    command += ["--output", str(output), "--json"]
    done = subprocess.run(command, env=nodes.environment, capture_output=True, text=True, timeout=240.0)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    assert json.loads((output / "summary.json").read_text(encoding="utf-8")) == summary
    return summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


def machine_is_busy() -> bool:
    """Whether others want the processors: the demo alone keeps less than two of them at work."""
    return os.getloadavg()[0] > max(3.0, 1.5 * (os.cpu_count() or 1))


@pytest.fixture(scope="module")
def summary(folder, nodes):
    """Of a run that lost nothing. A machine that is busy with other things may pause once; then it is tried again."""
    summary = run_demo(folder, nodes)
    if summary["dropped"] > 0 and machine_is_busy():
        warnings.warn(f"the machine is busy: {summary['dropped']} samples lost, tried again", stacklevel=1)
        summary = run_demo(folder, nodes)
    return summary


def test_no_sample_is_lost(summary):
    if summary["dropped"] > 0 and machine_is_busy():
        pytest.skip(
            f"twice the machine was too busy to tell (load {os.getloadavg()[0]:.1f}); {summary['dropped']} lost"
        )
    assert summary["dropped"] == 0
    assert summary["samples"] >= DURATION * 1000
    assert summary["rate_hz"] == pytest.approx(1000.0, abs=1.0)
    assert DURATION <= summary["duration_s"] < DURATION + 10.0


def test_the_summary_has_the_keys_that_programs_rely_on(summary):
    assert set(summary) >= {
        "samples", "dropped", "duration_s", "rate_hz", "torque_residual_rms", "problem", "joint_offsets",
        "joint_offsets_std", "payload", "truth", "events",
    }  # fmt: skip
    assert len(summary["torque_residual_rms"]) == 7
    payload = summary["payload"]
    assert set(payload) >= {"mass", "com", "inertia", "std", "identifiable", "status"}
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
    off = sum((got - true) ** 2 for got, true in zip(after["com_after_2s"], COM, strict=True)) ** 0.5
    assert off < 0.02
    assert summary["payload"]["mass"] == pytest.approx(MASS, abs=0.06)


def test_pictures_recording_and_logs_are_written(summary, folder):
    for name in ("payload.png", "torques.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert (folder / "recording" / "metadata.yaml").is_file()
    for module in ("dynamics", "payload_estimator", "simulated_panda"):
        assert "Traceback" not in (folder / f"{module}.log").read_text(encoding="utf-8")
