# SPDX-License-Identifier: Apache-2.0
"""What an arm's model leaves unexplained, as a function of posture and motion: a sparse Gaussian process.

Its prior is the residual model: a torque of standard deviation sigma_j for joint j. Two states x, x' share it by

    k(x, x') = exp(-|x - x'|^2 / 2),    x = (q / POSTURE, TURN s, dq / SPEED),

so that it depends on the posture, on the direction s of each joint's dry friction, which a joint at rest keeps, and a
little on its speed. M inducing points Z stand for the states that were seen. With K = k(Z, Z) = L L' and k = k(Z, x),
the statistics

    gram G = sum phi phi' / kappa,    moment B = sum phi y' / kappa

of unloaded torques y, where phi is k and y the torque, both through the estimator's low-pass filters, and kappa rows
share one error, give mean and variance. With L^-1 G L^-T = U diag(l) U' and v = U' L^-1 k, in joint j

    mean = sum_i v_i (U' L^-1 B)_ij / (l_i + r_j),    variance = sigma_j^2 (1 - sum_i v_i^2 l_i / (l_i + r_j)),

r_j = (noise_j / sigma_j)^2. Far from all points v is zero, and the map returns to its prior ("deterministic training
conditional" with the exact prior variance: Quinonero-Candela and Rasmussen, JMLR 2005).
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.untrusted import read_npz

POSTURE, SPEED = 0.6, 1.0
"""rad and rad/s, at which the residual has become another one. Length scales from 0.15 to 1.2 rad explain the public
log's second pass alike; these are among the most likely given its first one."""
TURN = 0.5  # a joint that turns the other way counts like 0.6 rad
MOST_POINTS = 300  # inducing points: evaluated within 30 us, and half a megabyte to keep
NOISE_TIME = 0.04  # s, through which the quick noise keeps its value, after the estimator's filters
DRIFT, DRIFT_TIME = 0.1, 0.15
"""Share of the residual that differs from run to run, by temperature and hysteresis, where a map knows it, and s for
which it keeps its value. On the public log two runs differ by .06 to .2 of it, the quick noise included, for .03 to .14
s after the estimator's filters."""
NOVEL = 0.05  # share of the prior's variance that the points leave open, above which a state becomes a point of its own
LARGEST_FILE = 4 << 20  # bytes of its arrays: twice what a map of `MOST_POINTS` points takes
FAR = 18.0  # square distance beyond which a point does not count: k is a tenth of a thousandth there
_JITTER = 1e-6
_NEGLIGIBLE = 1e-5  # of the prior's variance, which a direction left out explains at most


@dataclass(frozen=True, eq=False)
class ResidualMap(checks.Frozen):
    """Residual torque of n joints, learnt unloaded.

    points: (M, 3 n), inducing points in scaled coordinates.
    gram, moment: (M, M) and (M, n), statistics of the rows; see the module's docstring.
    square, rows: (n,) and (), sum y^2 / kappa and number of rows / kappa.
    sigma: (n,), N m, prior standard deviation: that of the residual model.
    Raises ArgumentError: a field has another shape, is not finite or no such statistic, or has too many points.
    """

    points: FloatArray
    gram: FloatArray
    moment: FloatArray
    square: FloatArray
    rows: FloatArray
    sigma: FloatArray

    def __post_init__(self) -> None:
        n = checks.real_array(self.sigma, "residual map: sigma").size
        size = len(checks.real_array(self.points, "residual map: points"))
        if size > MOST_POINTS:
            raise ArgumentError(f"residual map: points: expected at most {MOST_POINTS}, got {size}")
        shapes = {"points": (size, 3 * n), "gram": (size, size), "moment": (size, n)}
        checks.freeze(self, {**shapes, "square": (n,), "rows": (), "sigma": (n,)}, "residual map: ")
        if not (self.sigma > 0.0).all():
            raise ArgumentError(f"residual map: sigma: expected positive numbers, got {self.sigma.tolist()}")
        if self.rows < 0.0 or (self.square < 0.0).any():
            raise ArgumentError("residual map: rows, square: expected no negative number, got one")
        scale = max(float(np.trace(self.gram)), 0.0)
        asymmetry = np.abs(self.gram - self.gram.T).max(initial=0.0)
        if asymmetry > 1e-9 * scale or (size and np.linalg.eigvalsh(self.gram)[0] < -1e-6 * scale):
            raise ArgumentError("residual map: gram: expected a symmetric positive semi-definite matrix, got another")

    @cached_property
    def noise(self) -> FloatArray:
        """(n,), N m, standard deviation of the quick noise, after the estimator's filters: the most likely one."""
        transform, eigenvalues = self._directions
        tried = np.geomspace(0.01, 1.0, 25)[:, None] * self.sigma  # (25, n)
        ratio = (tried / self.sigma)[:, None, :] ** 2
        total = eigenvalues[:, None] + ratio  # (25, M, n)
        explained = ((transform.T @ self.moment) ** 2 / total).sum(axis=1)
        freedom = np.log(total / ratio).sum(axis=1)
        # log p(rows), but for a constant
        likelihood = -0.5 * ((self.square - explained) / tried**2 + freedom) - self.rows * np.log(tried)
        return checks.read_only(tried[likelihood.argmax(axis=0), np.arange(len(self.sigma))])

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean torque (n,), N m, and the share (n,) of the prior's variance that is left, in a state x (3 n,).

        One state, so that it does not depend on others: a product of many rows would add up in another order.
        """
        (transform, weights, reduction), away = self._projection, self.points - x
        square = np.einsum("mi,mi->m", away, away)
        v = np.where(square < FAR, np.exp(-0.5 * square), 0.0) @ transform
        return v @ weights, np.maximum(1.0 - v**2 @ reduction, 0.0)

    @cached_property
    def _projection(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """L^-T U (M, K), and by what v and v^2 are multiplied, (K, n) each; see the module's docstring."""
        transform, eigenvalues = self._directions
        ratio = (self.noise / self.sigma) ** 2
        total = eigenvalues[:, None] + ratio
        kept = eigenvalues > _NEGLIGIBLE * ratio.min(initial=1.0)
        weights, reduction = transform.T @ self.moment / total, eigenvalues[:, None] / total
        return np.ascontiguousarray(transform[:, kept]), weights[kept], reduction[kept]

    @cached_property
    def _directions(self) -> tuple[FloatArray, FloatArray]:
        """L^-T U (M, M) and the eigenvalues l (M,)."""
        L = np.linalg.cholesky(covariance(self.points, self.points) + _JITTER * np.eye(len(self.points)))
        inverse = np.linalg.inv(L)
        eigenvalues, U = np.linalg.eigh(inverse @ self.gram @ inverse.T)
        return inverse.T @ U, np.maximum(eigenvalues, 0.0)


def coordinates(q: FloatArray, dq: FloatArray, s: FloatArray) -> FloatArray:
    """x (..., 3 n) of states (..., n), rad, rad/s and direction of dry friction."""
    return np.concatenate((q / POSTURE, TURN * s, dq / SPEED), axis=-1)


def covariance(x: FloatArray, z: FloatArray) -> FloatArray:
    """k(x, z) (N, M) of coordinates (N, 3 n) and (M, 3 n)."""
    square = (x**2).sum(axis=1)[:, None] + (z**2).sum(axis=1) - 2.0 * x @ z.T
    return np.exp(-0.5 * np.maximum(square, 0.0))


def inducing_points(x: FloatArray) -> FloatArray:
    """Of coordinates x (N, 3 n) those (M, 3 n) that the ones before them do not predict.

    One after the other, by the partial Cholesky factor L of k(x, x), whose rest is the variance that is left open.
    """
    L, left, chosen = np.zeros((len(x), MOST_POINTS)), np.ones(len(x)), list[int]()
    while len(chosen) < MOST_POINTS and (left >= NOVEL).any():
        point, m = int(np.argmax(left >= NOVEL)), len(chosen)
        L[:, m] = (covariance(x, x[[point]])[:, 0] - L[:, :m] @ L[point, :m]) / math.sqrt(left[point])
        left -= L[:, m] ** 2
        chosen.append(point)
    return x[chosen]


def read_residual_map(path: Path) -> ResidualMap:
    """The map of a .npz file that `write_robot` wrote. Reading it runs no code.

    Raises DataError: there is no such file, or it holds something else; the message names it.
    Raises ArgumentError: an array is not as `ResidualMap` demands.
    """
    content = read_npz(path, LARGEST_FILE)
    if content.keys() != {field.name for field in fields(ResidualMap)}:
        raise DataError(f"{path}: expected a residual map (of identify --residual-map), got something else")
    return ResidualMap(**content)
