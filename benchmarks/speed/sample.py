# SPDX-License-Identifier: Apache-2.0
"""One sample at 1 kHz: our estimator and dynamics, beside the same quantities by Pinocchio and a NumPy RLS.

Same on both sides: pose, gravity and Coriolis torques; momentum and bias of the arm and their payload regressors;
two low-pass filters; every tenth sample an update of ten parameters from seven rows. Only on ours, on top of that:
checked arguments, friction, coloured residual (17 states instead of 10), change detection, the nearest physical body.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from benchmarks.speed.pinocchio_arm import FROM_PINOCCHIO, LOCAL, PinocchioArm
from benchmarks.speed.timing import Comparison, compare
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import robot_state
from panda_dynamics_ros.estimation import PayloadEstimator

SAMPLES, PERIOD, POLE = 2000, 1e-3, 2.0 * math.pi * 3.0
OUR_ORDER = list(FROM_PINOCCHIO)


class MomentumByPinocchio:
    """Momentum, bias and their payload regressors, as in `dynamics.momentum`."""

    def __init__(self, robot: RobotModel) -> None:
        self.arm = PinocchioArm(robot)
        self.up = np.array(-robot.gravity)

    def terms(self, q: FloatArray, dq: FloatArray) -> tuple[FloatArray, ...]:
        """p (n,), bias (n,), Y_p (n, 10), Y_b (n, 10), gravity (n,), Coriolis (n,), T_base_flange (4, 4)."""
        model, data, flange = self.arm.model, self.arm.data, self.arm.flange
        p = pin.crba(model, data, q) @ dq
        gravity = np.array(pin.computeGeneralizedGravity(model, data, q))
        C = pin.computeCoriolisMatrix(model, data, q, dq)
        pin.computeJointJacobiansTimeVariation(model, data, q, dq)
        T = pin.updateFramePlacement(model, data, flange)
        J = pin.getFrameJacobian(model, data, flange, LOCAL)
        dJ = pin.getFrameJacobianTimeVariation(model, data, flange, LOCAL)
        V = pin.getFrameVelocity(model, data, flange, LOCAL)
        # I V and I g, linear in the ten parameters, are wrenches of accelerations V and -g at rest.
        momentum_wrench = pin.bodyRegressor(pin.Motion.Zero(), V)
        weight = pin.bodyRegressor(pin.Motion.Zero(), pin.Motion(T.rotation.T @ self.up, np.zeros(3)))
        Y_p = J.T @ momentum_wrench
        Y_b = J.T @ weight - (dJ + V.action @ J).T @ momentum_wrench
        return p, gravity - C.T @ dq, Y_p[:, OUR_ORDER], Y_b[:, OUR_ORDER], gravity, C @ dq, T.homogeneous


class PlainLeastSquares:
    """Recursive least squares with forgetting, in NumPy, on the filtered momentum regression."""

    def __init__(self, robot: RobotModel) -> None:
        self.source = MomentumByPinocchio(robot)
        self.theta, self.P = np.zeros(10), np.diag([1.5**2, *[0.15**2] * 3, *[0.02**2] * 6])
        self.first, self.second = np.zeros((robot.n, 11)), np.zeros((robot.n, 11))
        self.noise, self.samples = np.eye(robot.n), 0
        self.keep = math.exp(-POLE * PERIOD)

    def update(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> FloatArray:
        """Take in one sample; the ten parameters."""
        p, bias, Y_p, Y_b, *_ = self.source.terms(q, dq)
        derivative = POLE * np.column_stack((Y_p, -p))
        direct = derivative - np.column_stack((Y_b, tau - bias))
        self.first = self.keep * self.first + (1.0 - self.keep) * direct
        self.second = self.keep * self.second + (1.0 - self.keep) * (derivative - self.first)
        self.samples += 1
        if self.samples % 10 == 0:
            Y, y = self.second[:, :10], self.second[:, 10]
            gain = np.linalg.solve(Y @ self.P @ Y.T + self.noise, Y @ self.P).T
            self.theta = self.theta + gain @ (y - Y @ self.theta)
            self.P = (self.P - gain @ Y @ self.P) / 0.999
        return self.theta


def motion(robot: RobotModel) -> tuple[FloatArray, ...]:
    """q, dq, tau (SAMPLES, n) of a moving arm with nothing in its hand."""
    t = PERIOD * np.arange(SAMPLES)[:, None]
    rate = 2.0 * math.pi * (0.3 + 0.05 * np.arange(robot.n))
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    q, dq = middle + 0.4 * np.sin(rate * t), np.asarray(0.4 * rate * np.cos(rate * t), dtype=np.float64)
    ddq = -0.4 * rate**2 * np.sin(rate * t)
    tau: FloatArray = robot.inverse_dynamics(q, dq, ddq) + robot.friction_torques(dq)
    return q, dq, tau


def same_quantities(robot: RobotModel, q: FloatArray, dq: FloatArray) -> None:
    """Raises AssertionError unless both sides compute the same, to 1e-9."""
    p, bias, Y_p, Y_b, *_ = MomentumByPinocchio(robot).terms(q, dq)
    payload = InertialParameters(1.0, (0.02, -0.01, 0.05), 1e-3 * np.diag((1.0, 2.0, 2.5)))
    loaded = p + Y_p @ payload.vector, bias + Y_b @ payload.vector
    for arm, theirs in ((robot, (p, bias)), (robot.with_payload(payload), loaded)):
        ours = arm.mass_matrix(q) @ dq, arm.gravity_torques(q) - arm.coriolis_matrix(q, dq).T @ dq
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-9)


def full_sample(robot: RobotModel, turns: int) -> Comparison:
    """Mean time of a sample in motion."""
    q, dq, tau = motion(robot)
    same_quantities(robot, q[100], dq[100])
    rows = [(PERIOD * k, q[k].copy(), dq[k].copy(), tau[k].copy()) for k in range(SAMPLES)]
    estimator, plain = PayloadEstimator(robot), PlainLeastSquares(robot)

    def ours() -> None:
        estimator.reset()
        for stamp, q, dq, tau in rows:
            robot_state(robot, q, dq)
            estimator.update(stamp, q, dq, tau)

    def theirs() -> None:
        for _, q, dq, tau in rows:
            plain.update(q, dq, tau)

    found = compare("", ours, theirs, turns=turns, calls=1)
    name = "PayloadEstimator.update + robot_state"
    return Comparison(name, found.ours / SAMPLES, found.theirs / SAMPLES, found.ratio)
