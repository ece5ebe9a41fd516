# SPDX-License-Identifier: Apache-2.0
"""A payload from paired runs: as rows, as an entry of a summary, as libfranka's call, and as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.estimation.estimate import NORMAL_95
from panda_dynamics_ros.estimation.paired_runs import PairedRuns, RestCheck
from panda_dynamics_ros.estimation.payload_file import franka_load
from panda_dynamics_ros.reporting.console import com_text, fixed, joint_values, mass_text
from panda_dynamics_ros.reporting.style import BLUE, GREY, RED, plot_joints
from panda_dynamics_ros.reporting.summary import floats, payload_entry
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.inertial import six_from_symmetric

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


def paired_rows(result: PairedRuns, rest: RestCheck, truth: InertialParameters | None) -> list[tuple[str, str]]:
    """The result in words, and the payload's true parameters where they are known."""
    estimate = result.estimate
    is_found = estimate.mass - estimate.mass_margin > 0.0
    mass, inertia, at_rest = mass_text(estimate), "not known", "not checked: the arm never paused"
    if is_found:  # to a tenth of a gram, also below what counts as carried elsewhere: pairs show less than that
        mass = f"{estimate.mass:.4f} ± {estimate.mass_margin:.4f} kg (95 %)"
    if np.isfinite(estimate.inertia_std).all():
        entries = zip(INERTIA, six_from_symmetric(estimate.inertia), estimate.inertia_std, strict=True)
        margins = [f"{name} {fixed(1e3 * v, 2)} ± {1e3 * NORMAL_95 * s:.2f}" for name, v, s in entries]
        inertia = ", ".join(margins) + " g m² (95 %)"
    if len(rest.torque):
        verdict = "within the arm's noise" if rest.passed else "beyond the arm's noise"
        at_rest = f"with the load declared at most {joint_values(rest.largest)} N m, {verdict}"
    rows = [
        ("payload mass", mass),
        ("centre of mass", com_text(estimate)),
        ("inertia", inertia),
        ("noise of a run", f"{joint_values(1e3 * result.noise, 0)} mN m (joints 1..n)"),
        ("torque at rest", at_rest),
    ]
    if estimate.problem:
        rows.append(("problem", estimate.problem))
    if truth is not None:
        rows.append(("truth", f"{truth.mass:.4f} kg, centre of mass {joint_values(1e3 * truth.com, 1)} mm"))
    if is_found:
        load = franka_load(estimate)
        com, tensor = (", ".join(f"{each:.9g}" for each in load[key]) for key in ("center_of_mass", "load_inertia"))
        rows.append(("libfranka", f"robot.setLoad({load['mass']:.6g}, {{{com}}}, {{{tensor}}});"))  # column-major
    return rows


def plot_differences(result: PairedRuns, path: Path) -> Path:
    """Torque of the loaded runs less that of the unloaded ones per joint, and what the payload explains of it."""
    curves = [
        ("loaded less unloaded", result.difference, BLUE, 1.4, "-"),
        ("payload", result.explained, RED, 1.0, "--"),
        ("left", result.difference - result.explained, GREY, 0.9, "-"),
    ]
    return plot_joints(path, result.stamp, curves, time_label="time of the first loaded run (s)")
