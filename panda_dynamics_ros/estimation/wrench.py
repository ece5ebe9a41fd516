# SPDX-License-Identifier: Apache-2.0
"""The wrench at the flange that explains external joint torques, and how much of it they determine.

With tau_ext = J^T F + e, e of the residual's covariance R and a wide prior covariance P of F, the most probable
wrench and its covariance are (Haddadin, De Luca, Albu-Schaeffer, T-RO 2017, identification phase; the
pseudo-inverse of J^T weighted by R^-1 is its limit for an infinite prior)

    C = (P^-1 + J R^-1 J^T)^-1,    F = C J R^-1 tau_ext.

Near a singularity the pseudo-inverse turns noise into forces of thousands of newtons. Here the part of the wrench that
does not load the joints stays at zero, with the prior's uncertainty, and `observable` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.scratch import scratch
from panda_dynamics_ros.dynamics.kernels.small_matrices import invert
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.dynamics.kinematics import jacobian_sample
from panda_dynamics_ros.dynamics.residual_torques import residual_torques
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.residual_map import DRIFT

FORCE_STD, MOMENT_STD = 100.0, 20.0
"""N and N m, at one sigma: wide for forces of people and tools. With a residual of .3 N m and a lever of .3 m the prior
reduces a force by 1 / 10^4."""


@dataclass(frozen=True, eq=False)
class ContactWrench:
    """What the environment exerts on the flange: force and moment in base axes, at the flange's origin.

    Attributes
    ----------
    wrench: (6,), N and N m, force first.
    covariance: (6, 6).
    """

    wrench: FloatArray
    covariance: FloatArray

    @property
    def std(self) -> FloatArray:
        """(6,), N and N m."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def observable(self) -> np.ndarray:
        """(6,) booleans: the torques have reduced the prior variance of this component to a ninth or less."""
        return self.std < np.repeat((FORCE_STD, MOMENT_STD), 3) / 3.0


@compiled
def contact_wrench_step(table, flange, origin, variance, q, external, wrench, covariance):
    """F (6,) and C (6, 6) of one state, in place."""
    n = q.shape[0]
    J, information = scratch((6, n)), scratch((6, 6))
    jacobian_sample(table, flange, origin, q, J)
    for r in range(6):
        prior = FORCE_STD if r < 3 else MOMENT_STD
        for c in range(r + 1):
            total = 1.0 / (prior * prior) if r == c else 0.0
            for i in range(n):
                total += J[r, i] * J[c, i] / variance[i]
            information[r, c] = information[c, r] = total
    invert(information, covariance)
    wrench[:] = 0.0
    for i in range(n):
        weighted = external[i] / variance[i]
        for r in range(6):
            for c in range(6):
                wrench[r] += covariance[r, c] * J[c, i] * weighted


@compiled
def contact_wrenches(table, flange, origin, variance, q, external, wrenches, covariance):
    """F (N, 6) of N states; variance (N, n), and `covariance` (6, 6) is workspace."""
    for k in range(q.shape[0]):
        contact_wrench_step(table, flange, origin, variance[k], q[k], external[k], wrenches[k], covariance)


class WrenchEstimator:
    """The wrench at one arm's flange, sample by sample, without checks.

    Parameters
    ----------
    robot: the arm; its residual model weighs the joints.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._robot, self._table, self._flange = robot, robot.table, robot.frame_index("flange")
        self._variance = robot.residual.std**2
        self._origin = np.zeros(3)

    def estimate(self, q: FloatArray, external: FloatArray, unexplained: FloatArray | None = None) -> ContactWrench:
        """See `contact_wrench`; q and external: finite (n,) arrays.

        unexplained: (n,), share of the residual's variance that a residual map leaves open, where there is one.
        """
        wrench, covariance = np.empty(6), np.empty((6, 6))
        variance = self._variance if unexplained is None else self._variance_where(unexplained)
        contact_wrench_step(
            self._table, self._flange, self._origin, variance, q, external, wrench, covariance
        )  # fmt: skip
        return ContactWrench(wrench, covariance)

    def wrenches(self, q: FloatArray, dq: FloatArray, external: FloatArray) -> FloatArray:
        """`ContactWrench.wrench` (N, 6) of N states, with the robot's residual map; q, dq, external: finite (N, n)."""
        wrenches, unexplained = np.empty((len(q), 6)), np.ones_like(q)
        if self._robot.residual_map is not None:
            unexplained = (residual_torques(self._robot, q, dq)[1] / self._robot.residual_map.sigma) ** 2
        variance = self._variance_where(unexplained)
        contact_wrenches(
            self._table, self._flange, self._origin, variance, q, external, wrenches, np.empty((6, 6))
        )  # fmt: skip
        return wrenches

    def _variance_where(self, unexplained: FloatArray) -> FloatArray:
        return self._variance * (unexplained + (1.0 - unexplained) * DRIFT**2)


def contact_wrench(robot: RobotDescription, q: ArrayLike, external: ArrayLike) -> ContactWrench:
    """The wrench at the flange that explains `external` best.

    It is the contact's only where the arm is touched beyond its last joint, at one place.

    Parameters
    ----------
    q: (n,), rad.
    external: (n,), N m, external joint torques, as `MomentumObserver` has them.

    Raises
    ------
    ArgumentError: an argument is not finite, or not of shape (n,).
    """
    arrays = [checks.exactly(value, (robot.n,), name).copy() for name, value in (("q", q), ("external", external))]
    return WrenchEstimator(robot).estimate(*arrays)
