# SPDX-License-Identifier: Apache-2.0
"""summary.json: the results of `demo` and `replay` for other programs, also the load that Franka had. One sigma."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.believed_load import believed_load
from panda_dynamics_ros.estimation.estimate import NORMAL_95, PayloadEstimate, PayloadSegment
from panda_dynamics_ros.estimation.hypotheses import CONTACT
from panda_dynamics_ros.reporting.replay import Replay
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.inertial import six_from_symmetric
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.untrusted import replacing

AFTER_EVENT = 2.0  # s, from an event to the estimate that its entry has
AFTER_CHANGE = 1.0  # s: while a payload is picked up the estimate is on its way
MATTERS = 0.05  # kg: Franka's controller compensates half a newton by itself
LARGEST_COM_STD = 0.2  # m: beyond it nothing is known of the centre of mass
EVENT_WORDS = {"pick": "pick", "release": "release", "contact": "contact", "load": "load (weight or steady push)"}
"""Kinds of event in words; of a load it is open whether somebody pushes steadily or the arm carries a weight."""


def summary_of(
    data: JointDataset, result: Replay, segments: Sequence[PayloadSegment] = (), loads: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The content of summary.json of a replayed recording.

    `segments` are payloads from all samples while each was carried, `loads` those of `franka_loads`, of which that of
    the longest time without a change is told first; the summary has them only where they are there.
    """
    detected = [(event.stamp, f"detected_{event.kind}") for event in result.events]
    summary: dict[str, Any] = {
        "samples": len(data.stamp),
        "dropped": sum(data.rejected.values()),
        "lost": result.steps.lost,
        "duration_s": float(data.duration_s),
        "rate_hz": data.rate_hz if len(data.stamp) > 1 else None,
        "torque_residual_rms": floats(result.residual_rms),
        "problem": result.problem,
        "joint_offsets": floats(result.joint_offsets),
        "joint_offsets_std": floats(result.joint_offsets_std),
        "payload": payload_entry(result.last),
        "truth": None,
        "events": event_entries(detected, result.stamp, result.mass, result.com),
    }
    if segments:
        summary["segments"] = [
            {name: getattr(segment, name) for name in ("start", "end", "motion_s")}
            | payload_entry(segment.estimate)
            | {"physical": segment.estimate.payload.is_physical()}
            for segment in segments
        ]
    if loads:
        longest = max(loads, key=lambda load: float(load["end"] - load["start"]))
        summary["franka_load"] = {**longest, "stale": any(load["stale"] for load in loads), "spans": list(loads)}
    return summary


def franka_loads(data: JointDataset, robot: RobotDescription, result: Replay) -> list[dict[str, Any]]:
    """The load in Franka's model between the changes that `replay` found, beside the payload found at their end.

    None where there are no external torques, or only zeros. Each has `start` and `end`, s, `mass`, `mass_std` and
    `estimated_mass`, kg, `com` and `com_std`, m, None where they are not known, and `stale`: whether both masses differ
    by more than their 95 % interval, and by more than `MATTERS`, and no problem doubts the arm or its torques.
    """
    if data.tau_ext is None or not data.tau_ext.any():
        return []
    changes = [event for event in result.events if event.kind != CONTACT]
    begins, ends = [-math.inf, *(each.stamp for each in changes)], [*(each.onset for each in changes), math.inf]
    found = list[dict[str, Any]]()
    for begin, end in zip(begins, ends, strict=True):  # the estimate moves before a change is told
        span = slice(*np.searchsorted(data.stamp, [begin + AFTER_CHANGE, end]))
        stamp = data.stamp[span]
        load = believed_load(robot, stamp, data.q[span], data.dq[span], data.tau[span], data.tau_ext[span])
        if load is None:
            continue
        mass, mass_std = float(result.mass[span.stop - 1]), float(result.mass_std[span.stop - 1])
        entry = {name: np.asarray(value).tolist() for name, value in load._asdict().items()}
        if load.com_std.max() >= LARGEST_COM_STD:
            entry |= {"com": None, "com_std": None}
        differs = abs(load.mass - mass) > max(NORMAL_95 * math.hypot(load.mass_std, mass_std), MATTERS)
        entry |= {"estimated_mass": mass, "stale": not result.problem and differs}
        found.append({"start": float(stamp[0]), "end": float(stamp[-1]), **entry})
    return found


def stale_loads(loads: list[dict[str, Any]], origin: float) -> list[str]:
    """A sentence for each load that is stale, with times since the stamp `origin`, s."""
    return [
        f"from {load['start'] - origin:.1f} s to {load['end'] - origin:.1f} s Franka has a load of {load['mass']:.2f} "
        f"kg, but the torques show {load['estimated_mass']:.2f} kg, a weight or a steady push: if the arm carries it, "
        "call setLoad (~/apply_load), or its own compensation is wrong by the difference"
        for load in loads
        if load["stale"]
    ]


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
    deviations = {name: getattr(estimate, name) for name in ("com_std", "inertia_std")}
    return {
        **body_entry(estimate.payload),
        "std": floats(estimate.std),
        **{name: floats(each) if np.isfinite(each).all() else None for name, each in deviations.items()},
        "identifiable": [bool(flag) for flag in estimate.identifiable],
        "status": estimate.status,
        "problem": estimate.problem,
    }


def body_entry(body: InertialParameters) -> dict[str, Any]:
    """A body as the summary has it."""
    return {"mass": float(body.mass), "com": floats(body.com), "inertia": floats(six_from_symmetric(body.inertia))}
