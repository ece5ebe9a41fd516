# SPDX-License-Identifier: Apache-2.0
"""A payload from paired runs: as rows, as an entry of a summary, as libfranka's call, and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.estimation.estimate import NORMAL_95, PayloadEstimate
from panda_dynamics_ros.estimation.paired_runs import PairedRuns, RestCheck
from panda_dynamics_ros.estimation.payload_file import franka_load
from panda_dynamics_ros.reporting.console import com_text, fixed, joint_values, mass_text
from panda_dynamics_ros.reporting.style import BLUE, GREY, RED, plot_joints
from panda_dynamics_ros.reporting.summary import floats, payload_entry

INERTIA = ("xx", "xy", "xz", "yy", "yz", "zz")


def paired_entry(result: PairedRuns, rest: RestCheck) -> dict[str, Any]:
    """The summary's entry: the payload as elsewhere in a summary, the noise and the torques at rest (one sigma)."""
    return {
        **payload_entry(result.estimate),
        "motion_s": result.motion_s,
        "noise": floats(result.noise),
        "rest": {
            "pauses": len(rest.torque),
            "largest": floats(rest.largest),
            "noise": floats(rest.noise),
            "within_noise": rest.passed if len(rest.torque) else None,
        },
        "set_load": franka_load(result.estimate),
    }


def paired_rows(result: PairedRuns, rest: RestCheck) -> list[tuple[str, str]]:
    """The result in words."""
    estimate = result.estimate
    return [
        ("payload mass", mass_of(estimate)),
        ("centre of mass", com_text(estimate)),
        ("inertia", inertia_text(estimate)),
        ("noise of a run", f"{joint_values(1e3 * result.noise, 0)} mN m (joints 1..n)"),
        ("torque at rest", rest_text(rest)),
        *([("problem", estimate.problem)] if estimate.problem else []),
    ]


def is_found(estimate: PayloadEstimate) -> bool:
    """Whether the 95 % interval of the mass is above zero."""
    return estimate.mass - estimate.mass_margin > 0.0


def mass_of(estimate: PayloadEstimate) -> str:
    """The mass to a tenth of a gram, also below what counts as carried elsewhere: runs in pairs show less than that."""
    if not is_found(estimate):
        return mass_text(estimate)
    return f"{estimate.mass:.4f} ± {estimate.mass_margin:.4f} kg (95 %)"


def inertia_text(estimate: PayloadEstimate) -> str:
    """The inertia about the centre of mass, 1e-3 kg m^2, with 95 % intervals; and whether it is measured."""
    if not np.isfinite(estimate.inertia_std).all():
        return "not known"
    values = estimate.inertia[np.triu_indices(3)]
    entries = zip(INERTIA, values, estimate.inertia_std, strict=True)
    return (
        ", ".join(f"{name} {fixed(1e3 * v, 2)} ± {1e3 * NORMAL_95 * s:.2f}" for name, v, s in entries) + " g m² (95 %)"
    )


def rest_text(rest: RestCheck) -> str:
    """Whether the torques at rest are within the noise once the load is declared."""
    if not len(rest.torque):
        return "not checked: the arm never paused"
    verdict = "within the arm's noise" if rest.passed else "beyond the arm's noise"
    return f"with the load declared at most {joint_values(rest.largest)} N m, {verdict}"


def set_load_cpp(estimate: PayloadEstimate) -> str:
    """The call of libfranka; the inertia is column-major."""
    load = franka_load(estimate)
    com, inertia = (", ".join(f"{each:.9g}" for each in load[key]) for key in ("center_of_mass", "load_inertia"))
    return f"robot.setLoad({load['mass']:.6g}, {{{com}}}, {{{inertia}}});"


def plot_differences(result: PairedRuns, path: Path) -> Path:
    """Torque of the loaded runs less that of the unloaded ones per joint, and what the payload explains of it."""
    curves = [
        ("loaded less unloaded", result.difference, BLUE, 1.4, "-"),
        ("payload", result.explained, RED, 1.0, "--"),
        ("left", result.difference - result.explained, GREY, 0.9, "-"),
    ]
    return plot_joints(path, result.stamp, curves, time_label="time of the first loaded run (s)")
