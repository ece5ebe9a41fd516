# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares toward a prior, from the normal equations of each joint.

    x = argmin  sum_j |b_j - A_j x|^2 / (sigma_j^2 kappa_j)  +  sum_i x_i^2 / s_i^2,    kappa_j = 2 tau_j / dt

sigma_j, tau_j: standard deviation and correlation time of joint j's residual. Neighbouring rows share their error:
kappa rows count as one (payload-estimation practice for an AR(1) residual), so that the covariance is honest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import LinearModel


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """A' A (n, p, p) and A' b (n, p) of each joint."""

    gram: FloatArray
    moment: FloatArray

    @classmethod
    def of(
        cls, model: LinearModel, rows: FloatArray | slice = slice(None), share: FloatArray | None = None
    ) -> NormalEquations:
        """Of the chosen rows; `share` (N, n) in 0..1 is how much each counts."""
        A, b = model.A[rows], model.b[rows]
        A = np.ascontiguousarray(A.swapaxes(0, 1))
        weighted = A if share is None else A * share[rows].T[:, :, None]
        transposed = weighted.swapaxes(1, 2)
        return cls(transposed @ A, (transposed @ b.T[:, :, None])[..., 0])


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
