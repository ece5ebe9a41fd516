# SPDX-License-Identifier: Apache-2.0
"""What goes into the low-pass filters of `regression`: momentum and bias of the arm, and of unit payloads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_memory_kernel, friction_of_joint, presliding_step
from panda_dynamics_ros.dynamics.momentum import (
    momentum_kernel,
    momentum_sample,
    payload_momentum_kernel,
    payload_momentum_sample,
)
from panda_dynamics_ros.dynamics.residual_torques import point_covariance, residual_sample
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled, place_joints
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.residual_map import ResidualMap

ARM = PARAMETERS
"""Column of terms and filters that belongs to the arm; those before it belong to the payload's parameters."""


def dry_friction(friction):
    """`Friction.table` (n, 9) of an arm whose sigmoids are dry friction with a memory, too."""
    table, lower = friction.table.copy(), 1.0 / (1.0 + np.exp(-friction.slope * friction.shift))
    table[:, 1] += 0.5 * friction.amplitude
    table[:, 2] += friction.amplitude * (0.5 - lower)
    table[:, 4] = 0.0
    return table


@compiled
def presliding_path(q, before, bounds, s):
    """s (N, n)."""
    for k in range(q.shape[0]):
        presliding_step(bounds, q[k - 1] if k else before, q[k])
        for i in range(q.shape[1]):
            s[k, i] = 0.5 * (bounds[0, i] + bounds[1, i])


@compiled
def momentum_terms(table, friction, rotors, frame, q, dq, tau, s, momentum, bias):
    """`momentum` = [Y_p | -p] and `bias` = [Y_b | tau - friction - bias of the arm], each (n, 11), in place.

    p contains the momentum of the rotors, rotors dq (n,).
    """
    n = q.shape[0]
    frames, work, S = scratch((n, 12)), scratch((n, 18)), scratch((n, 6))
    p, arm_bias = scratch(n), scratch(n)
    place_joints(table, q, frames)
    momentum_sample(table, frames, dq, work, p, arm_bias)
    payload_momentum_sample(table, frame, frames, dq, S, momentum, bias)
    for i in range(n):
        momentum[i, ARM] = -p[i] - rotors[i] * dq[i]
        bias[i, ARM] = tau[i] - friction_of_joint(friction[i], dq[i], s[i]) - arm_bias[i]


class MomentumTerms:
    """Momentum and bias of one arm and of the unit payloads, for one sample after the other.

    Parameters
    ----------
    robot: the unloaded arm, with its friction.

    Attributes
    ----------
    momentum: (n, 11), [Y_p | -p]: momentum of the payload's ten parameters in the flange frame, and of the arm.
    bias: (n, 11), N m, [Y_b | tau - friction - bias - mean].
    mean: (n,), N m, of the robot's residual map; zero without one.
    unexplained: (n,), share of the residual's variance that the map leaves open; one without a map.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._table, self._friction, self._frame = robot.table, dry_friction(robot.friction), robot.frame_index("flange")
        self._rotors = robot.felt_rotor_inertia
        self.momentum, self.bias = np.zeros((2, robot.n, ARM + 1))
        self.s, self._q, self._bounds = np.zeros(robot.n), np.full(robot.n, np.nan), np.ones((2, robot.n))
        self._bounds[0] = -1.0
        self.mean, self.unexplained = np.zeros(robot.n), np.ones(robot.n)
        self._coordinates = np.zeros(3 * robot.n)
        self.use_map(robot.residual_map)

    @property
    def has_map(self) -> bool:
        """Whether a residual map is subtracted."""
        return self._map is not None

    def use_map(self, residual_map: ResidualMap | None) -> None:
        """Subtract the mean of this map from the next sample on."""
        self._map = None if residual_map is None else residual_map.table
        self.mean[:], self.unexplained[:] = 0.0, 1.0
        self._covariance = np.zeros(0 if residual_map is None else len(residual_map.points))

    def at(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> MomentumTerms:
        """These terms, computed for one sample: q, dq, tau (n,) in rad, rad/s, N m, checked by the caller."""
        if self._q[0] == self._q[0]:
            presliding_step(self._bounds, self._q, q)
        self._q[:] = q
        self.s = 0.5 * (self._bounds[0] + self._bounds[1])
        momentum_terms(
            self._table, self._friction, self._rotors, self._frame, q, dq, tau, self.s, self.momentum, self.bias
        )
        if self._map is not None:
            self.evaluate_map(q, dq)
            self.bias[:, ARM] -= self.mean
        return self

    def evaluate_map(self, q: FloatArray, dq: FloatArray) -> None:
        """`mean` and `unexplained` of a state, where there is a map."""
        if self._map is not None:
            point_covariance(self._map.points, q, dq, self._coordinates, self._covariance)
            residual_sample(self._covariance, *self._map[1:], self.mean, self.unexplained)

    def rows(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> TermRows:
        """The terms of N samples (N, n), eight at a time, bit for bit as `at` has them."""
        count, n = q.shape
        momentum, bias = np.empty((2, count, n, ARM + 1))
        p, arm_bias, friction = np.empty((3, count, n))
        Y_p, Y_b = np.empty((2, count, n, PARAMETERS))
        momentum_kernel(self._table, q, dq, p, arm_bias)
        payload_momentum_kernel(self._table, self._frame, q, dq, Y_p, Y_b)
        s = np.empty_like(q)
        presliding_path(q, self._q if self._q[0] == self._q[0] else q[0], self._bounds, s)
        self._q[:] = q[-1]
        friction_memory_kernel(self._friction, dq, s, friction)
        momentum[..., :ARM], bias[..., :ARM] = Y_p, Y_b
        momentum[..., ARM] = -p - self._rotors * dq
        bias[..., ARM] = tau - friction - arm_bias
        mean, unexplained = np.zeros((count, n)), np.ones((count, n))
        if self._map is not None:
            for k in range(count):
                self.evaluate_map(q[k], dq[k])
                mean[k], unexplained[k] = self.mean, self.unexplained
            bias[..., ARM] -= mean
        return TermRows(momentum, bias, s, mean, unexplained, self.has_map)


class SampleTerms(NamedTuple):
    """The attributes of `MomentumTerms` for one of many samples."""

    momentum: FloatArray
    bias: FloatArray
    s: FloatArray
    mean: FloatArray
    unexplained: FloatArray
    has_map: bool


class TermRows(NamedTuple):
    """The attributes of `MomentumTerms` for N samples: (N, n, 11) and (N, n)."""

    momentum: FloatArray
    bias: FloatArray
    s: FloatArray
    mean: FloatArray
    unexplained: FloatArray
    has_map: bool

    def at(self, k: int) -> SampleTerms:
        """Those of sample k (views, not copies)."""
        return SampleTerms(self.momentum[k], self.bias[k], self.s[k], self.mean[k], self.unexplained[k], self.has_map)


class SampleRows(NamedTuple):
    """N samples as a recording has them, with their terms: stamp (N,), s; q, dq, tau (N, n), rad, rad/s, N m."""

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    tau: FloatArray
    terms: TermRows

    def sample(self, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, dq and tau of sample k (views, not copies)."""
        return self.q[k], self.dq[k], self.tau[k]
