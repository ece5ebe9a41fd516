# SPDX-License-Identifier: Apache-2.0
"""One interface to whatever estimates a payload, and this package's estimator behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benchmarks.payload.samples import Samples
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimator
from panda_dynamics_ros.estimation.estimate import com_covariance

LEAST_MASS = 0.02  # kg, below which m c / m is no CoM


@dataclass(frozen=True, eq=False)
class Answer:
    """An estimate: inertial vector (10,) about the flange origin, and its covariance (10, 10)."""

    vector: FloatArray
    covariance: FloatArray

    @property
    def mass(self) -> float:
        """kg."""
        return float(self.vector[0])

    @property
    def com(self) -> FloatArray:
        """(3,), m."""
        return np.asarray(self.vector[1:4] / max(self.mass, LEAST_MASS))

    @property
    def com_std(self) -> FloatArray:
        """(3,), m, to first order."""
        variances = np.diag(com_covariance(max(self.mass, LEAST_MASS), self.com, self.covariance))
        return np.sqrt(np.maximum(variances, 0.0))

    @property
    def body(self) -> InertialParameters:
        """As a body, if the mass allows it."""
        if self.mass < LEAST_MASS:
            return InertialParameters.zero()
        return InertialParameters.from_vector(self.vector)


@dataclass(frozen=True)
class Track:
    """What a method said: answers at the times it was asked, and (stamp, kind) of changes it noticed."""

    answers: list[Answer]
    events: list[tuple[float, str]] = field(default_factory=list)


class Method(Protocol):
    """Estimates a payload from samples."""

    name: str

    def run(self, robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
        """Answers at the stamps `at`, each from samples up to it.

        `since` is when the payload came on, the first stamp for one that was there from the beginning. Methods
        that do not notice a pick by themselves may use it.
        """


class Ours:
    """This package's estimator, sample by sample; nobody tells it about `since`."""

    name = "estimator"

    def __init__(self, **options: Any) -> None:
        self.options = options

    def run(self, robot: RobotModel, data: Samples, since: float, at: Sequence[float]) -> Track:
        """See `Method`."""
        estimator = PayloadEstimator(robot, **self.options)
        answers: list[Answer] = []
        events: list[tuple[float, str]] = []
        ask = iter([*at, np.inf])
        wanted = next(ask)
        estimate = estimator.estimate
        for stamp, q, dq, tau in zip(data.stamp, data.q, data.dq, data.tau, strict=True):
            while stamp > wanted + 1e-9:
                answers.append(Answer(estimate.vector, estimate.covariance))
                wanted = next(ask)
            before = estimate
            estimate = estimator.update(stamp, q, dq, tau)
            if estimate is not before and estimate.event is not None:
                events.append((stamp, estimate.event.kind))
        answers += [Answer(estimate.vector, estimate.covariance)] * (len(at) - len(answers))
        return Track(answers, events)
