# SPDX-License-Identifier: Apache-2.0
"""The motion whose base regressor is best conditioned, within an arm's limits and clear of table and base.

Coefficients are drawn at random, fitted into the limits and tried for clearance; the best one is then improved by an
evolution strategy (1+1) with the one-fifth rule (Rechenberg 1973). No gradient: the limits make corners of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.identification.identifiability import condition_number
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.motion.fourier_motion import FourierMotion, at_rest

SAMPLE_TIME = 0.1  # s, while searching
VELOCITY_SHARE, ACCELERATION_SHARE = 0.75, 0.5  # of the limits; what peaks between samples has room
POSITION_MARGIN = 0.15  # rad from each limit
HEIGHT = 0.12  # m that joints, flange and tool keep above the table
TOOL = 0.12  # m: a gripper's reach beyond the flange
BASE_DISTANCE = 0.25  # m that wrist, flange and tool keep from the column of the base
ARM_DISTANCE = 0.18  # m that flange and tool keep from the upper arm
DRAWN = 0.25  # share of the trials that are drawn at random


@dataclass(frozen=True, eq=False)
class ExcitingMotion:
    """A motion, the condition number of its base regressor, and how many motions were tried."""

    motion: FourierMotion
    condition_number: float
    trials: int


def motion_condition(robot: RobotModel, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> float:
    """Condition number of the base regressor stacked over the states (N, n) of a motion (document 003, slide 12)."""
    W = robot.regressor(q, dq, ddq)[..., list(robot.base_parameters().columns)]
    return condition_number(np.einsum("tja,tjb->ab", W, W))


def find_exciting_motion(
    robot: RobotModel,
    duration: float = 10.0,
    *,
    harmonics: int = 5,
    table_height: float = 0.0,
    trials: int = 6000,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> ExcitingMotion:
    """A periodic motion of one period `duration` (s) that begins and ends at rest; the same for the same seed.

    Parameters
    ----------
    harmonics: of each joint, 2 or more.
    table_height: m, of a table in base axes; use -1 for none.
    trials: motions to try; more is better conditioned.
    progress: is called with the number of trials done and the best condition number so far.

    Raises
    ------
    ArgumentError: a number is out of range, or no motion within the limits is clear of table and base.
    """
    checks.number(duration, "duration", minimum=2.0, maximum=120.0)
    checks.number(harmonics, "harmonics", minimum=2, maximum=20)
    checks.number(trials, "trials", minimum=1)
    rng = np.random.default_rng(int(checks.number(seed, "seed", minimum=0)))
    columns = list(robot.base_parameters().columns)
    times = np.arange(0.0, duration, SAMPLE_TIME)
    best, least, point, step = None, np.inf, np.empty(0), 0.3
    size = robot.n * (1 + 2 * harmonics)
    for trial in range(trials):
        drawn = best is None or trial < DRAWN * trials
        candidate = rng.normal(size=size) if drawn else point + step * rng.normal(size=size)
        motion = _within_limits(robot, candidate, duration, harmonics)
        states = motion(times)
        value = np.inf
        if is_clear(robot, states[0], table_height):
            W = robot.regressor(*states)[..., columns].reshape(-1, len(columns))
            value = condition_number(W.T @ W)
        better = value < least
        if better:
            best, least, point = motion, value, candidate
        if not drawn:
            # One success in five keeps the step: e^0.8 and e^-0.2, damped.
            step = float(np.clip(step * np.exp((0.8 if better else -0.2) / 8.0), 0.005, 0.5))
        if progress is not None:
            progress(trial + 1, least)
    if best is None:
        raise ArgumentError(f"trials: expected enough to find a motion clear of table and base, got {trials}")
    return ExcitingMotion(best, least, trials)


def is_clear(robot: RobotModel, q: FloatArray, table_height: float) -> bool:
    """Whether joints, flange and tool keep off the table, and the hand off base and upper arm, in all q (N, n)."""
    frames = ["joint2", "joint4", f"joint{robot.n - 1}", "flange"] if robot.n >= 6 else ["flange"]
    points = {frame: robot.pose(q, frame) for frame in frames}
    flange = points["flange"]
    tool = flange[:, :3, 3] + TOOL * flange[:, :3, 2]
    moving = [T[:, :3, 3] for frame, T in points.items() if frame != "joint2"] + [tool]
    if min(float(point[:, 2].min()) for point in moving) < table_height + HEIGHT:
        return False
    if robot.n < 6:
        return True
    shoulder, elbow = points["joint2"][:, :3, 3], points["joint4"][:, :3, 3]
    base = np.zeros(3)
    wrist_and_beyond = moving[1:]
    if min(_distance(point, base, shoulder).min() for point in wrist_and_beyond) < BASE_DISTANCE:
        return False
    return bool(min(_distance(point, shoulder, elbow).min() for point in wrist_and_beyond[1:]) >= ARM_DISTANCE)


def _distance(point: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """From points (N, 3) to segments."""
    along = end - start
    share = np.clip(np.sum((point - start) * along, axis=-1) / np.sum(along * along, axis=-1), 0.0, 1.0)
    return np.linalg.norm(point - start - share[..., None] * along, axis=-1)


def _within_limits(robot: RobotModel, candidate: FloatArray, duration: float, harmonics: int) -> FourierMotion:
    """The motion of a candidate (n (1 + 2 H),), scaled joint by joint into position, velocity and acceleration."""
    limits, n = robot.limits, robot.n
    numbers = candidate.reshape(n, 1 + 2 * harmonics)
    a, b = at_rest(numbers[:, 1 : 1 + harmonics], numbers[:, 1 + harmonics :])
    # Twice as fine as the search: peaks between its samples count too.
    q, dq, ddq = FourierMotion(np.zeros(n), a, b, duration)(np.arange(0.0, duration, 0.5 * SAMPLE_TIME))
    low, high = limits.lower + POSITION_MARGIN, limits.upper - POSITION_MARGIN
    scale = np.min(
        [
            VELOCITY_SHARE * limits.velocity / np.abs(dq).max(axis=0),
            ACCELERATION_SHARE * limits.acceleration / np.abs(ddq).max(axis=0),
            0.98 * (high - low) / np.ptp(q, axis=0),
        ],
        axis=0,
    )
    # The share of the reach and the centre come from one number: small motions have more choice of place.
    wish = 0.5 * (low + high) + 0.25 * (high - low) * numbers[:, 0]
    centre = np.clip(wish, low - scale * q.min(axis=0), high - scale * q.max(axis=0))
    return FourierMotion(centre, scale[:, None] * a, scale[:, None] * b, duration)
