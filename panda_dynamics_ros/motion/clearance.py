# SPDX-License-Identifier: Apache-2.0
"""Whether an arm keeps clear of the table, of its own base and of its own upper arm.

The arm is represented by points: elbow (joint 4), wrist (the last joint but one), flange, and the tip of a tool on
the flange. The base is the segment from the base's origin to the shoulder (joint 2), the upper arm that from the
shoulder to the elbow.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import pose
from panda_dynamics_ros.robot import RobotDescription

TOOL = 0.12
"""m: reach of a gripper or a payload beyond the flange."""
TABLE, BASE, ARM = "table", "base", "upper arm"


@dataclass(frozen=True)
class Margins:
    """Distances in m from a point of the arm to an obstacle; the defaults are for an arm without a payload.

    A Panda's links have a radius of 0.06 to 0.1 m, its base one of 0.1 m.

    Attributes
    ----------
    height: of elbow and wrist above the table.
    flange, tool: of flange and tip of the tool above the table.
    wrist: of the wrist from the base.
    base: of flange and tip of the tool from the base.
    arm: of flange and tip of the tool from the upper arm.

    Raises
    ------
    ArgumentError: a distance is negative or not finite.
    """

    height: float = 0.12
    flange: float = 0.12
    tool: float = 0.12
    wrist: float = 0.24
    base: float = 0.25
    arm: float = 0.18

    def __post_init__(self) -> None:
        for field in fields(self):
            checks.number(getattr(self, field.name), field.name, minimum=0.0)


CARRYING = Margins(flange=0.2, tool=0.1, base=0.3, arm=0.2)
"""For an arm with a payload, which is wider than a tool; 0.1 m below the tip is left to its lower half."""


def obstacle(
    robot: RobotDescription, q: FloatArray, margins: Margins | None = None, table_height: float = 0.0
) -> str | None:
    """The first of table, base and upper arm to which the postures q (N, n) come nearer than `margins`; None if none.

    Of an arm of fewer than six joints, only flange and tool are checked, against the table.

    Parameters
    ----------
    table_height: m, in base axes.
    """
    limit = margins or Margins()
    T_flange = pose(robot, q, "flange")
    flange = T_flange[:, :3, 3]
    tool = flange + TOOL * T_flange[:, :3, 2]
    heights = [(flange, limit.flange), (tool, limit.tool)]
    if robot.n < 6:
        return _low(heights, table_height)
    frames = ("joint2", "joint4", f"joint{robot.n - 1}")
    shoulder, elbow, wrist = (pose(robot, q, frame)[:, :3, 3] for frame in frames)
    if low := _low([(elbow, limit.height), (wrist, limit.height), *heights], table_height):
        return low
    base = np.zeros(3)
    if any(_distance(point, base, shoulder) < least for point, least in ((wrist, limit.wrist), (flange, limit.base))):
        return BASE
    if _distance(tool, base, shoulder) < limit.base:
        return BASE
    return ARM if any(_distance(point, shoulder, elbow) < limit.arm for point in (flange, tool)) else None


def _low(points: list[tuple[FloatArray, float]], table_height: float) -> str | None:
    return TABLE if any(point[:, 2].min() < table_height + margin for point, margin in points) else None


def _distance(point: FloatArray, start: FloatArray, end: FloatArray) -> float:
    """The least distance of points (N, 3) from segments."""
    along = end - start
    share = np.clip(np.sum((point - start) * along, axis=-1) / np.sum(along * along, axis=-1), 0.0, 1.0)
    return float(np.linalg.norm(point - start - share[..., None] * along, axis=-1).min())
