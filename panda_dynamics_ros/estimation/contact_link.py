# SPDX-License-Identifier: Apache-2.0
"""Isolation: the link on which a force explains the torque steps best.

A contact on link i loads no joint beyond i (Haddadin, De Luca, Albu-Schaeffer, "Robot Collisions", T-RO 2017,
isolation), so the last significantly loaded joint indicates the link where forces are strong and load every joint up
to it. Weak forces need the evidence of all joints. Let a force of size f in any direction act at a distance of
about l from the link's centre of mass. The joint torques that it causes have the covariance

    P_i = f^2 (Jv_i' Jv_i + l^2 Jw_i' Jw_i),

with the linear and angular Jacobian of the centre of mass. The torque steps e, with their own covariance
R = diag(std^2), have the evidence N(e; 0, R + P_i), summed over several f, whose size is unknown. What is mounted on
the last link may be touched, too: a second place on it is the frame `ee`.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.scratch import scratch
from panda_dynamics_ros.dynamics.kernels.small_matrices import factorise, forward
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.dynamics.kinematics import jacobian_sample
from panda_dynamics_ros.robot import RobotDescription

FORCES = np.array([2.0, 6.0, 20.0, 60.0])  # N: from the smallest detectable force, each three times the one before
LEVER = 0.06  # m: a link's radius


@compiled
def place_evidence_step(table, frame, point, q, e, std, forces):
    """log sum_f N(e; 0, R + P) up to a constant, for a force near `point` (3,) of `frame`."""
    n = q.shape[0]
    J, C, z, terms = scratch((6, n)), scratch((n, n)), scratch(n), scratch(forces.shape[0])
    jacobian_sample(table, frame, point, q, J)
    for m in range(forces.shape[0]):
        for i in range(n):
            for j in range(i + 1):
                linear = J[0, i] * J[0, j] + J[1, i] * J[1, j] + J[2, i] * J[2, j]
                angular = J[3, i] * J[3, j] + J[4, i] * J[4, j] + J[5, i] * J[5, j]
                C[i, j] = forces[m] ** 2 * (linear + LEVER * LEVER * angular)
            C[i, i] += std[i] ** 2
            z[i] = e[i]
        factorise(C)
        forward(C, z)
        terms[m] = 0.0
        for i in range(n):
            terms[m] -= 0.5 * z[i] * z[i] + math.log(C[i, i])
    largest, total = terms[0], 0.0
    for term in terms:
        largest = max(largest, term)
    for term in terms:
        total += math.exp(term - largest)
    return largest + math.log(total)


@compiled
def link_evidence_step(table, frames, points, q, e, std, forces, evidence):
    """The evidence of each place: `points` (k, 3) of `frames` (k,), in place."""
    for k in range(len(frames)):
        evidence[k] = place_evidence_step(table, frames[k], points[k], q, e, std, forces)


class LinkEvidence:
    """Finds the link of one arm that is touched.

    Parameters
    ----------
    robot: the arm; each link's centre of mass stands for its place.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._table, self._n = robot.table, robot.n
        self._frames = np.array([*range(robot.n), robot.frame_index("ee")])
        self._points = np.array([*(link.com for link in robot.links), np.zeros(3)])
        self._evidence = np.zeros(robot.n + 1)

    def link(self, q: FloatArray, torques: FloatArray, std: FloatArray) -> int:
        """1..n: the most probable link for torque steps (n,), N m, of standard deviation `std`, at q (n,), rad."""
        link_evidence_step(
            self._table, self._frames, self._points, q, torques, std, FORCES, self._evidence
        )  # fmt: skip
        return min(int(np.argmax(self._evidence)) + 1, self._n)
