# SPDX-License-Identifier: Apache-2.0
"""A payload estimate in a YAML file, and in the form of Franka's set_load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from panda_dynamics_ros.estimation.payload_estimate import PayloadEstimate


def franka_load(estimate: PayloadEstimate) -> dict[str, Any]:
    """The arguments of Franka's set_load: mass, F_x_Cload and the inertia about the CoM, column-major."""
    return {
        "mass": float(estimate.mass),
        "center_of_mass": [float(x) for x in estimate.com],
        "load_inertia": [float(x) for x in estimate.inertia.ravel(order="F")],
    }


def save_estimate(estimate: PayloadEstimate, path: str | Path) -> Path:
    """Write the estimate as YAML, with its uncertainty; returns the path written.

    Raises
    ------
    OSError: the file cannot be written.
    """
    target = Path(path).expanduser()
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "frame": "flange",
        "stamp": float(estimate.stamp),
        "status": estimate.status,
        "franka_set_load": franka_load(estimate),
        "vector_about_flange": [float(x) for x in estimate.vector],
        "std": [float(x) for x in estimate.std],
        "identifiable": [bool(x) for x in estimate.identifiable],
    }
    target.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return target
