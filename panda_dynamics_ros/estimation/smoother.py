# SPDX-License-Identifier: Apache-2.0
"""The payloads of a whole recording, each from all samples: the estimator's offline counterpart.

It is the same filter, in which the payload before each change stays in the state. Payloads are constant between
changes and the arm's errors are common to all of them, so that what is learnt later tells of them as well: their last
estimate is that of a smoother.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.dynamics.newton_euler import link_side_sample
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.estimate import SHORT, SMOOTHED, STOOD_STILL, UNLOADED, PayloadSegment
from panda_dynamics_ros.estimation.options import Shape
from panda_dynamics_ros.estimation.payload_estimator import PayloadEstimator
from panda_dynamics_ros.estimation.plausibility import NEGATIVE_MASS
from panda_dynamics_ros.estimation.publication import published_estimate
from panda_dynamics_ros.estimation.regression import BLOCK
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS

LEAST_MOTION = 0.5  # s in motion, below which a segment is too short: about one correlation time of the arm's residual


def smooth_payloads(
    robot: RobotDescription, stamp: ArrayLike, q: ArrayLike, dq: ArrayLike, tau: ArrayLike,
    unloaded: Sequence[float] = (), *, shape: Shape | str | None = None, **options: float,
) -> tuple[PayloadSegment, ...]:  # fmt: skip
    """The payloads of a recording of N samples: a segment for each, that of no payload included, in their order.

    robot: the arm without the payload, with its friction and its residual model.
    stamp: (N,), s, increasing. q, dq, tau: (N, n), rad, rad/s, N m; tau on the links with gravity, or as of `effort`.
    unloaded: s, times at which the arm is known to have carried nothing. Its errors there are known in all segments.
    shape: of the payloads, if it is known, as for `PayloadEstimator`. options: see `EstimatorOptions`.
    Raises ArgumentError: a shape or a number is wrong, stamps do not increase, a moment is outside the recording, an
        option is unknown, or the shape is malformed.
    """
    stamp = checks.real_array(stamp, "stamp")
    if stamp.ndim != 1 or len(stamp) == 0 or (np.diff(stamp) <= 0.0).any():
        raise ArgumentError(f"stamp: expected increasing stamps, at least one, got an array of shape {stamp.shape}")
    q, dq, tau = link_side_sample(robot, q, dq, tau, len(stamp))
    for moment in unloaded:
        checks.number(moment, "unloaded", minimum=float(stamp[0]), maximum=float(stamp[-1]))
    estimator = PayloadEstimator(robot, shape=shape, **options)
    estimator.keeps_past = True
    for part in (slice(first, first + BLOCK) for first in range(0, len(stamp), BLOCK)):
        estimator.follow(stamp[part], q[part], dq[part], tau[part])
    return _segments(estimator, float(stamp[0]), float(stamp[-1]), unloaded)


def _segments(
    estimator: PayloadEstimator, start: float, end: float, unloaded: Sequence[float]
) -> tuple[PayloadSegment, ...]:
    state, changes = estimator.final_state(), estimator.changes
    onsets = [start, *(max(onset, start) for onset, _ in changes)]
    ends, motion = [*onsets[1:], end], np.diff([0.0, *(moved for _, moved in changes), estimator.motion_s])
    first = len(state.mean) - PARAMETERS * len(changes)
    places = [slice(begin, begin + PARAMETERS) for begin in [*range(first, len(state.mean), PARAMETERS), 0]]
    empty = {int(np.searchsorted(onsets, moment, side="right")) - 1 for moment in unloaded}
    nothing, found, seen = np.zeros(PARAMETERS), [], [estimator.carried(state, place) for place in places]
    for k in sorted(empty):
        state = state.conditioned(places[k], nothing)
    for k, place in enumerate(places):
        payload, problem = estimator.carried(state, place), ""
        mean, P = payload.mean, payload.covariance
        status = SMOOTHED if motion[k] >= LEAST_MOTION else SHORT if motion[k] > 0.0 else STOOD_STILL
        if k in empty:
            mean, P, status = nothing, np.diag(np.full(PARAMETERS, 1e-12)), UNLOADED
            mass, std = seen[k].mean[0], math.sqrt(seen[k].covariance[0, 0])
            if mass > NEGATIVE_MASS + 3.0 * std:
                since = f"{mass:.2f} kg from {onsets[k] - start:.2f} s on"
                problem = f"unloaded: expected moments without a payload, got {since}"
        known = estimator.options, estimator.shape
        estimate = published_estimate(mean, P, *known, stamp=ends[k], status=status, problem=problem)
        found.append(PayloadSegment(onsets[k], ends[k], estimate, float(motion[k])))
    return tuple(found)
