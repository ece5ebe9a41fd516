# SPDX-License-Identifier: Apache-2.0
"""The payloads of a whole recording, each from later samples, too: the estimator's offline counterpart.

It is the same filter, in which the payload before each change stays in the state. Payloads change little
between changes, and the arm's errors are common to all of them, so that what is learnt later tells of them as well:
their last estimate is that of a smoother, with a lag of some `MOST_CHANGES`. Later samples also decide on changes that
were not clear to the estimator.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.newton_euler import link_side_sample
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation.estimate import SHORT, SMOOTHED, STOOD_STILL, PayloadSegment
from panda_dynamics_ros.estimation.hypotheses import NOTHING, START_ODDS, are_the_same, nothing_is_carried
from panda_dynamics_ros.estimation.kalman_filter import THETA, GaussianState
from panda_dynamics_ros.estimation.options import Shape
from panda_dynamics_ros.estimation.payload_estimator import PastChange, PayloadEstimator
from panda_dynamics_ros.estimation.publication import published_estimate
from panda_dynamics_ros.estimation.regression import BLOCK
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS

MOST_CHANGES = 20  # in the state, of ten entries each; what comes later says hardly more of the earlier half of them
LEAST_MOTION = 0.5  # s in motion, below which a segment is too short: about one correlation time of the arm's residual


def smooth_payloads(
    robot: RobotDescription, stamp: ArrayLike, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, *,
    shape: Shape | str | None = None, **options: float,
) -> tuple[PayloadSegment, ...]:  # fmt: skip
    """The payloads of a recording of N samples: a segment for each, that of no payload included, in their order.

    robot: the arm without the payload, with its friction and its residual model.
    stamp: (N,), s, increasing. q, dq, tau: (N, n), rad, rad/s, N m; tau on the links with gravity, or as of `effort`.
    shape: of the payloads, if it is known, as for `PayloadEstimator`. options: see `EstimatorOptions`.
    Raises ArgumentError: an array, an option or the shape is wrong, or stamps do not increase.
    """
    stamp = checks.real_array(stamp, "stamp")
    if stamp.ndim != 1 or len(stamp) == 0 or (np.diff(stamp) <= 0.0).any():
        raise ArgumentError(f"stamp: expected increasing stamps, at least one, got an array of shape {stamp.shape}")
    estimator = PayloadEstimator(robot, shape=shape, **options)
    q, dq, tau = link_side_sample(robot, q, dq, tau, len(stamp))
    estimator.keeps_past = True
    found: list[PayloadSegment] = []
    start = float(stamp[0])
    for part in (slice(first, first + BLOCK) for first in range(0, len(stamp), BLOCK)):
        estimator.follow(stamp[part], q[part], dq[part], tau[part])
        clear = [k for k, change in enumerate(estimator.changes[: -MOST_CHANGES // 2]) if change.is_clear]
        if len(estimator.changes) > MOST_CHANGES and clear and not estimator.is_in_doubt:
            until = estimator.changes[clear[-1]].onset
            segments = _segments(estimator, start, float(stamp[part][-1]))
            found += [each for each in segments if each.start < until and each.end <= until]
            estimator.forget_past(clear[-1] + 1)
            start = until
    return (*found, *_segments(estimator, start, float(stamp[-1])))


def _segments(estimator: PayloadEstimator, start: float, end: float) -> Iterator[PayloadSegment]:
    state, changes = _real_changes(estimator.final_state(), estimator.changes, estimator.options.prior_std)
    onsets = [start, *(max(change.onset, start) for change in changes)]
    stamp, moved = np.transpose(estimator.motion or [(start, 0.0)])  # no update without a sample that is used
    motion = np.diff(np.interp([*onsets, end], stamp, np.cumsum(moved)))
    for since, until, motion_s, place in zip(onsets, [*onsets[1:], end], motion, _places(state, changes), strict=True):
        payload = estimator.carried(state, place)
        status = SMOOTHED if motion_s >= LEAST_MOTION else SHORT if motion_s > 0.0 else STOOD_STILL
        known = estimator.options, estimator.shape
        estimate = published_estimate(payload.mean, payload.covariance, *known, stamp=until, status=status)
        yield PayloadSegment(since, until, estimate, float(motion_s))


def _places(state: GaussianState, changes: Sequence[PastChange]) -> list[slice]:
    """Of the payloads in the state: those before each change, and the last one."""
    first = len(state.mean) - PARAMETERS * len(changes)
    return [*(slice(k, k + PARAMETERS) for k in range(first, len(state.mean), PARAMETERS)), THETA]


def _real_changes(
    state: GaussianState, changes: Sequence[PastChange], payload_std: FloatArray
) -> tuple[GaussianState, list[PastChange]]:
    """The state and its changes, without those that were never clear and, as is known by now, have changed nothing."""
    changes, shares = [*changes], payload_std / payload_std[0]
    for k in range(len(changes) - 1, -1, -1):
        before, after = _places(state, changes)[k : k + 2]
        difference, covariance, _ = state.difference(after, before)
        mass = nothing_is_carried(abs(float(difference[0])), float(covariance[0, 0]), START_ODDS)
        if changes[k].is_clear or min(mass, are_the_same(difference, covariance, shares, START_ODDS)) < 0.5:
            continue
        state = state.conditioned(after, NOTHING * shares, before)
        state = state.of(slice(0, before.start), slice(before.stop, len(state.mean)))
        del changes[k]
    return state, changes
