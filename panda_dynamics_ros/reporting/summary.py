# SPDX-License-Identifier: Apache-2.0
"""summary.json: the results of `demo` and `replay` for other programs. Deviations in it are one sigma."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate, PayloadSegment
from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.untrusted import replacing

AFTER_EVENT = 2.0  # s, from an event to the estimate that its entry has
EVENT_WORDS = {"pick": "pick", "release": "release", "contact": "contact", "load": "load (weight or steady push)"}
"""Kinds of event in words; of a load it is open whether somebody pushes steadily or the arm carries a weight."""


def summary_of(
    data: JointDataset,
    result: Replay,
    segments: Sequence[PayloadSegment] = (),
    franka_load: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of summary.json of a replayed recording.

    `segments` are payloads from all samples while each was carried, `franka_load` is the load in Franka's own model
    (`load_entry`); the summary has them only where they are there.
    """
    detected = [(event.stamp, f"detected_{event.kind}") for event in result.events]
    summary: dict[str, Any] = {
        "samples": len(data.stamp),
        "dropped": sum(data.rejected.values()),
        "lost": result.findings.steps.lost,
        "duration_s": float(data.duration_s),
        "rate_hz": float(data.rate_hz),
        "torque_residual_rms": floats(result.torque_residual_rms),
        "problem": result.problem,
        "joint_offsets": floats(result.joint_offsets),
        "joint_offsets_std": floats(result.joint_offsets_std),
        "payload": payload_entry(result.last),
        "truth": None,
        "events": event_entries(detected, result.stamp, result.mass, result.com),
    }
    if segments:
        summary["segments"] = [
            {
                "start": segment.start,
                "end": segment.end,
                "motion_s": segment.motion_s,
                **payload_entry(segment.estimate),
                "physical": segment.estimate.payload.is_physical(),
            }
            for segment in segments
        ]
    return summary | ({"franka_load": franka_load} if franka_load else {})


def event_entries(
    events: Sequence[tuple[float, str]], stamp: FloatArray, mass: FloatArray, com: FloatArray, origin: float = 0.0
) -> list[dict[str, Any]]:
    """The summary's `events`, in order of time, each with the estimate `AFTER_EVENT` later or at the end of the run.

    `events` are (stamp, kind), kind "picked", "released" (known from the simulation) or "detected_" and that of the
    event; `stamp`, `mass`, `com` (K,) s, (K,) kg, (K, 3) m, the estimates; stamps are told from `origin`, s, on.
    """
    entries = []
    for at, kind in sorted(events):
        later = min(int(np.searchsorted(stamp, at + AFTER_EVENT)), len(stamp) - 1)
        after = {"mass_after_2s": float(mass[later]), "com_after_2s": floats(com[later])}
        entries.append({"stamp": float(at - origin), "kind": kind, **after})
    return entries


def events_text(entries: Sequence[dict[str, Any]], origin: float) -> str:
    """The detected events in a line, with times since the stamp `origin`, s."""
    kinds = ((entry["kind"].removeprefix("detected_"), entry["stamp"] - origin) for entry in entries)
    return "; ".join(f"{EVENT_WORDS.get(kind, kind)} at {time:.2f} s" for kind, time in kinds) or "none"


def write_summary(summary: dict[str, Any], output: Path) -> Path:
    """Write summary.json into the folder `output`."""
    path = output / "summary.json"
    with replacing(path) as file:
        file.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return path


def floats(values: FloatArray) -> list[float | None]:
    """An array as plain floats; null for what is not finite, which JSON cannot state."""
    return [float(value) if np.isfinite(value) else None for value in values]


def payload_entry(estimate: PayloadEstimate) -> dict[str, Any]:
    """The summary's `payload`; deviations that are not known, since there is hardly a mass, are null."""
    com_std, inertia_std = (
        floats(each) if np.isfinite(each).all() else None for each in (estimate.com_std, estimate.inertia_std)
    )
    return {
        **body_entry(estimate.payload),
        "std": floats(estimate.std),
        "com_std": com_std,
        "inertia_std": inertia_std,
        "identifiable": [bool(flag) for flag in estimate.identifiable],
        "status": estimate.status,
        "problem": estimate.problem,
    }


def body_entry(body: InertialParameters) -> dict[str, Any]:
    """A body as the summary has it."""
    return {"mass": float(body.mass), "com": floats(body.com), "inertia": floats(six_from_symmetric(body.inertia))}
