# SPDX-License-Identifier: Apache-2.0
"""From what a filter says to what is published: what the user knows of the payload, and a body that can exist."""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.consistency import ConsistentBody
from panda_dynamics_ros.estimation.estimator_options import EstimatorOptions
from panda_dynamics_ros.estimation.payload_estimate import ChangeEvent, PayloadEstimate
from panda_dynamics_ros.estimation.prior_knowledge import Shape, no_heavier, with_known_mass, with_known_shape


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
) -> PayloadEstimate:
    """What is published of a mean (10,) and covariance (10, 10) of the inertial vector about the flange origin.

    `body` is the search for the nearest body that can exist: the one of the payload's last estimate starts near it.
    """
    mean, covariance = with_known_mass(mean, covariance, options.known_mass)
    vector = no_heavier(body.nearest(mean, covariance), options.max_mass)
    if shape is not None:
        vector, covariance = with_known_shape(vector, covariance, shape)
    vector.setflags(write=False)
    return PayloadEstimate(
        stamp=stamp,
        vector=vector,
        covariance=checks.read_only(covariance),
        identifiable=np.diagonal(covariance) < options.identified_variance,
        status=status,
        event=event,
    )
