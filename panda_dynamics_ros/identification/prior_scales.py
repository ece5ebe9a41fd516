# SPDX-License-Identifier: Apache-2.0
"""How far the parameters of one's own arm may be from the prior's: the metric of the regularisation.

Parameters of different units need one measure: the scales are those of a body whose mass is off by a share, its
centre of mass by a length, its second moments by a squared length times its mass. One number for each group then
says how much the prior is trusted; cross-validation chooses it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import TILT
from panda_dynamics_ros.model import RobotModel

MASS_SHARE = 0.1
COM_LENGTH = 0.025  # m
MOMENT_LENGTH = 0.04  # m: second moments are off by this squared, times the mass
VISCOUS, COULOMB, OFFSET = 0.3, 1.0, 0.5
"""In units of the prior's residual: per rad/s, and as torques."""
TILT_ANGLE = 0.01  # rad


@dataclass(frozen=True)
class Trust:
    """One factor on the prior's standard deviations for each group; 0 keeps a group at the prior."""

    bodies: float = 1.0
    friction: float = 1.0
    tilt: float = 1.0
    stribeck: float = 1.0


def prior_std(prior: RobotModel, trust: Trust) -> FloatArray:
    """Standard deviations (p,) of all parameters' changes, in their units; 0 for those that stay."""
    mass = np.array([link.mass for link in prior.links])
    per_link = np.concatenate([[MASS_SHARE], np.full(3, COM_LENGTH), np.full(6, MOMENT_LENGTH**2)])
    shares = np.array([VISCOUS, COULOMB, OFFSET]) * trust.friction, COULOMB * trust.stribeck
    friction = np.outer(prior.residual.std, np.hstack(shares))
    groups = (
        (np.outer(mass, per_link), trust.bodies),
        (friction, 1.0),
        (np.full(TILT, TILT_ANGLE), trust.tilt),
    )
    return np.concatenate([scales.ravel() * factor for scales, factor in groups])
