# SPDX-License-Identifier: Apache-2.0
"""A payload from paired runs: as rows, as an entry of a summary, in the forms that robots take it, and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros.estimation.estimate import NORMAL_95, PayloadEstimate
from panda_dynamics_ros.estimation.paired_runs import PairedRuns, RestCheck
from panda_dynamics_ros.estimation.payload_file import franka_load
from panda_dynamics_ros.reporting.console import com_text, fixed, joint_values, mass_text
from panda_dynamics_ros.reporting.page import embedded, table, text, write_html
from panda_dynamics_ros.reporting.style import BLUE, GREY, RED, Figure, add_legend, axes_of_joints, styled
from panda_dynamics_ros.reporting.summary import floats, payload_entry
from panda_dynamics_ros.robot import InertialParameters

INERTIA = ("xx", "xy", "xz", "yy", "yz", "zz")
SENSOR_SCALE = (
    "The interval holds what the runs show. A scale error of the torque sensors is in all of them alike: one per cent "
    "makes one per cent of the mass, and nothing of the centre of mass."
)


def paired_entry(result: PairedRuns, rest: RestCheck | None = None) -> dict[str, Any]:
    """The summary's entry: the payload as elsewhere in a summary, the noise and the torques at rest (one sigma)."""
    rest = rest or result.rest
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


def paired_rows(result: PairedRuns, rest: RestCheck | None = None) -> list[tuple[str, str]]:
    """The result in words."""
    estimate = result.estimate
    return [
        ("payload mass", mass_of(estimate)),
        ("centre of mass", com_text(estimate)),
        ("inertia", inertia_text(estimate)),
        ("noise of a run", f"{joint_values(1e3 * result.noise, 0)} mN m (joints 1..n)"),
        ("torque at rest", rest_text(rest or result.rest)),
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


def inertia_is_measured(estimate: PayloadEstimate) -> bool:
    """Whether the moments xx, yy, zz about the centre of mass differ from zero by more than their 95 % interval."""
    diagonal = np.array([0, 3, 5])
    return bool((np.diag(estimate.inertia) > NORMAL_95 * estimate.inertia_std[diagonal]).all())


def rest_text(rest: RestCheck) -> str:
    """Whether the torques at rest are within the noise once the load is declared."""
    if not len(rest.torque):
        return "not checked: the arm never paused"
    verdict = "within the arm's noise" if rest.passed else "beyond the arm's noise"
    return f"with the load declared at most {joint_values(rest.largest)} N m, {verdict}"


def set_load_cpp(estimate: PayloadEstimate) -> str:
    """The call of libfranka; the inertia is column-major."""
    mass, com, inertia = _load_numbers(estimate)
    return f"robot.setLoad({mass}, {{{com}}}, {{{inertia}}});"


def set_load_ros2(estimate: PayloadEstimate) -> str:
    """The call of franka_ros2's service."""
    mass, com, inertia = _load_numbers(estimate)
    request = f"{{mass: {mass}, center_of_mass: [{com}], load_inertia: [{inertia}]}}"
    return f'ros2 service call /service_server/set_load franka_msgs/srv/SetLoad "{request}"'


def _load_numbers(estimate: PayloadEstimate) -> tuple[str, str, str]:
    load = franka_load(estimate)
    com, inertia = (", ".join(f"{each:.9g}" for each in load[key]) for key in ("center_of_mass", "load_inertia"))
    return f"{load['mass']:.6g}", com, inertia


def urdf_inertial(estimate: PayloadEstimate) -> str:
    """The <inertial> element of a link whose frame is the flange."""
    com = " ".join(f"{each:.9g}" for each in estimate.com)
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = estimate.inertia[np.triu_indices(3)]
    inertia = " ".join(f'{name}="{value:.9g}"' for name, value in zip(names, values, strict=True))
    return (
        f'<inertial>\n  <origin xyz="{com}" rpy="0 0 0"/>\n  <mass value="{estimate.mass:.6g}"/>\n'
        f"  <inertia {inertia}/>\n</inertial>"
    )


def write_page(
    path: Path,
    result: PairedRuns,
    rest: RestCheck,
    runs: Sequence[str],
    robot_name: str,
    truth: InertialParameters | None = None,
) -> Path:
    """Write the page of `panda-dynamics weigh`, and return its path.

    Parameters
    ----------
    rest: the check at rest that the page shows.
    runs: what each run was, in the order in which they were made.
    truth: the payload where somebody knows it, of a simulated arm.
    """
    estimate, checked = result.estimate, rest_text(rest)
    parts = [
        "<h1>Weighed by the arm</h1>",
        f"<p>{text(robot_name)}, {len(runs)} runs, {result.motion_s:.0f} s in motion compared. Numbers after “±” are "
        "half the width of a 95&nbsp;% interval.</p>",
        f'<h2>Payload</h2><p class="large">{text(mass_of(estimate))}</p>{_table(estimate, truth)}',
        "<p>Centre of mass in the flange frame; inertia about the centre of mass, along flange axes. "
        f"{_about_inertia(estimate)} {SENSOR_SCALE}</p><h2>Check at rest</h2>",
        f'<p class="{"good" if rest.passed else "bad"}">{text(checked[:1].upper() + checked[1:])}.</p>',
    ]
    if len(rest.torque):
        rows = [("largest torque left, N m", rest.largest), ("noise of a run, one sigma, N m", rest.noise)]
        heads = [f"{len(rest.torque)} pauses", *(f"joint {j + 1}" for j in range(len(rest.noise)))]
        parts.append(table(heads, [(name, *(f"{each:.3f}" for each in values)) for name, values in rows]))
    parts.append("<h2>Tell the robot</h2>")
    if is_found(estimate):
        parts += [
            "<p>libfranka (franka::Robot::setLoad: mass, F_x_Cload, load_inertia column-major):</p>",
            f"<pre>{text(set_load_cpp(estimate))}</pre><p>franka_ros2:</p><pre>{text(set_load_ros2(estimate))}</pre>",
            f"<p>Desk, settings of the end effector (for a tool that stays on):</p>{_desk(estimate)}",
            f"<p>URDF, of a link in the flange frame:</p><pre>{text(urdf_inertial(estimate))}</pre>",
        ]
    else:
        parts.append("<p>No payload was found, so there is nothing to enter.</p>")
    parts += [
        "<h2>What the runs show</h2><p>Torque of the loaded runs less that of the unloaded ones at the same postures, "
        "and the torque of the payload that was found.</p>",
        _picture(result),
        f"<h2>Runs</h2><ol>{''.join(f'<li>{text(run)}</li>' for run in runs)}</ol>",
    ]
    return write_html(path, f"Weighed: {mass_of(estimate)}", parts)


def _table(estimate: PayloadEstimate, truth: InertialParameters | None) -> str:
    """Mass, centre of mass and inertia with intervals, beside the truth where it is known."""
    upper, digits = np.triu_indices(3), [1] * 4 + [2] * 6
    names = ["mass, g", *(f"centre of mass {a}, mm" for a in "xyz"), *(f"inertia {p}, g m²" for p in INERTIA)]
    margins = 1e3 * np.array([estimate.mass_margin, *estimate.com_margin, *(NORMAL_95 * estimate.inertia_std)])
    columns = [
        [fixed(1e3 * v, d) for v, d in zip((body.mass, *body.com, *body.inertia[upper]), digits, strict=True)]
        for body in (estimate.payload, truth)
        if body is not None
    ]
    columns.insert(1, [f"{m:.{d}f}" if np.isfinite(m) else "not known" for m, d in zip(margins, digits, strict=True)])
    return table(["", "found", "±", "truth"][: len(columns) + 1], zip(names, *columns, strict=True))


def _about_inertia(estimate: PayloadEstimate) -> str:
    if inertia_is_measured(estimate):
        return "All three moments of inertia are measured: they differ from zero by more than their intervals."
    return (
        "The moments of inertia are not all measured: an interval reaches zero. What is shown is the body that fits "
        "best; a faster motion of the wrist, or the shape of the payload, tells more."
    )


def _desk(estimate: PayloadEstimate) -> str:
    com = ", ".join(f"{each:.4f}" for each in estimate.com)
    heads = ("inertia tensor, kg m²", "", "")
    inertia = [(head, ", ".join(f"{v:.6f}" for v in row)) for head, row in zip(heads, estimate.inertia, strict=True)]
    return table((), [("mass, kg", f"{estimate.mass:.4f}"), ("centre of mass x, y, z, m", com), *inertia])


@styled
def _picture(result: PairedRuns) -> str:
    """Differences of torque per joint, measured and explained, as PNG in the page itself."""
    n = result.difference.shape[1]
    figure = Figure(figsize=(10.0, 1.25 * n + 0.8), layout="constrained")
    every = axes_of_joints(figure, n, "time of the first loaded run (s)")
    for joint, axes in enumerate(every):
        left = result.difference[:, joint] - result.explained[:, joint]
        axes.plot(result.stamp, result.difference[:, joint], color=BLUE, linewidth=1.4, label="loaded less unloaded")
        axes.plot(result.stamp, result.explained[:, joint], color=RED, linewidth=1.0, linestyle="--", label="payload")
        axes.plot(result.stamp, left, color=GREY, linewidth=0.9, label="left")
    add_legend(every[0], 3)
    return embedded(figure, "Torques")
