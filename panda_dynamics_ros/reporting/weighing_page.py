# SPDX-License-Identifier: Apache-2.0
"""The page of `panda-dynamics weigh`: one HTML file that needs no network, with figures, intervals and the calls."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from panda_dynamics_ros.estimation.paired_runs import PairedRuns, RestCheck
from panda_dynamics_ros.estimation.payload.estimate import NORMAL_95, PayloadEstimate
from panda_dynamics_ros.reporting.page import embedded, write_html
from panda_dynamics_ros.reporting.plots import BLUE, GREY, RED, add_legend, axes_of_joints, plain_text
from panda_dynamics_ros.reporting.weighing import (
    INERTIA,
    SENSOR_SCALE,
    inertia_is_measured,
    is_found,
    mass_of,
    rest_text,
    set_load_cpp,
    set_load_ros2,
    urdf_inertial,
)
from panda_dynamics_ros.robot import InertialParameters

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; background: #f5f6f8; margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 0 0 .6rem; }
section { background: #fff; border: 1px solid #dfe3e8; border-radius: 8px; padding: 1.1rem 1.3rem; margin: 1rem 0; }
.mass { font-size: 2.4rem; font-weight: 650; line-height: 1.2; } .muted { color: #5a6675; }
table { border-collapse: collapse; } td, th { padding: .25rem 1.2rem .25rem 0; text-align: right; }
td:first-child, th:first-child { text-align: left; } th { color: #5a6675; font-weight: 500; }
td { font-variant-numeric: tabular-nums; }
pre { background: #f0f2f5; border-radius: 6px; padding: .7rem .9rem; font-size: .85rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; } .good { color: #1c7a45; } .bad { color: #b3261e; } p { margin: .4rem 0; }
"""


def write_page(
    path: Path,
    result: PairedRuns,
    rest: RestCheck,
    runs: Sequence[str],
    robot_name: str,
    truth: InertialParameters | None = None,
) -> Path:
    """Write the page, and return its path.

    Parameters
    ----------
    rest: the check at rest that the page shows.
    runs: what each run was, in the order in which they were made.
    truth: the payload where somebody knows it, of a simulated arm.
    """
    estimate, escape = result.estimate, html.escape
    verdict = ("good" if rest.passed else "bad") if len(rest.torque) else "muted"
    listed = "".join(f"<li>{escape(plain_text(run))}</li>" for run in runs)
    body = f"""
<h1>Weighed by the arm</h1>
<p class="muted">{escape(robot_name)}, {len(runs)} runs, {result.motion_s:.0f} s in motion compared.
Numbers after “±” are half the width of a 95&nbsp;% interval.</p>
<section><h2>Payload</h2>
<p class="mass">{escape(mass_of(estimate))}</p>
{_table(estimate, truth)}
<p class="muted">Centre of mass in the flange frame; inertia about the centre of mass, along flange axes.
{escape(_about_inertia(estimate))}</p>
<p class="muted">{escape(SENSOR_SCALE)}</p></section>
<section><h2>Check at rest</h2>
<p class="{verdict}">{escape(rest_text(rest)[:1].upper() + rest_text(rest)[1:])}.</p>
{_rest_table(rest)}</section>
<section><h2>Tell the robot</h2>
{_calls(estimate) if is_found(estimate) else "<p>No payload was found, so there is nothing to enter.</p>"}</section>
<section><h2>What the runs show</h2>
<p>Torque of the loaded runs less that of the unloaded ones at the same postures, and what the payload makes of it.</p>
{_picture(result)}</section>
<section><h2>Runs</h2><ol>{listed}</ol></section>"""
    return write_html(path, f"Weighed: {mass_of(estimate)}", f"<main>{body}</main>", STYLE)


def _calls(estimate: PayloadEstimate) -> str:
    """The payload in the forms that robots take it."""
    return f"""<p>libfranka (<code>franka::Robot::setLoad</code>; mass, F_x_Cload, load_inertia column-major):</p>
<pre>{html.escape(set_load_cpp(estimate))}</pre>
<p>franka_ros2:</p><pre>{html.escape(set_load_ros2(estimate))}</pre>
<p>Desk, settings of the end effector (for a tool that stays on):</p>{_desk(estimate)}
<p>URDF, of a link in the flange frame:</p><pre>{html.escape(urdf_inertial(estimate))}</pre>"""


def _table(estimate: PayloadEstimate, truth: InertialParameters | None) -> str:
    """Mass, centre of mass and inertia with intervals, beside the truth where it is known."""
    upper = np.triu_indices(3)
    values = [1e3 * estimate.mass, *(1e3 * estimate.com), *(1e3 * estimate.inertia[upper])]
    margins = [1e3 * estimate.mass_margin, *(1e3 * estimate.com_margin)]
    margins += list(1e3 * NORMAL_95 * estimate.inertia_std)
    names = ["mass, g", *(f"centre of mass {a}, mm" for a in "xyz"), *(f"inertia {p}, g m²" for p in INERTIA)]
    true = None
    if truth is not None:
        true = [1e3 * truth.mass, *(1e3 * truth.com), *(1e3 * truth.inertia[upper])]
    rows = ["<tr><th></th><th>found</th><th>±</th>" + ("<th>truth</th>" if true else "") + "</tr>"]
    for k, name in enumerate(names):
        digits = 1 if k < 4 else 2
        known = f"{margins[k]:.{digits}f}" if np.isfinite(margins[k]) else "not known"
        cells = f"<td>{name}</td><td>{values[k]:.{digits}f}</td><td>{known}</td>"
        rows.append(f"<tr>{cells}{f'<td>{true[k]:.{digits}f}</td>' if true else ''}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _about_inertia(estimate: PayloadEstimate) -> str:
    if inertia_is_measured(estimate):
        return "All three moments of inertia are measured: they differ from zero by more than their intervals."
    return (
        "The moments of inertia are not all measured: an interval reaches zero. What is shown is the body that fits "
        "best; a faster motion of the wrist, or the shape of the payload, tells more."
    )


def _rest_table(rest: RestCheck) -> str:
    if not len(rest.torque):
        return ""
    heads = "".join(f"<th>joint {j + 1}</th>" for j in range(len(rest.noise)))
    rows = (("largest torque left, N m", rest.largest), ("noise of a run, one sigma, N m", rest.noise))
    cells = "".join(
        f"<tr><td>{name}</td>{''.join(f'<td>{each:.3f}</td>' for each in values)}</tr>" for name, values in rows
    )
    return f"<table><tr><th>{len(rest.torque)} pauses</th>{heads}</tr>{cells}</table>"


def _desk(estimate: PayloadEstimate) -> str:
    com = ", ".join(f"{each:.4f}" for each in estimate.com)
    heads = ("inertia tensor, kg m²", "", "")
    rows = [("mass, kg", f"{estimate.mass:.4f}"), ("centre of mass x, y, z, m", com)]
    rows += [(head, ", ".join(f"{v:.6f}" for v in row)) for head, row in zip(heads, estimate.inertia, strict=True)]
    return "<table>" + "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows) + "</table>"


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
