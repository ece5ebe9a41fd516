# SPDX-License-Identifier: Apache-2.0
"""What is published: the filter's estimate, what the user knows of the payload, and a body that can exist.

`PublicationSchedule` decides which estimates are published, in the nodes and offline alike.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.estimation.consistency import ConsistentBody
from panda_dynamics_ros.estimation.estimate import ChangeEvent, PayloadEstimate
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.prior_knowledge import Shape, no_heavier, with_known_mass, with_known_shape
from panda_dynamics_ros.estimation.validation import STAMP_RESOLUTION

COM = slice(1, 4)


def published_estimate(
    mean: FloatArray,
    covariance: FloatArray,
    options: EstimatorOptions,
    shape: Shape | None,
    body: ConsistentBody,
    *,
    stamp: float,
    status: str,
    event: ChangeEvent | None = None,
    problem: str = "",
) -> PayloadEstimate:
    """The estimate to publish for a mean (10,) and covariance (10, 10) of the inertial vector about the flange origin.

    `body` searches for the nearest physically consistent body; the same object for the same payload starts near it.
    """
    mean, covariance = with_known_mass(mean, covariance, options.known_mass)
    nearest = body.nearest(mean, _with_visible_error(mean, covariance))
    vector = no_heavier(nearest, options.max_mass)
    covariance = _with_visible_error(mean, covariance)
    covariance[0, 0] += float(nearest[0] - vector[0]) ** 2  # a payload heavier than what is published
    if shape is not None:
        vector, covariance = with_known_shape(vector, covariance, shape)
    vector.setflags(write=False)
    return PayloadEstimate(
        stamp=stamp,
        vector=vector,
        covariance=checks.read_only(covariance),
        identifiable=identifiable(vector, covariance, options),
        status=status,
        event=event,
        problem=problem,
    )


def _with_visible_error(mean: FloatArray, covariance: FloatArray) -> FloatArray:
    """The covariance (10, 10), with the error of the mass that shows where it is below zero.

    A person who guides the arm, or an arm lighter than its model, makes a mean of less than the published zero.
    """
    widened = covariance.copy()
    widened[0, 0] += min(0.0, float(mean[0])) ** 2
    return widened


@compiled
def com_variances(vector, covariance, variances):
    """The diagonal (3,) of `com_covariance`, in place."""
    m = vector[0]
    for i in range(3):
        c = vector[1 + i] / m
        both = c * (covariance[0, 1 + i] + covariance[1 + i, 0])
        variances[i] = (c * c * covariance[0, 0] - both + covariance[1 + i, 1 + i]) / (m * m)


def identifiable(vector: FloatArray, covariance: FloatArray, options: EstimatorOptions) -> np.ndarray:
    """Which of the ten parameters (10 booleans) the data has narrowed to a third of their prior standard deviation.

    For the first moments m c that is asked of the centre of mass, which is what is shown: a light payload has a small
    m c wherever its centre of mass is. The covariance leaves offsets and the arm's other errors free.
    """
    flags = covariance.diagonal() < options.identified_variance
    mass = float(vector[0])
    if mass**2 < covariance[0, 0]:
        flags[COM] = False
    else:
        com_variance = np.empty(3)
        com_variances(vector, covariance, com_variance)
        flags[COM] &= com_variance < (options.com_std / 3.0) ** 2
    return flags


PERIOD = 0.02
"""s, default period of publication."""


class PublicationSchedule:
    """One estimate each `period` seconds of stamps, and each change at once.

    Where the stamps jump back (a recording in a loop), publication continues from there.
    """

    def __init__(self, period: float = PERIOD) -> None:
        self.period = period
        self._published = -math.inf

    def is_due(self, estimate: PayloadEstimate, stamp: float) -> bool:
        """Whether to publish `estimate`, the estimator's answer to the sample at `stamp`; asked once per sample."""
        if estimate.stamp != stamp:
            return False  # the sample was only filtered, or ignored for its stamp
        if estimate.event is None and 0.0 <= stamp - self._published < self.period - STAMP_RESOLUTION:
            return False
        self._published = stamp
        return True
