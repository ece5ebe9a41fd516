# SPDX-License-Identifier: Apache-2.0
"""summary.json: what a run of `demo` or `replay` leaves for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate, PayloadSegment
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.inertial import six_from_symmetric


def floats(values: FloatArray) -> list[float]:
    """An array as plain floats."""
    return [float(value) for value in values]


def payload_entry(estimate: PayloadEstimate) -> dict[str, Any]:
    """The summary's `payload`."""
    return {
        "mass": float(estimate.mass),
        "com": floats(estimate.com),
        "inertia": floats(six_from_symmetric(estimate.inertia)),
        "std": floats(estimate.std),
        "identifiable": [bool(flag) for flag in estimate.identifiable],
        "status": estimate.status,
    }


def segment_entry(segment: PayloadSegment) -> dict[str, Any]:
    """One of the summary's `segments`: when, how long in motion, and the payload. CoM deviations in m, or null."""
    com_std = segment.estimate.com_std
    return {
        "start": segment.start,
        "end": segment.end,
        "motion_s": segment.motion_s,
        **payload_entry(segment.estimate),
        "com_std": floats(com_std) if np.isfinite(com_std).all() else None,
        "physical": segment.estimate.payload.is_physical(),
    }


def truth_entry(body: InertialParameters) -> dict[str, Any]:
    """The summary's `truth`."""
    return {"mass": float(body.mass), "com": floats(body.com), "inertia": floats(six_from_symmetric(body.inertia))}


def write_summary(summary: dict[str, Any], output: Path) -> Path:
    """Write summary.json into the folder `output`."""
    path = output / "summary.json"
    path.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return path
