# SPDX-License-Identifier: Apache-2.0
"""The motion for weighing: small, from a given posture, there and back, with pauses.

Its velocity has sine terms only, so that it comes back the way it went: each posture is passed, and each pause
approached, from both sides, which takes dry friction out of their mean. It is the best of many random ones.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import payload_regressor
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.simulation.motion_search import (
    CARRYING,
    FoundMotion,
    blocked,
    exciting_motion,
    search,
    within_limits,
)
from panda_dynamics_ros.simulation.motions import RAMP, FourierMotion, at_rest
from panda_dynamics_ros.simulation.plant import SimulatedPanda
from panda_dynamics_ros.simulation.realism import Realism

HARMONICS = 12
PERIOD_S = 16.0  # of the motion without its pauses
PAUSES = (0.14, 0.32, 0.5, 0.68, 0.86, 1.0)
"""Where the arm pauses, as shares of the period: twice at each of two postures, at the turn and at the end."""
PAUSE_S = 1.2
STANDSTILL_S = 1.5  # at rest at the beginning, and at the end
WRIST_REACH, ARM_REACH = 0.9, 0.25
"""rad, half of the range in which each of the last three joints moves, and each of the others."""
VELOCITY_SHARE = 0.5
WANTED = np.array([2e-3, *[1e-3] * 3, *[1e-3] * 6])
"""kg, kg m, kg m^2: standard deviations that count alike in the score."""
PRIOR = np.array([1.5, *[0.15] * 3, *[0.02] * 6])
STEP_S = 0.1
LIMIT_MARGIN = 0.05  # rad from each limit: the start, which is the user's, may be near one
BETWEEN_S = 60.0  # from one simulated run to the next, for a person with a payload and a screwdriver


def weighing_motion(
    robot: RobotDescription,
    start: ArrayLike,
    *,
    table_height: float = 0.0,
    reach: float = WRIST_REACH,
    trials: int = 1000,
    seed: int = 0,
) -> FoundMotion:
    """The motion from rest at `start` (n,) rad, and back, that shows a payload best; its score is dimensionless.

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
        raise ArgumentError(
            f"start: expected a posture within the limits, got {start[joint]:.3f} rad of joint {joint + 1}, which "
            f"moves from {limits.lower[joint]:.3f} to {limits.upper[joint]:.3f} rad"
        )
    checks.number(table_height, "table_height", minimum=-10.0, maximum=10.0)
    checks.number(reach, "reach", minimum=0.05, maximum=2.0)
    most = np.full(n, min(ARM_REACH, reach))
    most[-3:] = reach

    def motion_of(point: FloatArray) -> FourierMotion:
        numbers = point.reshape(n, HARMONICS + 1)
        _, sine = at_rest(np.zeros((n, HARMONICS)), numbers[:, :HARMONICS])
        shape = FourierMotion(np.zeros(n), np.zeros((n, HARMONICS)), sine, PERIOD_S)
        share = 1.0 / (1.0 + np.exp(-numbers[:, HARMONICS] - 1.0))
        scaled = within_limits(shape, limits, VELOCITY_SHARE, start, share=share, reach=most, step=0.5 * STEP_S)
        return replace(scaled, centre=scaled.centre + start - scaled(0.0)[0])

    def score(q: FloatArray, dq: FloatArray, ddq: FloatArray) -> float:
        Y = payload_regressor(robot, q, dq, ddq) / robot.residual.std[:, None]
        covariance = np.linalg.inv(np.einsum("kij,kil->jl", Y, Y) + np.diag(PRIOR**-2.0))
        return float(np.sum(np.diag(covariance) / WANTED**2))

    def draw(rng: np.random.Generator) -> FloatArray:
        return rng.normal(size=n * (HARMONICS + 1))

    hit = partial(blocked, robot, 0.6, CARRYING, table_height, position_margin=LIMIT_MARGIN)
    found = search(draw, motion_of, score, hit, trials, seed, 0.3)
    pauses, waited = [], STANDSTILL_S
    for share in PAUSES:
        # Slowing down takes RAMP s for half of RAMP of the motion, and so does getting going again.
        pauses.append((waited + share * PERIOD_S + 0.5 * RAMP, PAUSE_S))
        waited += PAUSE_S + RAMP
    return replace(found, motion=replace(found.motion, standstill=STANDSTILL_S, pauses=tuple(pauses)))


def duration(motion: FourierMotion) -> float:
    """s, of a motion of `weighing_motion`, from the first sample at rest to the last."""
    begin, length = motion.pauses[-1]
    return begin + length


def simulated_runs(
    robot: RobotDescription, motion: FourierMotion, payload: InertialParameters, loaded: str, seed: int = 0
) -> Iterator[JointDataset]:
    """One recording for each letter of `loaded`, A without and B with the payload, of one arm.

    robot: the model, from which the arm differs as a real one does, the same way in all runs.
    motion: of `weighing_motion`.
    seed: >= 0, of the arm and of the noise.
    Raises ArgumentError: another letter, or what `SimulatedPanda` does not accept.
    Raises MissingDependencyError: MuJoCo is not installed.
    """
    if set(loaded) - {"A", "B"}:
        raise ArgumentError(f"loaded: expected letters A (without payload) and B (with it), got {loaded!r}")
    checks.number(seed, "seed", minimum=0)
    arm_excitation = exciting_motion(robot, seed)
    for number, letter in enumerate(loaded):
        plant = SimulatedPanda(
            robot,
            seed=seed,
            payload=payload if letter == "B" else None,
            realism=Realism.repeating(),
            excitation=motion,
            arm_excitation=arm_excitation,
            noise_seed=1000 * seed + number + 1,
        )
        run = plant.record(duration(motion))
        stamp = run.stamp + number * (duration(motion) + BETWEEN_S)
        name = f"run {number + 1} ({'loaded' if letter == 'B' else 'unloaded'})"
        yield JointDataset(stamp, run.q, run.dq, run.tau, robot.joint_names, name)
