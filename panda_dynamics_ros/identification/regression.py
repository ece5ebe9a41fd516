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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError, MissingDependencyError
from panda_dynamics_ros.identification.rows import MotionSamples
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.inertial import InertialParameters
from panda_dynamics_ros.robot.limits import ResidualModel

FRICTION_TERMS = ("viscous", "coulomb", "offset", "stribeck")
TRANSITION = 0.1
"""rad/s: width of the identified Coulomb step; Gaz's sigmoids are 0.06 to 0.2 rad/s wide."""
STRIBECK_VELOCITY = 0.2
"""rad/s: above it the identified Stribeck term fades."""
TILT = 2


AT_ONCE = 4096
"""Rows whose columns are in memory at a time: 20 MB. Those of an hour at 100 Hz are 2 GB."""
State = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
Rows = NDArray[Any] | slice
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Columns A (N, n, p) and right-hand side b (N, n) of tau - tau_prior = A x; A is computed where it is needed.

    Attributes
    ----------
    columns: the columns (K, n, p) of K states. state: q, dq, ddq and s (N, n).
    """

    prior: RobotModel
    columns: Callable[..., FloatArray]
    state: State
    b: FloatArray

    def parts(self, rows: Rows = ALL) -> Iterator[NDArray[Any]]:
        """Numbers of the chosen rows, `AT_ONCE` at a time."""
        chosen = np.arange(len(self.b))[rows]
        return (chosen[first : first + AT_ONCE] for first in range(0, len(chosen), AT_ONCE))

    def of(self, rows: NDArray[Any]) -> FloatArray:
        """A of these rows."""
        return self.columns(*(values[rows] for values in self.state))

    def unexplained(self, x: FloatArray, rows: Rows = ALL) -> FloatArray:
        """b - A x of the chosen rows."""
        return np.concatenate([self.b[part] - self.of(part) @ x for part in self.parts(rows)])


def linear_model(prior: RobotModel, samples: MotionSamples) -> LinearModel:
    """The columns of all parameters for the rows of `samples`, around the `prior`."""
    state = samples.q, samples.dq, samples.ddq, samples.s
    b = samples.tau - prior.inverse_dynamics(*state[:3]) - prior.friction_torques(samples.dq, samples.s)
    return LinearModel(prior, partial(_columns, prior), state, b)


def _columns(prior: RobotModel, q: FloatArray, dq: FloatArray, ddq: FloatArray, s: FloatArray) -> FloatArray:
    return np.concatenate([prior.regressor(q, dq, ddq), _friction(prior, dq, s), _tilt(prior, q, dq, ddq)], axis=-1)


def friction_slice(n: int) -> slice:
    """Where the friction's columns are."""
    return slice(10 * n, (10 + len(FRICTION_TERMS)) * n)


def _friction(prior: RobotModel, dq: FloatArray, s: FloatArray) -> FloatArray:
    terms = np.stack([dq, s, np.ones_like(dq), s * np.exp(-((dq / STRIBECK_VELOCITY) ** 2))], axis=-1)
    columns = np.zeros((*dq.shape, prior.n, len(FRICTION_TERMS)))
    for j in range(prior.n):
        columns[:, j, j] = terms[:, j]
    return columns.reshape(*dq.shape, -1)


def _tilt(prior: RobotModel, *state: FloatArray) -> FloatArray:
    """d tau / d (g_x, g_y): torques are linear in gravity, so that a difference is exact."""
    size, rigid = float(np.linalg.norm(prior.gravity)), prior.inverse_dynamics(*state)
    leaning = (replace(prior, gravity=prior.gravity + size * axis) for axis in np.eye(3)[:TILT])
    return np.stack([robot.inverse_dynamics(*state) - rigid for robot in leaning], axis=-1)


def friction_of(prior: RobotModel, change: FloatArray) -> Friction:
    """The prior's friction with the identified terms (4 n,) joined to it.

    Where prior and change both have a Coulomb step, the sum has the identified width; the prior's own share is exact
    where it has none, or where its width is the same. So it is with the Stribeck velocity.
    """
    old, terms = prior.friction, change.reshape(-1, len(FRICTION_TERMS))
    return replace(
        old,
        viscous=old.viscous + terms[:, 0],
        coulomb=old.coulomb + terms[:, 1],
        offset=old.offset + terms[:, 2],
        transition=np.where(terms[:, [1, 3]].any(axis=1), TRANSITION, old.transition),
        stribeck=old.stribeck + terms[:, 3],
        stribeck_velocity=np.where(terms[:, 3] != 0.0, STRIBECK_VELOCITY, old.stribeck_velocity),
    )


def tilted(prior: RobotModel, tilt: FloatArray) -> FloatArray:
    """Gravity (3,) with the horizontal components `tilt` (2,) in units of its size, which it keeps."""
    size = float(np.linalg.norm(prior.gravity))
    gravity = prior.gravity + size * np.append(tilt, 0.0)
    return gravity * (size / float(np.linalg.norm(gravity)))


MASS_SHARE = 0.05
COM_LENGTH = 0.02  # m
MOMENT_LENGTH = 0.05  # m: second moments are off by this squared, times the mass
VISCOUS, COULOMB, OFFSET = 0.3, 1.0, 0.5
"""In units of the prior's residual: per rad/s, and as torques."""
TILT_ANGLE = 0.01  # rad


@dataclass(frozen=True)
class PriorScale:
    """How arms of one type differ from their model: factors on standard deviations, for each group of parameters.

    With factors of 1, masses differ by 5 %, centres of mass by 20 mm and second moments by (50 mm)^2 of the mass, each
    in single parameters: published sets of one type differ by more, since only combinations of them can be measured.
    Friction and offsets differ by as much as the model's residual, tilt by 10 mrad. 0 keeps a group as it is in the
    model; by default the factors are those that predict held-out blocks best.
    """

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
    def of(cls, model: LinearModel, rows: Rows = ALL) -> NormalEquations:
        """Of the chosen rows."""
        gram, moment = 0.0, 0.0
        for part in model.parts(rows):
            A = np.ascontiguousarray(model.of(part).swapaxes(0, 1))
            transposed = A.swapaxes(1, 2)
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
    std: FloatArray,
) -> FloatArray:
    """(p, p), of the minimum of `cost`, which was made of weight (n,) and std (p,); zero for what does not change."""
    free = cost.free
    middle = np.diag(1.0 / std[free] ** 2)
    poles = np.exp(-samples.period / residual.correlation_time)
    for block in np.unique(samples.block):
        # One joint after the other where a block is long: a filter needs all of its rows.
        parts = list(model.parts(samples.block == block))
        whole = model.of(parts[0]) if len(parts) == 1 else None
        for j in range(model.prior.n):
            columns = [(model.of(part) if whole is None else whole)[:, j][:, free] for part in parts]
            rows = weight[j] * np.concatenate(columns)
            middle += residual.std[j] ** 2 * rows.T @ _correlated(rows, float(poles[j]))
    inverse = cost.covariance()
    return inverse[:, free] @ middle @ inverse[free]


def _correlated(rows: FloatArray, pole: float) -> FloatArray:
    """sum over t' of pole^|t - t'| times row t'."""
    forward = lfilter([1.0], [1.0, -pole], rows, axis=0)
    backward = lfilter([1.0], [1.0, -pole], rows[::-1], axis=0)[::-1]
    return np.asarray(forward + backward - rows)


LENGTH = 0.1
"""m: the unit in which a link's pseudo-inertia is well scaled."""
MARGIN = 1e-3
"""Least eigenvalue of J in these units, as a share of the prior's mass: 3 mm of thickness."""


def feasible_minimum(prior: RobotModel, cost: Quadratic) -> FloatArray:
    """The minimiser (p,) whose links are all physically consistent.

    Raises
    ------
    MissingDependencyError: the unconstrained minimiser is not feasible and Clarabel is not installed.
    DataError: the solver finds no solution.
    """
    x = cost.minimum()
    lmi, constant = _constraints(prior)
    if _smallest(lmi @ x[: 10 * prior.n] + constant) >= 0.0:
        return x
    return _solve(cost, lmi, constant)


def links_of(prior: RobotModel, change: FloatArray) -> tuple[InertialParameters, ...]:
    """The prior's links with the changes (10 n,) of their inertial vectors."""
    vectors = (prior.inertial_vector + change).reshape(prior.n, 10)
    return tuple(InertialParameters.from_vector(vector) for vector in vectors)


def _basis() -> FloatArray:
    """(10, 4, 4): pseudo-inertias of unit parameters. J is linear, which `InertialParameters` without mass is not."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for k in range(3):
        basis[1 + k, k, 3] = basis[1 + k, 3, k] = 1.0
    for row, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True), start=4):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        basis[row, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return basis


def _constraints(prior: RobotModel) -> tuple[FloatArray, FloatArray]:
    """(n, 4, 4, 10 n) and (n, 4, 4): scaled J_i - margin = lmi @ x + constant."""
    basis = _basis()
    lmi = np.zeros((prior.n, 4, 4, 10 * prior.n))
    constant = np.empty((prior.n, 4, 4))
    for i, link in enumerate(prior.links):
        scale = np.diag([1.0 / LENGTH] * 3 + [1.0]) / np.sqrt(max(link.mass, 0.1))
        block = np.moveaxis(scale @ basis @ scale, 0, -1)
        lmi[i, :, :, 10 * i : 10 * i + 10] = block
        constant[i] = block @ link.vector - MARGIN * np.eye(4)
    return lmi, constant


def _smallest(matrices: FloatArray) -> float:
    return float(np.linalg.eigvalsh(matrices).min())


def _solve(cost: Quadratic, lmi: FloatArray, constant: FloatArray) -> FloatArray:
    try:
        import clarabel
    except ImportError as error:
        raise MissingDependencyError(
            "clarabel: expected this solver, since the links that fit the data best cannot exist and the nearest that "
            "can are wanted; install it with: pip install 'panda_dynamics_ros[identification]'"
        ) from error
    from scipy import sparse

    n = len(lmi)
    upper = [(i, j) for j in range(4) for i in range(j + 1)]  # column by column
    rows, right = [], []
    for link in range(n):
        for i, j in upper:
            factor = 1.0 if i == j else np.sqrt(2.0)
            row = np.zeros(len(cost.free))
            row[: lmi.shape[-1]] = factor * lmi[link, i, j]
            rows.append(row[cost.free])
            right.append(factor * constant[link, i, j])
    # In units in which the cost's curvature is 1, the solver's tolerances mean the same for all parameters.
    unit = 1.0 / np.sqrt(np.diag(cost.H))
    P = sparse.csc_matrix(np.triu(cost.H * np.outer(unit, unit)))
    A = sparse.csc_matrix(-np.array(rows) * unit)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.PSDTriangleConeT(4) for _ in range(n)]
    solution = clarabel.DefaultSolver(P, -cost.h * unit, A, np.array(right), cones, settings).solve()
    if "Solved" not in str(solution.status):
        raise DataError(f"fit: expected physically consistent links, got none (solver: {solution.status})")
    x = np.zeros(len(cost.free))
    x[cost.free] = np.array(solution.x) * unit
    return x
