# SPDX-License-Identifier: Apache-2.0
"""The regression of an identification: columns, prior, least squares among arms that can exist, and its error.

    tau = tau_prior(q, dq, ddq, s) + Y(q, dq, ddq) dpi + F(dq, s) dphi + T(q, dq, ddq) dg

dpi (10 n): change of the inertial parameters (De Luca, document 003, slide 5). dphi (4 n): viscous, Coulomb, offset and
Stribeck friction beside the prior's (slide 7); dry friction has the direction s, which follows the way of a joint
(`robot.friction`). dg (2): tilt of the base, as the horizontal components of gravity in units of g: a table that is
5 mrad off shows in the second joint with some 0.3 N m.

    x = argmin  sum_j |b_j - A_j x|^2 / (sigma_j^2 kappa_j)  +  sum_i x_i^2 / s_i^2,    kappa_j = 2 tau_j / dt

sigma_j, tau_j: standard deviation and correlation time of joint j's residual. Neighbouring rows share their error:
kappa rows count as one. s_i: how arms of one type differ from their model, see `PriorScale`.

    subject to    J_i(pi_i + x_i) >= margin   for every link i,

J_i the pseudo-inertia (4, 4), linear in the inertial parameters (Wensing, Kim and Slotine, RA-L 2018): a semidefinite
program, solved by Clarabel (Goulart and Chen, 2024) where the unconstrained minimum is not feasible.

The covariance of the error is (sandwich estimator; White, Econometrica 1980)
    C = H^-1 ( sum_j w_j^2 A_j' R_j A_j  +  P ) H^-1,    R_j(t, t') = sigma_j^2 e^(-|t - t'| / tau_j),
H = sum_j w_j A_j' A_j + P, P = diag(1 / s_i^2) the prior's part. R_j A_j is a filter run forward and backward over the
columns. H^-1 alone would be right for white errors and their weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.model import RobotModel
from panda_dynamics_ros.dynamics.motion_samples import MotionSamples
from panda_dynamics_ros.errors import DataError, MissingDependencyError
from panda_dynamics_ros.robot.inertial import UNIT_PSEUDO_INERTIAS
from panda_dynamics_ros.robot.joints import ResidualModel

FRICTION_TERMS = ("viscous", "coulomb", "offset", "stribeck")
TRANSITION = 0.1  # rad/s: width of the identified Coulomb step; Gaz's sigmoids are 0.06 to 0.2 rad/s wide
STRIBECK_VELOCITY = 0.2  # rad/s: above it the identified Stribeck term fades
TILT = 2
AT_ONCE = 4096  # rows whose columns are in memory at a time: 20 MB. Those of an hour at 100 Hz are 2 GB.
Rows = NDArray[Any] | slice
ALL = slice(None)


class LinearModel:
    """Columns A (N, n, p) of all parameters and right-hand side b (N, n) of tau - tau_prior = A x, for N samples.

    A is computed where it is needed, `AT_ONCE` rows at a time.
    """

    def __init__(self, prior: RobotModel, samples: MotionSamples) -> None:
        self.prior, self.samples = prior, samples
        self.b = samples.tau - modelled_torques(prior, samples)

    def columns(self, rows: Rows = ALL) -> Iterator[FloatArray]:
        """[A b] (K, n, p + 1) of the chosen rows, part by part; A has the columns of links, friction and tilt."""
        chosen, prior = np.arange(len(self.b))[rows], self.prior
        leaning = [replace(prior, gravity=np.linalg.norm(prior.gravity) * axis) for axis in prior.horizontal]
        for first in range(0, len(chosen), AT_ONCE):
            part = chosen[first : first + AT_ONCE]
            q, dq, ddq, s = (getattr(self.samples, name)[part] for name in ("q", "dq", "ddq", "s"))
            terms = np.stack([dq, s, np.ones_like(dq), s * np.exp(-((dq / STRIBECK_VELOCITY) ** 2))], axis=-1)
            friction = np.einsum("kjt,ij->kijt", terms, np.eye(prior.n)).reshape(*dq.shape, -1)
            tilt_and_b = np.stack([*(robot.gravity_torques(q) for robot in leaning), self.b[part]], axis=-1)
            yield np.concatenate([prior.regressor(q, dq, ddq), friction, tilt_and_b], axis=-1)

    def unexplained(self, x: FloatArray, rows: Rows = ALL) -> FloatArray:
        """b - A x of the chosen rows."""
        return np.concatenate([columns @ np.append(-x, 1.0) for columns in self.columns(rows)])

    def gram(self, rows: Rows = ALL) -> FloatArray:
        """[A b]'[A b] (n, p + 1, p + 1) of each joint, for the chosen rows: all that least squares needs."""
        by_joint = (np.ascontiguousarray(columns.swapaxes(0, 1)) for columns in self.columns(rows))
        return np.asarray(sum(each.swapaxes(1, 2) @ each for each in by_joint))


def modelled_torques(robot: RobotModel, samples: MotionSamples) -> FloatArray:
    """What the arm's model predicts (N, n), N m."""
    return robot.inverse_dynamics(samples.q, samples.dq, samples.ddq) + robot.friction_torques(samples.dq, samples.s)


def rms(values: FloatArray) -> FloatArray:
    """Root mean square over the rows of (N, ..)."""
    return np.sqrt((values**2).mean(axis=0))


def friction_slice(n: int) -> slice:
    """Where the friction's columns are."""
    return slice(10 * n, (10 + len(FRICTION_TERMS)) * n)


MASS_SHARE = 0.05
COM_LENGTH = 0.02  # m
MOMENT_LENGTH = 0.05  # m: second moments are off by this squared, times the mass
VISCOUS, COULOMB, OFFSET = 0.3, 1.0, 0.5  # in units of the prior's residual: per rad/s, and as torques
TILT_ANGLE = 0.01  # rad


@dataclass(frozen=True)
class PriorScale:
    """How arms of one type differ from their model: factors on standard deviations, for each group of parameters.

    With factors of 1, masses differ by 5 %, centres of mass by 20 mm and second moments by (50 mm)^2 of the mass, each
    in single parameters: published sets of one type differ by more, since only combinations of them can be measured.
    Friction and offsets differ by a third to all of the model's residual, tilt by 10 mrad. 0 keeps a group as it is in
    the model; by default the factors are those that predict held-out blocks best.
    """

    bodies: float = 1.0
    friction: float = 1.0
    tilt: float = 1.0
    stribeck: float = 1.0


def prior_std(prior: RobotModel, prior_scale: PriorScale) -> FloatArray:
    """Standard deviations (p,) of all parameters' changes, in their units; 0 for those that stay."""
    per_link = np.concatenate([[MASS_SHARE], np.full(3, COM_LENGTH), np.full(6, MOMENT_LENGTH**2)])
    shares = np.array([VISCOUS, COULOMB, OFFSET]) * prior_scale.friction, COULOMB * prior_scale.stribeck
    friction = np.outer(prior.residual.std, np.hstack(shares)).ravel()
    bodies = prior_scale.bodies * np.outer([link.mass for link in prior.links], per_link).ravel()
    return np.concatenate([bodies, friction, np.full(TILT, prior_scale.tilt * TILT_ANGLE)])


class Quadratic(NamedTuple):
    """The cost z' H z - 2 h' z of x = std z; std (p,) are the prior's deviations, 0 for what stays as it is."""

    H: FloatArray
    h: FloatArray
    std: FloatArray

    @classmethod
    def of(cls, gram: FloatArray, weight: FloatArray, std: FloatArray) -> Quadratic:
        """For a `LinearModel.gram` and weights 1 / (sigma^2 kappa) (n,)."""
        total = np.einsum("j,jab->ab", weight, gram)
        return cls(total[:-1, :-1] * np.outer(std, std) + np.eye(len(std)), std * total[:-1, -1], std)

    def minimum(self) -> FloatArray:
        """The unconstrained minimiser (p,)."""
        return self.std * np.linalg.solve(self.H, self.h)


def error_covariance(cost: Quadratic, model: LinearModel, residual: ResidualModel, weight: FloatArray) -> FloatArray:
    """(p, p), of the minimum of `cost`, which was made with `weight` (n,); zero for what stays."""
    middle, block = np.eye(len(cost.std)), model.samples.block
    poles = np.exp(-model.samples.period / residual.correlation_time)
    for each in np.unique(block):
        for j in range(model.prior.n):  # one after the other: a filter needs all rows of a block, which may be long
            columns = np.concatenate([columns[:, j, :-1] for columns in model.columns(block == each)])
            rows = weight[j] * cost.std * columns
            # Each row's correlated ones: the sum over t' of pole^|t - t'| times row t'.
            forward = lfilter([1.0], [1.0, -poles[j]], rows, axis=0)
            backward = lfilter([1.0], [1.0, -poles[j]], rows[::-1], axis=0)[::-1]
            middle += residual.std[j] ** 2 * rows.T @ (forward + backward - rows)
    gain = cost.std[:, None] * np.linalg.inv(cost.H)
    return gain @ middle @ gain.T


LENGTH = 0.1  # m: the unit in which a link's pseudo-inertia is well scaled
MARGIN = 1e-3  # least eigenvalue of J in these units, as a share of the prior's mass: 3 mm of thickness


def feasible_minimum(prior: RobotModel, cost: Quadratic) -> FloatArray:
    """The minimiser (p,) whose links are all physically consistent.

    Raises MissingDependencyError: the unconstrained minimiser is not feasible and Clarabel is not installed.
    Raises DataError: the solver finds no solution.
    """
    x = cost.minimum()
    # Scaled J_i - margin (n, 4, 4) = lmi_i x_i + constant_i, x_i the link's ten of x.
    scale = np.diag([1.0 / LENGTH] * 3 + [1.0])
    block = np.moveaxis(scale @ UNIT_PSEUDO_INERTIAS @ scale, 0, -1)
    lmi = np.stack([block / max(link.mass, 0.1) for link in prior.links])
    vectors = prior.inertial_vector.reshape(prior.n, 1, 10, 1)
    constant = (lmi @ vectors)[..., 0] - MARGIN * np.eye(4)
    constant[~cost.std[: vectors.size].reshape(prior.n, -1).any(axis=1)] = np.eye(4)  # links that stay as they are
    own = x[: vectors.size].reshape(vectors.shape)
    if np.linalg.eigvalsh((lmi @ own)[..., 0] + constant).min() >= 0.0:
        return x
    try:
        import clarabel
    except ImportError as error:
        raise MissingDependencyError(
            "clarabel: expected this solver, since the links that fit the data best cannot exist and the nearest that "
            "can are wanted; install it with: pip install 'panda_dynamics_ros[identification]'"
        ) from error
    from scipy import sparse

    j, i = np.tril_indices(4)  # the upper triangles, column by column
    factor = np.where(i == j, 1.0, np.sqrt(2.0))
    A = sparse.block_diag(-factor[:, None] * lmi[:, i, j], format="csc")
    A.resize(A.shape[0], len(x))
    A = A @ sparse.diags(cost.std, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.PSDTriangleConeT(4) for _ in lmi]
    limits = (factor * constant[:, i, j]).ravel()
    H, h = (values / np.sqrt(cost.H.max()) for values in (np.triu(cost.H), cost.h))  # else few digits are left of 1e9
    solution = clarabel.DefaultSolver(sparse.csc_matrix(H), -h, A, limits, cones, settings).solve()
    if "Solved" not in str(solution.status):
        raise DataError(f"fit: expected physically consistent links, got none (solver: {solution.status})")
    return cost.std * np.array(solution.x)
