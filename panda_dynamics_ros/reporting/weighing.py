# SPDX-License-Identifier: Apache-2.0
"""A payload from paired runs: as rows, as an entry of a summary, and in the forms that robots take it."""

from __future__ import annotations

from typing import Any

import numpy as np

from panda_dynamics_ros.estimation.paired_runs import PairedRuns, RestCheck
from panda_dynamics_ros.estimation.payload.estimate import NORMAL_95, PayloadEstimate
from panda_dynamics_ros.estimation.payload.payload_file import franka_load
from panda_dynamics_ros.reporting.console import com_text, mass_text
from panda_dynamics_ros.reporting.summary import floats, payload_entry

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
        ("noise of a run", "  ".join(f"{1e3 * each:.0f}" for each in result.noise) + " mN m (joints 1..n)"),
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
    return "  ".join(f"{name} {1e3 * v:.2f} ± {1e3 * NORMAL_95 * s:.2f}" for name, v, s in entries) + " g m² (95 %)"


def inertia_is_measured(estimate: PayloadEstimate) -> bool:
    """Whether the moments xx, yy, zz about the centre of mass differ from zero by more than their 95 % interval."""
    diagonal = np.array([0, 3, 5])
    return bool((np.diag(estimate.inertia) > NORMAL_95 * estimate.inertia_std[diagonal]).all())


def rest_text(rest: RestCheck) -> str:
    """Whether the torques at rest are within the noise once the load is declared."""
    if not len(rest.torque):
        return "not checked: the arm never paused"
    largest = "  ".join(f"{each:.3f}" for each in rest.largest)
    verdict = "within the arm's noise" if rest.passed else "beyond the arm's noise"
    return f"with the load declared at most {largest} N m, {verdict}"


def set_load_cpp(estimate: PayloadEstimate) -> str:
    """The call of libfranka; the inertia is column-major."""
    load = franka_load(estimate)
    com, inertia = (", ".join(f"{each:.9g}" for each in load[key]) for key in ("center_of_mass", "load_inertia"))
    return f"robot.setLoad({load['mass']:.6g}, {{{com}}}, {{{inertia}}});"


def set_load_ros2(estimate: PayloadEstimate) -> str:
    """The call of franka_ros2's service."""
    load = franka_load(estimate)
    com, inertia = (", ".join(f"{each:.9g}" for each in load[key]) for key in ("center_of_mass", "load_inertia"))
    request = f"{{mass: {load['mass']:.6g}, center_of_mass: [{com}], load_inertia: [{inertia}]}}"
    return f'ros2 service call /service_server/set_load franka_msgs/srv/SetLoad "{request}"'


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
