# SPDX-License-Identifier: Apache-2.0
"""What load Franka had during a recording, beside the payload that was found: whether `setLoad` was forgotten."""

import itertools
import math
from typing import Any

import numpy as np

from panda_dynamics_ros.estimation.believed_load import believed_load
from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset

AFTER_CHANGE = 1.0  # s: while a payload is picked up the estimate is on its way
MATTERS = 0.05  # kg: Franka's controller compensates half a newton by itself
SIGMAS = 1.96  # of a 95 % interval
LARGEST_COM_STD = 0.2  # m: beyond it nothing is known of the centre of mass


def franka_loads(data: JointDataset, robot: RobotDescription, result: Replay) -> list[dict[str, Any]]:
    """The load in Franka's model between the changes that `replay` found, beside the payload found at their end.

    None where there are no external torques, or only zeros. Each has `start` and `end`, s, `mass`, `mass_std` and
    `estimated_mass`, kg, `com` and `com_std`, m, None where they are not known, and `stale`: whether both masses differ
    by more than their 95 % interval, and by more than `MATTERS`.
    """
    if data.tau_ext is None or not data.tau_ext.any():
        return []
    bounds = [-math.inf, *(event.stamp for event in result.events if not event.is_contact), math.inf]
    found = list[dict[str, Any]]()
    for begin, end in itertools.pairwise(bounds):
        span = slice(*np.searchsorted(data.stamp, [begin + AFTER_CHANGE, end]))
        arrays = (data.q[span], data.dq[span], data.tau[span], data.tau_ext[span])
        load = believed_load(robot, data.stamp[span], *arrays)
        if load is None:
            continue
        mass, mass_std = float(result.mass[span.stop - 1]), float(result.mass_std[span.stop - 1])
        com_is_known = load.com_std.max() < LARGEST_COM_STD
        found.append(
            {
                "start": load.start,
                "end": load.end,
                "mass": load.mass,
                "mass_std": load.mass_std,
                "com": load.com.tolist() if com_is_known else None,
                "com_std": load.com_std.tolist() if com_is_known else None,
                "estimated_mass": mass,
                "stale": abs(load.mass - mass) > max(SIGMAS * math.hypot(load.mass_std, mass_std), MATTERS),
            }
        )
    return found


def load_text(loads: list[dict[str, Any]]) -> str:
    """All loads in a line."""
    return "; ".join(f"{load['mass']:.3f} ± {SIGMAS * load['mass_std']:.3f} kg" for load in loads) + " (95 %)"


def stale_loads(loads: list[dict[str, Any]], origin: float) -> list[str]:
    """A sentence for each load that is stale, with times since the stamp `origin`, s."""
    return [
        f"from {load['start'] - origin:.1f} s to {load['end'] - origin:.1f} s Franka has a load of {load['mass']:.2f} "
        f"kg, but the torques show {load['estimated_mass']:.2f} kg, a weight or a steady push: if the arm carries it, "
        "call setLoad (~/apply_load), or its own compensation is wrong by the difference"
        for load in loads
        if load["stale"]
    ]


def load_entry(loads: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The summary's `franka_load`: the load of the longest time without a change, and each under `spans`."""
    if not loads:
        return None
    longest = max(loads, key=lambda load: float(load["end"] - load["start"]))
    return {**longest, "stale": any(load["stale"] for load in loads), "spans": loads}
