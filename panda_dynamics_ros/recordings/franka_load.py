# SPDX-License-Identifier: Apache-2.0
"""What load Franka had during a recording, beside the payload that was found: whether `setLoad` was forgotten."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from panda_dynamics_ros.estimation.believed_load import BelievedLoad, believed_load
from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset

AFTER_CHANGE = 1.0  # s: while a payload is picked up the estimate is on its way
MATTERS = 0.05  # kg: Franka's controller compensates half a newton by itself
SIGMAS = 1.96  # of a 95 % interval
LARGEST_COM_STD = 0.2  # m: beyond it nothing is known of the centre of mass


@dataclass(frozen=True)
class FrankaLoad:
    """The load in Franka's model between two changes of the payload, and the payload that was found at their end.

    Attributes
    ----------
    load: what Franka's model has beyond the arm's.
    mass, mass_std: kg, of the estimate.
    """

    load: BelievedLoad
    mass: float
    mass_std: float

    @property
    def is_stale(self) -> bool:
        """Whether both differ by more than their 95 % interval, and by more than `MATTERS`."""
        margin = SIGMAS * math.hypot(self.load.mass_std, self.mass_std)
        return abs(self.load.mass - self.mass) > max(margin, MATTERS)


def franka_loads(data: JointDataset, robot: RobotDescription, result: Replay) -> tuple[FrankaLoad, ...]:
    """The loads between the changes that `replay` found; none where there are no external torques, or only zeros."""
    if data.tau_ext is None or not data.tau_ext.any():
        return ()
    bounds = [-math.inf, *(event.stamp for event in result.events if not event.is_contact), math.inf]
    found = []
    for begin, end in itertools.pairwise(bounds):
        span = slice(*np.searchsorted(data.stamp, [begin + AFTER_CHANGE, end]))
        arrays = (data.q[span], data.dq[span], data.tau[span], data.tau_ext[span])
        load = believed_load(robot, data.stamp[span], *arrays)
        if load is not None:
            last = span.stop - 1
            found.append(FrankaLoad(load, float(result.mass[last]), float(result.mass_std[last])))
    return tuple(found)


def load_text(loads: tuple[FrankaLoad, ...]) -> str:
    """All loads in a line."""
    return "; ".join(f"{each.load.mass:.3f} ± {SIGMAS * each.load.mass_std:.3f} kg" for each in loads) + " (95 %)"


def stale_loads(loads: tuple[FrankaLoad, ...], origin: float) -> list[str]:
    """A sentence for each load that is stale, with times since the stamp `origin`, s."""
    return [
        f"from {each.load.start - origin:.1f} s to {each.load.end - origin:.1f} s Franka has a load of "
        f"{each.load.mass:.2f} kg, but the torques show {each.mass:.2f} kg, a weight or a steady push: if the arm "
        f"carries it, call setLoad (~/apply_load), or its own compensation is wrong by the difference"
        for each in loads
        if each.is_stale
    ]


def load_entry(loads: tuple[FrankaLoad, ...]) -> dict[str, Any] | None:
    """The summary's `franka_load`: the load of the longest time without a change, and each under `spans`."""
    if not loads:
        return None
    entries = list[dict[str, Any]]()
    for each in loads:
        load, com_is_known = each.load, each.load.com_std.max() < LARGEST_COM_STD  # null where it is not known
        entry = {
            "start": load.start,
            "end": load.end,
            "mass": load.mass,
            "mass_std": load.mass_std,
            "com": load.com.tolist() if com_is_known else None,
            "com_std": load.com_std.tolist() if com_is_known else None,
            "estimated_mass": each.mass,
            "stale": each.is_stale,
        }
        entries.append(entry)
    longest = max(entries, key=lambda entry: entry["end"] - entry["start"])
    return {**longest, "stale": any(entry["stale"] for entry in entries), "spans": entries}
