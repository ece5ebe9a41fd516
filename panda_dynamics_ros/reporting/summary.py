# SPDX-License-Identifier: Apache-2.0
"""summary.json: the results of a run of `demo` or `replay` for other programs. Deviations in it are one sigma."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import PayloadEstimate, PayloadSegment
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.inertial import six_from_symmetric

AFTER_EVENT = 2.0  # s, from an event to the estimate that its entry has


def build_summary(
    *,
    samples: int,
    dropped: int,
    duration_s: float,
    rate_hz: float,
    torque_residual_rms: FloatArray,
    problem: str,
    joint_offsets: FloatArray,
    joint_offsets_std: FloatArray,
    payload: PayloadEstimate,
    events: Sequence[tuple[float, str]],
    stamp: FloatArray,
    mass: FloatArray,
    com: FloatArray,
    truth: InertialParameters | None = None,
    segments: Sequence[PayloadSegment] = (),
    franka_load: dict[str, Any] | None = None,
    time_origin: float = 0.0,
) -> dict[str, Any]:
    """The content of summary.json.

    Parameters
    ----------
    samples, dropped: numbers of joint states that were used, and that were not.
    duration_s, rate_hz: of the stream.
    torque_residual_rms: (n,), N m.
    problem: what contradicts the arm or what was declared, in one sentence; empty where nothing does.
    joint_offsets, joint_offsets_std: (n,), N m, constant errors of the torque signals, as learnt.
    payload: the last estimate while a payload was carried, or of the run where none was put down.
    events: (stamp, kind), kind "picked", "released" (known from the simulation) or "detected_pick",
        "detected_release", "detected_contact".
    stamp, mass, com: (K,) s, (K,) kg and (K, 3) m, the estimates over the run, for the entries of the events.
    truth: the payload where somebody knows it.
    segments: payloads from all samples while each was carried; left out of the summary where there are none.
    franka_load: the load in Franka's own model (`load_entry`); left out where it is not known.
    time_origin: s, subtracted from the stamps of the events.
    """
    summary: dict[str, Any] = {
        "samples": samples,
        "dropped": dropped,
        "duration_s": float(duration_s),
        "rate_hz": float(rate_hz),
        "torque_residual_rms": floats(torque_residual_rms),
        "problem": problem,
        "joint_offsets": floats(joint_offsets),
        "joint_offsets_std": floats(joint_offsets_std),
        "payload": payload_entry(payload),
        "truth": None if truth is None else body_entry(truth),
        "events": [_event(*event, stamp, mass, com, time_origin) for event in sorted(events)],
    }
    if segments:
        summary["segments"] = [_segment(segment) for segment in segments]
    if franka_load:
        summary["franka_load"] = franka_load
    return summary


def check_replaceable(output: Path, name: str) -> None:
    """Refuse an output folder in which `name` is not of an earlier run: that has summary.json beside it.

    Raises
    ------
    ArgumentError: there is such a folder or file, which the run would replace.
    """
    if (output / name).exists() and not (output / "summary.json").exists():
        raise ArgumentError(
            f"--output: expected a folder without {name}, or that of an earlier run, got {str(output)!r}, where {name} "
            "holds something else"
        )


def write_summary(summary: dict[str, Any], output: Path) -> Path:
    """Write summary.json into the folder `output`."""
    path = output / "summary.json"
    path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return path


def floats(values: FloatArray) -> list[float | None]:
    """An array as plain floats; null for what is not finite, which JSON cannot state."""
    return [float(value) if np.isfinite(value) else None for value in values]


def payload_entry(estimate: PayloadEstimate) -> dict[str, Any]:
    """The summary's `payload`; deviations that are not known, since there is hardly a mass, are null."""
    return {
        **body_entry(estimate.payload),
        "std": floats(estimate.std),
        "com_std": _finite(estimate.com_std),
        "inertia_std": _finite(estimate.inertia_std),
        "identifiable": [bool(flag) for flag in estimate.identifiable],
        "status": estimate.status,
        "problem": estimate.problem,
    }


def body_entry(body: InertialParameters) -> dict[str, Any]:
    """A body as the summary has it."""
    return {"mass": float(body.mass), "com": floats(body.com), "inertia": floats(six_from_symmetric(body.inertia))}


def _finite(values: FloatArray) -> list[float] | None:
    return [float(value) for value in values] if np.isfinite(values).all() else None


def _event(
    at: float, kind: str, stamp: FloatArray, mass: FloatArray, com: FloatArray, time_origin: float
) -> dict[str, Any]:
    """An event with the estimate `AFTER_EVENT` later, or at the end of the run."""
    later = min(int(np.searchsorted(stamp, at + AFTER_EVENT)), len(stamp) - 1)
    return {
        "stamp": float(at - time_origin),
        "kind": kind,
        "mass_after_2s": float(mass[later]),
        "com_after_2s": floats(com[later]),
    }


def _segment(segment: PayloadSegment) -> dict[str, Any]:
    """When something was carried, how long in motion, and the payload."""
    return {
        "start": segment.start,
        "end": segment.end,
        "motion_s": segment.motion_s,
        **payload_entry(segment.estimate),
        "physical": segment.estimate.payload.is_physical(),
    }
