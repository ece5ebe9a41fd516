# SPDX-License-Identifier: Apache-2.0
"""Search for the motion with the best score, within an arm's limits and clear of table, base and upper arm.

Coefficients are drawn at random, scaled into the limits and tried for clearance. The best draw may then be improved by
an evolution strategy (1+1) with the one-fifth rule (Rechenberg 1973), which needs no gradient: limits and clearance
make the score a function with steps.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import payload_regressor, pose
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import JointLimits, RobotDescription
from panda_dynamics_ros.simulation.motions import RAMP, FourierMotion, at_rest

Score = Callable[[FloatArray, FloatArray, FloatArray], float]
"""Of q, dq, ddq (N, n) of a motion; the least one is the best."""

READY = (0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)
"""Franka's ready posture, rad: the flange 0.59 m above the table, pointing down."""
HARMONICS = 5
SAMPLE_TIME = 0.1  # s: 20 samples in a cycle of the highest harmonic; the margins hold what peaks between them
POSITION_MARGIN = 0.15  # rad from each limit
VELOCITY_RESERVE = 0.35  # rad/s below the speed from which a joint can stop: largest velocity_offset of Franka's FR3
ACCELERATION_SHARE = 0.5  # of the limits; what peaks between samples, and slowing down for a pause, has room
VELOCITY_SHARE, PERIODIC_VELOCITY_SHARE = 0.55, 0.75
"""Of the limits: motions with a blend, whose peaks during the blend come on top; motions without one."""
REACH = 1.2  # rad about the centre; larger motions of an arm from `READY` mostly end at its base
DRAWN = 0.25  # share of the trials of an evolution that are drawn at random

WEIGHING_HARMONICS = 12
PERIOD_S = 16.0  # of the motion without its pauses
PAUSES = (0.14, 0.32, 0.5, 0.68, 0.86, 1.0)
"""Where the arm pauses, as shares of the period: twice at each of two postures, at the turn and at the end."""
PAUSE_S = 1.2
STANDSTILL_S = 1.5  # at rest at the beginning, and at the end
WRIST_REACH, ARM_REACH = 0.9, 0.25
"""rad, half of the range in which each of the last three joints moves, and each of the others."""
WANTED = np.array([2e-3, *[1e-3] * 3, *[1e-3] * 6])
"""kg, kg m, kg m^2: standard deviations that count alike in the score."""
PRIOR = np.array([1.5, *[0.15] * 3, *[0.02] * 6])
LIMIT_MARGIN = 0.05  # rad from each limit: the start, which is the user's, may be near one

TABLE, BASE, ARM = "table", "base", "upper arm"
TOOL = 0.12  # m: reach of a gripper or a payload beyond the flange
LINK_HEIGHT, FLANGE_HEIGHT, TOOL_HEIGHT = 0.12, 0.2, 0.1
"""m above the table: of elbow and wrist, of the flange with a payload, and of a tool's tip, below which 0.1 m are left
to the payload's lower half. A Panda's links have a radius of 0.06 to 0.1 m, its base one of 0.1 m."""
WRIST_FROM_BASE, FROM_BASE, FROM_ARM = 0.24, 0.3, 0.2
"""m from the segments that stand for base and upper arm: of the wrist, and of flange and tip."""


def exciting_motion(robot: RobotDescription, seed: int = 0, *, velocity_share: float = VELOCITY_SHARE) -> FourierMotion:
    """A motion from `READY` that shows a payload well, the same for the same seed: the best of 300 random ones.

    The score is D-optimality (Swevers et al., IEEE T-RA 13(5), 1997, section V): log det of the payload's weighted
    information matrix, sum over samples of Y^T R^-1 Y, R = diag(residual.std^2).

    velocity_share: of the velocity limits, at most, once the motion is under way.
    Raises ArgumentError: the robot does not have 7 joints, a number is out of range, or no motion was clear.
    """
    n, size = robot.n, 2 * robot.n * HARMONICS
    if n != len(READY):
        raise ArgumentError(f"robot: expected an arm of {len(READY)} joints, got {n}")
    checks.number(velocity_share, "velocity_share", minimum=0.01, maximum=0.9)
    limits = robot.limits
    rest = np.clip(READY, limits.lower + POSITION_MARGIN, limits.upper - POSITION_MARGIN)

    def draw(rng: np.random.Generator) -> FloatArray:
        return np.concatenate([rng.standard_normal(size), rng.uniform(0.6, 1.0, n), rng.standard_normal(n)])

    def motion_of(point: FloatArray) -> FourierMotion:
        a, b = point[:size].reshape(2, n, HARMONICS)
        share, shift = point[size : size + n], point[size + n :]
        shape = FourierMotion(rest, a, b, 10.0, rest, blend=4.0)
        return within_limits(shape, limits, velocity_share, rest + 0.4 * shift, share=share, reach=REACH)

    def score(q: FloatArray, dq: FloatArray, ddq: FloatArray) -> float:
        Y = payload_regressor(robot, q, dq, ddq) / robot.residual.std[:, None]
        return -float(np.linalg.slogdet(np.einsum("kij,kil->jl", Y, Y))[1])

    hit = partial(blocked, robot, max(0.8, velocity_share + 0.1), 0.0)
    return replace(search(draw, motion_of, score, hit, 300, seed)[0], standstill=1.0)


def periodic_motion(
    robot: RobotDescription, score: Score, duration: float = 10.0, *, harmonics: int = 5, table_height: float = 0.0,
    trials: int = 6000, seed: int = 0, progress: Callable[[int, float], None] | None = None,
) -> tuple[FourierMotion, float]:  # fmt: skip
    """The motion of the least `score`, and this score; it has one period `duration` (s), and begins and ends at rest.

    harmonics: of each joint, 2 or more.
    table_height: m, of a table in base axes; use -1 for none.
    trials: motions to try; more is better. seed: >= 0; the same one gives the same motion.
    progress: is called with the number of trials done and the best score so far.
    Raises ArgumentError: a number is out of range, or no motion within the limits is clear of table and arm.
    """
    checks.number(duration, "duration", minimum=2.0, maximum=120.0)
    H = int(checks.number(harmonics, "harmonics", minimum=2, maximum=20))
    checks.number(table_height, "table_height", minimum=-10.0, maximum=10.0)
    n, limits = robot.n, robot.limits

    def motion_of(numbers: FloatArray) -> FourierMotion:
        shape = FourierMotion(np.zeros(n), *at_rest(numbers[:, 1 : 1 + H], numbers[:, 1 + H :]), duration)
        low, high = limits.lower + POSITION_MARGIN, limits.upper - POSITION_MARGIN
        # The smaller a motion, the more choice of place it has: the same number moves it further.
        wish = 0.5 * (low + high) + 0.25 * (high - low) * numbers[:, 0]
        return within_limits(shape, limits, PERIODIC_VELOCITY_SHARE, wish, step=0.5 * SAMPLE_TIME)

    hit = partial(blocked, robot, PERIODIC_VELOCITY_SHARE + 0.1, table_height)
    return search(lambda rng: rng.normal(size=(n, 1 + 2 * H)), motion_of, score, hit, trials, seed, DRAWN, progress)


def weighing_motion(
    robot: RobotDescription, start: ArrayLike, *, table_height: float = 0.0, reach: float = WRIST_REACH,
    trials: int = 1000, seed: int = 0,
) -> FourierMotion:  # fmt: skip
    """The motion from rest at `start` (n,) rad, and back, with pauses, that shows a payload best.

    Its velocity has sine terms only, so that it comes back the way it went: each posture is passed, and each pause
    approached, from both sides, which takes dry friction out of their mean.

    The score is the sum of the variances of the payload's parameters, relative to `WANTED`, if each of ten samples per
    second had the noise `residual.std`.

    table_height: m, of a table in base axes; use -1 for none.
    reach: rad, half of the range in which each of the last three joints moves; the others have `ARM_REACH`. The start
        may be anywhere in these ranges.
    trials, seed: as for `periodic_motion`.
    Raises ArgumentError: a number is out of range, the start is not within the limits, or no motion is clear.
    """
    n, limits = robot.n, robot.limits
    start = checks.exactly(start, (n,), "start")
    if (start < limits.lower).any() or (start > limits.upper).any():
        joint = int(np.argmax(np.maximum(limits.lower - start, start - limits.upper)))
        moves = f"joint {joint + 1}, which moves from {limits.lower[joint]:.3f} to {limits.upper[joint]:.3f} rad"
        raise ArgumentError(f"start: expected a posture within the limits, got {start[joint]:.3f} rad of {moves}")
    checks.number(table_height, "table_height", minimum=-10.0, maximum=10.0)
    checks.number(reach, "reach", minimum=0.05, maximum=2.0)
    most = np.where(np.arange(n) < n - 3, min(ARM_REACH, reach), reach)

    def motion_of(numbers: FloatArray) -> FourierMotion:
        sine = numbers[:, :WEIGHING_HARMONICS]
        shape = FourierMotion(np.zeros(n), *at_rest(np.zeros_like(sine), sine), PERIOD_S)
        share = 1.0 / (1.0 + np.exp(-numbers[:, WEIGHING_HARMONICS] - 1.0))
        scaled = within_limits(shape, limits, 0.5, start, share=share, reach=most, step=0.5 * SAMPLE_TIME)
        return replace(scaled, centre=scaled.centre + start - scaled(0.0)[0])

    def score(q: FloatArray, dq: FloatArray, ddq: FloatArray) -> float:
        Y = payload_regressor(robot, q, dq, ddq) / robot.residual.std[:, None]
        covariance = np.linalg.inv(np.einsum("kij,kil->jl", Y, Y) + np.diag(PRIOR**-2.0))
        return float(np.sum(np.diag(covariance) / WANTED**2))

    hit = partial(blocked, robot, 0.6, table_height, position_margin=LIMIT_MARGIN)
    size = n, WEIGHING_HARMONICS + 1
    motion, _ = search(lambda rng: rng.normal(size=size), motion_of, score, hit, trials, seed, 0.3)
    # Slowing down takes RAMP s for half of RAMP of the motion, and so does getting going again.
    waits = STANDSTILL_S + 0.5 * RAMP + (PAUSE_S + RAMP) * np.arange(len(PAUSES))
    pauses = tuple((float(begin), PAUSE_S) for begin in waits + PERIOD_S * np.array(PAUSES))
    return replace(motion, standstill=STANDSTILL_S, pauses=pauses)


def duration(motion: FourierMotion) -> float:
    """s, of a motion of `weighing_motion`, from the first sample at rest to the last."""
    begin, length = motion.pauses[-1]
    return begin + length


def within_limits(
    shape: FourierMotion, limits: JointLimits, velocity_share: float, middle: FloatArray, *,
    share: FloatArray | float = 1.0, reach: FloatArray | float = np.inf, step: float = SAMPLE_TIME,
) -> FourierMotion:  # fmt: skip
    """The motion `shape`, scaled joint by joint to what limits of position, velocity and acceleration leave.

    middle: (n,), rad, where the middle of each joint's motion should be, as far as its size allows. share: of the
    largest size. reach: rad, the most to either side. step: s, between the samples at which peaks are looked for.
    """
    q, dq, ddq = shape(np.arange(shape.settled, shape.settled + shape.period, step))
    room = np.minimum(0.5 * (limits.upper - limits.lower) - POSITION_MARGIN, reach)
    velocity, acceleration = velocity_share * limits.velocity, ACCELERATION_SHARE * limits.acceleration
    most = velocity / np.abs(dq).max(0), acceleration / np.abs(ddq).max(0), 2.0 * room / np.ptp(q, axis=0)
    scale = share * np.min(most, axis=0)
    half = scale * np.ptp(q, axis=0) / 2.0
    low, high = limits.lower + POSITION_MARGIN + half, limits.upper - POSITION_MARGIN - half
    centre = np.clip(middle, low, high) - scale * ((q.max(0) + q.min(0)) / 2.0 - shape.centre)
    return replace(shape, centre=centre, cosine=scale[:, None] * shape.cosine, sine=scale[:, None] * shape.sine)


def blocked(
    robot: RobotDescription,
    velocity_share: float,
    table_height: float,
    states: tuple[FloatArray, FloatArray, FloatArray],
    position_margin: float = 0.9 * POSITION_MARGIN,
) -> str | None:
    """What a motion comes too near to, on the way out of the rest posture, too: the limits, or an obstacle."""
    (q, dq, ddq), limits = states, robot.limits
    room = np.maximum(np.where(dq > 0.0, limits.upper - q, q - limits.lower), 0.0)
    kept = (
        ((q >= limits.lower + position_margin) & (q <= limits.upper - position_margin)).all()
        and (np.abs(dq) <= velocity_share * limits.velocity).all()
        and (np.abs(dq) <= np.sqrt(2.0 * limits.deceleration * room) - VELOCITY_RESERVE).all()
        and (np.abs(ddq) <= 0.8 * limits.acceleration).all()
    )
    return obstacle(robot, q, table_height) if kept else "limits"


def search(
    draw: Callable[[np.random.Generator], FloatArray], motion_of: Callable[[FloatArray], FourierMotion], score: Score,
    obstacle_of: Callable[[tuple[FloatArray, FloatArray, FloatArray]], str | None], trials: int, seed: int,
    drawn_share: float = 1.0, progress: Callable[[int, float], None] | None = None,
) -> tuple[FourierMotion, float]:  # fmt: skip
    """The best of `trials` motions, drawn for a share of them and until one is clear, then varied; and its score."""
    checks.number(trials, "trials", minimum=1)
    rng = np.random.default_rng(int(checks.number(seed, "seed", minimum=0)))
    best, least, point, step = None, np.inf, np.empty(0), 0.3
    hits: Counter[str | None] = Counter()
    for trial in range(int(trials)):
        drawn = best is None or trial < drawn_share * trials
        candidate = draw(rng) if drawn else point + step * rng.normal(size=point.shape)
        motion = motion_of(candidate)
        states = motion(np.arange(0.0, motion.settled + motion.period, SAMPLE_TIME))
        hit = obstacle_of(states)
        hits[hit] += 1
        value = np.inf if hit else score(*states)
        better = value < least
        if better:
            best, least, point = motion, value, candidate
        if not drawn:
            # One success in five keeps the step: e^0.8 and e^-0.2, damped.
            step = float(np.clip(step * np.exp((0.8 if better else -0.2) / 8.0), 0.005, 0.5))
        if progress is not None:
            progress(trial + 1, least)
    if best is None:
        counts = ", ".join(f"{name} {count} times" for name, count in hits.most_common())
        wanted = "a motion within the limits and clear of table, base and upper arm"
        got = f"none in {trials} trials; in the way were: {counts}"
        raise ArgumentError(f"trials, table_height: expected {wanted}, got {got}")
    return best, least


def obstacle(robot: RobotDescription, q: FloatArray, table_height: float = 0.0) -> str | None:
    """The first of table, base and upper arm to which the postures q (N, n) come too near; None if none.

    The arm is represented by elbow (the last joint but three), wrist (the last but one), flange, and the tip of a tool
    on it; the base by the segment from its origin to the shoulder (joint 2), the upper arm by that from shoulder to
    elbow. Of an arm of fewer than six joints, only flange and tool are checked, against the table (m, base axes).
    """
    T_flange = pose(robot, q, "flange")
    flange = T_flange[:, :3, 3]
    tool = flange + TOOL * T_flange[:, :3, 2]
    heights, near = [(flange, FLANGE_HEIGHT), (tool, TOOL_HEIGHT)], []
    if robot.n >= 6:
        frames = ("joint2", f"joint{robot.n - 3}", f"joint{robot.n - 1}")
        shoulder, elbow, wrist = (pose(robot, q, frame)[:, :3, 3] for frame in frames)
        heights += [(elbow, LINK_HEIGHT), (wrist, LINK_HEIGHT)]
        for point, least in ((wrist, WRIST_FROM_BASE), (flange, FROM_BASE), (tool, FROM_BASE)):
            near.append((BASE, _distance(point, np.zeros(3), shoulder) < least))
        near += [(ARM, _distance(point, shoulder, elbow) < FROM_ARM) for point in (flange, tool)]
    low = [(TABLE, point[:, 2].min() < table_height + margin) for point, margin in heights]
    return next((name for name, hit in low + near if hit), None)


def _distance(point: FloatArray, start: FloatArray, end: FloatArray) -> float:
    """The least distance of points (N, 3) from segments."""
    along = end - start
    share = np.clip(np.sum((point - start) * along, axis=-1) / np.sum(along * along, axis=-1), 0.0, 1.0)
    return float(np.linalg.norm(point - start - share[..., None] * along, axis=-1).min())
