# SPDX-License-Identifier: Apache-2.0
"""The least cost among bodies that can exist: a semidefinite program.

    min  x' H x - 2 h' x    subject to    J_i(pi_i + x_i) >= margin   for every link i,

J_i the pseudo-inertia (4, 4), linear in the inertial parameters (Wensing, Kim and Slotine, RA-L 2018). The cost holds
the distance to the prior, which fixes what the base parameters leave open. Solved by Clarabel (Goulart and Chen,
2024), an interior-point method.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError, MissingDependencyError
from panda_dynamics_ros.identification.weighted_fit import Quadratic
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot.inertial import InertialParameters

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
