# SPDX-License-Identifier: Apache-2.0
"""The same arm in Pinocchio, and the calls that a user of it would make for our functions."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray

LOCAL, ALIGNED = pin.LOCAL, pin.LOCAL_WORLD_ALIGNED
# Pinocchio orders a body's parameters (m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz); entry k here is where ours stands there.
FROM_PINOCCHIO = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)


def _placement(T: FloatArray) -> pin.SE3:
    return pin.SE3(np.array(T[:3, :3]), np.array(T[:3, 3]))


def _inertia(body: InertialParameters) -> pin.Inertia:
    return pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))


class PinocchioArm:
    """Each method is the fastest way to our function's result that was found in Pinocchio's Python interface."""

    def __init__(self, robot: RobotModel) -> None:
        self.model = pin.Model()
        self.model.gravity.linear[:] = robot.gravity
        joint = 0
        for name, T, link in zip(robot.joint_names, robot.placements, robot.links, strict=True):
            joint = self.model.addJoint(joint, pin.JointModelRZ(), _placement(T), name)
            self.model.appendBodyToJoint(joint, _inertia(link), pin.SE3.Identity())
        flange = pin.Frame("flange", joint, 0, _placement(robot.T_joint_flange), pin.FrameType.OP_FRAME)
        self.flange = self.model.addFrame(flange)
        self.data = self.model.createData()
        self.weightless = self.model.copy()
        self.weightless.gravity.linear[:] = 0.0
        self.weightless_data = self.weightless.createData()
        self.rest = np.zeros(robot.n)

    def pose(self, q: FloatArray) -> FloatArray:
        """T_base_flange (4, 4)."""
        pin.forwardKinematics(self.model, self.data, q)
        T: FloatArray = pin.updateFramePlacement(self.model, self.data, self.flange).homogeneous
        return T

    def jacobian(self, q: FloatArray) -> FloatArray:
        """(6, n), base axes, at the flange."""
        J: FloatArray = pin.computeFrameJacobian(self.model, self.data, q, self.flange, ALIGNED)
        return J

    def gravity_torques(self, q: FloatArray) -> FloatArray:
        """(n,)."""
        tau: FloatArray = pin.computeGeneralizedGravity(self.model, self.data, q)
        return tau

    def coriolis_torques(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """(n,), by inverse dynamics without gravity: a third of the time of `computeCoriolisMatrix(..) @ dq`."""
        tau: FloatArray = pin.rnea(self.weightless, self.weightless_data, q, dq, self.rest)
        return tau

    def coriolis_matrix(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """(n, n)."""
        C: FloatArray = pin.computeCoriolisMatrix(self.model, self.data, q, dq)
        return C

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """(n, n); Pinocchio 3 fills both triangles."""
        M: FloatArray = pin.crba(self.model, self.data, q)
        return M

    def inverse_dynamics(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """(n,)."""
        tau: FloatArray = pin.rnea(self.model, self.data, q, dq, ddq)
        return tau

    def forward_dynamics(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> FloatArray:
        """(n,)."""
        ddq: FloatArray = pin.aba(self.model, self.data, q, dq, tau)
        return ddq

    def regressor(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """(n, 10 n), columns in Pinocchio's order."""
        Y: FloatArray = pin.computeJointTorqueRegressor(self.model, self.data, q, dq, ddq)
        return Y

    def payload_regressor(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        """(n, 10) of a body in the flange frame, columns in Pinocchio's order."""
        pin.forwardKinematics(self.model, self.data, q, dq, ddq)
        wrench = pin.frameBodyRegressor(self.model, self.data, self.flange)
        J = pin.computeFrameJacobian(self.model, self.data, q, self.flange, LOCAL)
        Y: FloatArray = J.T @ wrench
        return Y
