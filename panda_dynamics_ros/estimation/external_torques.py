# SPDX-License-Identifier: Apache-2.0
"""External joint torques by the momentum observer, the wrench at the flange and the link that explain them.

De Luca and Mattone, ICRA 2005 (document 003, the collision application): with dp/dt = tau + tau_ext - friction
- bias, the residual r = F(tau_ext), F a first-order low-pass filter with pole w, follows from

    r = w p - F(w p - bias + tau - friction),

which needs no acceleration and no inverse of the mass matrix: it is what `regression` has after one of its two
filters. A known payload theta is accounted for by its own filtered regressor, r + Y theta. Y does not depend on theta:
after a change of theta the torques are at once those of an arm that has always carried the new payload.

With tau_ext = J^T F + e, e of the residual's covariance R and a wide prior covariance P of F, the most probable
wrench and its covariance are (Haddadin, De Luca, Albu-Schaeffer, T-RO 2017, identification phase)

    C = (P^-1 + J R^-1 J^T)^-1,    F = C J R^-1 tau_ext.

Their limit for an infinite prior, the weighted pseudo-inverse of J^T, turns noise into forces of thousands of newtons
near a singularity. Here the part of the wrench that does not load the joints stays at zero, and `observable` says so.

A contact on link i loads no joint beyond i (the same, isolation). Weak forces need the evidence of all joints: a force
of size f along each axis, about l away from the link's centre of mass with its linear and angular Jacobian, causes
joint torques of the covariance

    P_i = f^2 (Jv_i' Jv_i + l^2 Jw_i' Jw_i).

The torque steps e, of covariance R = diag(std^2), have the evidence N(e; 0, R + P_i), summed over several f.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kinematics import com_jacobian, jacobian
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.residual_map import DRIFT

FORCE_STD, MOMENT_STD = 100.0, 20.0
"""N and N m, at one sigma: wide for forces of people and tools. With a residual of .3 N m and a lever of .3 m the prior
reduces a force by 1 / 10^4."""
_PRIOR_STD = np.repeat((FORCE_STD, MOMENT_STD), 3)
FORCES = np.array([2.0, 6.0, 20.0, 60.0])  # N: from the smallest detectable force, each three times the one before
LEVER = 0.06  # m: a link's radius


@dataclass(frozen=True, eq=False)
class ContactWrench:
    """What the environment exerts on the flange: force and moment in base axes, at the flange's origin.

    wrench: (..., 6), N and N m, force first.
    covariance: (..., 6, 6).
    """

    wrench: FloatArray
    covariance: FloatArray

    @property
    def std(self) -> FloatArray:
        """(..., 6), N and N m."""
        return np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))

    @property
    def observable(self) -> np.ndarray:
        """(..., 6) booleans: the torques have reduced the prior variance of this component to a ninth or less."""
        return self.std < _PRIOR_STD / 3.0


def contact_wrench(
    robot: RobotDescription, q: ArrayLike, external: ArrayLike, unexplained: FloatArray | float = 1.0
) -> ContactWrench:
    """The wrench at the flange that explains `external` best.

    It is the contact's only where the arm is touched beyond its last joint, at one place.

    q: (..., n), rad.
    external: (..., n), N m, external joint torques, positive along the joint's axis.
    unexplained: (..., n), share of the residual's variance that a residual map leaves open; 1 without one.
    Raises ArgumentError: an argument is not finite, or not of shape (..., n).
    """
    J, external = jacobian(robot, q), checks.trailing(external, (robot.n,), "external")
    variance = robot.residual.std**2 * (DRIFT**2 + (1.0 - DRIFT**2) * unexplained)
    weighted = J / variance[..., None, :]
    covariance = np.linalg.inv(weighted @ J.swapaxes(-1, -2) + np.diag(_PRIOR_STD**-2.0))
    return ContactWrench((covariance @ (weighted @ external[..., None]))[..., 0], covariance)


def touched_link(robot: RobotDescription, q: FloatArray, torques: FloatArray, std: FloatArray) -> int:
    """1..n: the most probable link for torque steps (n,), N m, of standard deviation `std`, at q (n,), rad.

    What is mounted on the last link belongs to it.
    """
    return min(int(np.argmax(link_evidence(robot, q, torques, std))) + 1, robot.n)


def link_evidence(robot: RobotDescription, q: FloatArray, torques: FloatArray, std: FloatArray) -> FloatArray:
    """log sum_f N(e; 0, R + P) of each link and of the end effector (n + 1,), up to a constant; see `touched_link`."""
    J = np.stack([*(com_jacobian(robot, q, link + 1) for link in range(robot.n)), jacobian(robot, q, "ee")])
    covariance = FORCES[:, None, None, None] ** 2 * force_covariance(J, LEVER) + np.diag(std**2)
    L = np.linalg.cholesky(covariance)  # (sizes, places, n, n)
    z = np.linalg.solve(L, np.broadcast_to(torques[:, None], (*L.shape[:3], 1)))[..., 0]
    log_evidence = -0.5 * (z**2).sum(axis=2) - np.log(np.diagonal(L, axis1=2, axis2=3)).sum(axis=2)
    return np.asarray(np.logaddexp.reduce(log_evidence, axis=0))


def force_covariance(J: FloatArray, lever: float) -> FloatArray:
    """(.., n, n), m^2: of the joint torques of a force of 1 N along each axis, `lever` (m) from the frame of J."""
    linear, angular = (part.swapaxes(-2, -1) @ part for part in (J[..., :3, :], J[..., 3:, :]))
    return np.asarray(linear + lever**2 * angular)
