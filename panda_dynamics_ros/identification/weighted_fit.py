# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares toward a prior, from the normal equations of each joint, and how wrong it may be.

    x = argmin  sum_j |b_j - A_j x|^2 / (sigma_j^2 kappa_j)  +  sum_i x_i^2 / s_i^2,    kappa_j = 2 tau_j / dt

sigma_j, tau_j: standard deviation and correlation time of joint j's residual. Neighbouring rows share their error:
kappa rows count as one (payload-estimation practice for an AR(1) residual).

s_i: standard deviation of the difference between one's own arm and the prior. Parameters of different units need one
measure: the scales are those of a body whose mass is off by a share, its centre of mass by a length, its second
moments by a squared length times its mass. A factor for each group of parameters is chosen by cross-validation.

The covariance of the error is (sandwich estimator; White, Econometrica 1980)
    C = H^-1 ( sum_j w_j^2 A_j' R_j A_j  +  P ) H^-1,    R_j(t, t') = sigma_j^2 e^(-|t - t'| / tau_j),
H = sum_j w_j A_j' A_j + P, P = diag(1 / s_i^2) the prior's part. R_j A_j is a filter run forward and backward over the
columns. H^-1 alone would be right for white errors and their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import TILT, LinearModel
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot.limits import ResidualModel

MASS_SHARE = 0.1
COM_LENGTH = 0.025  # m
MOMENT_LENGTH = 0.04  # m: second moments are off by this squared, times the mass
VISCOUS, COULOMB, OFFSET = 0.3, 1.0, 0.5
"""In units of the prior's residual: per rad/s, and as torques."""
TILT_ANGLE = 0.01  # rad


@dataclass(frozen=True)
class PriorScale:
    """One factor on the prior's standard deviations for each group; 0 keeps a group at the prior."""

    bodies: float = 1.0
    friction: float = 1.0
    tilt: float = 1.0
    stribeck: float = 1.0


def prior_std(prior: RobotModel, prior_scale: PriorScale) -> FloatArray:
    """Standard deviations (p,) of all parameters' changes, in their units; 0 for those that stay."""
    mass = np.array([link.mass for link in prior.links])
    per_link = np.concatenate([[MASS_SHARE], np.full(3, COM_LENGTH), np.full(6, MOMENT_LENGTH**2)])
    shares = np.array([VISCOUS, COULOMB, OFFSET]) * prior_scale.friction, COULOMB * prior_scale.stribeck
    friction = np.outer(prior.residual.std, np.hstack(shares))
    groups = (
        (np.outer(mass, per_link), prior_scale.bodies),
        (friction, 1.0),
        (np.full(TILT, TILT_ANGLE), prior_scale.tilt),
    )
    return np.concatenate([scales.ravel() * factor for scales, factor in groups])


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """A' A (n, p, p) and A' b (n, p) of each joint."""

    gram: FloatArray
    moment: FloatArray

    @classmethod
    def of(
        cls, model: LinearModel, rows: NDArray[Any] | slice = slice(None), share: FloatArray | None = None
    ) -> NormalEquations:
        """Of the chosen rows; `share` (N, n) in 0..1 is how much each counts."""
        gram, moment = 0.0, 0.0
        for part in model.parts(rows):
            A = np.ascontiguousarray(model.of(part).swapaxes(0, 1))
            weighted = A if share is None else A * share[part].T[:, :, None]
            transposed = weighted.swapaxes(1, 2)
            gram, moment = gram + transposed @ A, moment + (transposed @ model.b[part].T[:, :, None])[..., 0]
        return cls(np.asarray(gram), np.asarray(moment))


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The cost x' H x - 2 h' x, over the parameters that may change; the others are zero."""

    H: FloatArray
    h: FloatArray
    free: NDArray[np.bool_]

    def minimum(self) -> FloatArray:
        """The unconstrained minimiser (p,)."""
        x = np.zeros(len(self.free))
        unit = 1.0 / np.sqrt(np.diag(self.H))  # a diagonal of ones: parameters of different units alike
        x[self.free] = unit * np.linalg.solve(self.H * np.outer(unit, unit), unit * self.h)
        return x

    def covariance(self) -> FloatArray:
        """(p, p): the inverse of H, zero for what does not change."""
        covariance = np.zeros((len(self.free), len(self.free)))
        unit = 1.0 / np.sqrt(np.diag(self.H))
        inverse = np.linalg.inv(self.H * np.outer(unit, unit))
        covariance[np.ix_(self.free, self.free)] = inverse * np.outer(unit, unit)
        return covariance


def quadratic(equations: NormalEquations, weight: FloatArray, std: FloatArray) -> Quadratic:
    """The cost for weights 1 / (sigma^2 kappa) (n,) and positive or 0 (fixed) prior deviations `std` (p,)."""
    free = std > 0.0
    H = np.einsum("j,jab->ab", weight, equations.gram)[np.ix_(free, free)]
    h = (weight @ equations.moment)[free]
    return Quadratic(H + np.diag(1.0 / std[free] ** 2), h, free)


def error_covariance(
    cost: Quadratic,
    model: LinearModel,
    samples: MotionSamples,
    residual: ResidualModel,
    weight: FloatArray,
    share: FloatArray,
    std: FloatArray,
) -> FloatArray:
    """(p, p), of the minimum of `cost`; zero for what does not change.

    Parameters
    ----------
    weight, share, std: (n,), (N, n) and (p,), of which `cost` was made.
    """
    free = cost.free
    middle = np.diag(1.0 / std[free] ** 2)
    poles = np.exp(-samples.period / residual.correlation_time)
    for block in np.unique(samples.block):
        # One joint after the other where a block is long: a filter needs all of its rows.
        parts = list(model.parts(samples.block == block))
        whole = model.of(parts[0]) if len(parts) == 1 else None
        for j in range(model.prior.n):
            columns = [(model.of(part) if whole is None else whole)[:, j][:, free] for part in parts]
            rows = weight[j] * share[np.concatenate(parts), j, None] * np.concatenate(columns)
            middle += residual.std[j] ** 2 * rows.T @ _correlated(rows, float(poles[j]))
    inverse = cost.covariance()
    return inverse[:, free] @ middle @ inverse[free]


def _correlated(rows: FloatArray, pole: float) -> FloatArray:
    """sum over t' of pole^|t - t'| times row t'."""
    forward = lfilter([1.0], [1.0, -pole], rows, axis=0)
    backward = lfilter([1.0], [1.0, -pole], rows[::-1], axis=0)[::-1]
    return np.asarray(forward + backward - rows)
