# SPDX-License-Identifier: Apache-2.0
"""What the dynamics is checked against: Pinocchio, finite differences, and a measure of agreement."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros import InertialParameters, RobotModel


class _Pinocchio:
    """The library, or a skip of the test that wants it: its wheels are not for every Python and NumPy."""

    def __getattr__(self, name: str) -> Any:
        return getattr(pytest.importorskip("pinocchio", reason="Pinocchio is not installed"), name)


pin: Any = _Pinocchio()

Array = NDArray[np.float64]

# Pinocchio orders a body's parameters (m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz); entry k here is where ours stands there.
FROM_PINOCCHIO = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)


def se3(T: Array) -> Any:
    return pin.SE3(np.array(T[:3, :3]), np.array(T[:3, 3]))


def pin_inertia(body: InertialParameters) -> Any:
    return pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))


class Pinocchio:
    """The same arm in Pinocchio, with our names, conventions and leading dimension (rows of states)."""

    def __init__(self, robot: RobotModel) -> None:
        self.model = pin.Model()
        self.model.gravity.linear[:] = robot.gravity
        joint = 0
        for name, T, sliding, link in zip(
            robot.joint_names, robot.placements, robot.prismatic, robot.links, strict=True
        ):
            kind = pin.JointModelPZ() if sliding else pin.JointModelRZ()
            joint = self.model.addJoint(joint, kind, se3(T), name)
            self.model.appendBodyToJoint(joint, pin_inertia(link), pin.SE3.Identity())
        T_joint_ee = robot.T_joint_flange @ robot.T_flange_ee
        placed = {"base": (0, np.eye(4)), "flange": (joint, robot.T_joint_flange), "ee": (joint, T_joint_ee)}
        placed |= {f"joint{i}": (i, np.eye(4)) for i in range(1, robot.n + 1)}
        self.frames = {
            name: self.model.addFrame(pin.Frame(name, parent, 0, se3(T), pin.FrameType.OP_FRAME))
            for name, (parent, T) in placed.items()
        }
        for i, link in enumerate(robot.links, start=1):
            com = pin.SE3(np.eye(3), np.array(link.com))
            self.frames[f"com{i}"] = self.model.addFrame(pin.Frame(f"com{i}", i, 0, com, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def _rows(self, function: Callable[..., Array], *states: Array) -> Array:
        return np.array([np.array(function(self.model, self.data, *row)) for row in zip(*states, strict=True)])

    def pose(self, q: Array, frame: str) -> Array:
        def one(model: Any, data: Any, q: Array) -> Array:
            pin.framesForwardKinematics(model, data, q)
            return data.oMf[self.frames[frame]].homogeneous

        return self._rows(one, q)

    def jacobian(self, q: Array, frame: str) -> Array:
        def one(model: Any, data: Any, q: Array) -> Array:
            return pin.computeFrameJacobian(model, data, q, self.frames[frame], pin.LOCAL_WORLD_ALIGNED)

        return self._rows(one, q).reshape(-1, 6, self.model.nv)  # of one joint, Pinocchio returns a flat array

    def com_jacobian(self, q: Array, link: int) -> Array:
        return self.jacobian(q, f"com{link}")

    def gravity_torques(self, q: Array) -> Array:
        return self._rows(pin.computeGeneralizedGravity, q)

    def coriolis_matrix(self, q: Array, dq: Array) -> Array:
        return self._rows(pin.computeCoriolisMatrix, q, dq)

    def coriolis_torques(self, q: Array, dq: Array) -> Array:
        return np.einsum("kij,kj->ki", self.coriolis_matrix(q, dq), dq)

    def mass_matrix(self, q: Array) -> Array:
        upper = np.triu(self._rows(pin.crba, q))
        return upper + np.swapaxes(np.triu(upper, 1), -1, -2)

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        return self._rows(pin.rnea, q, dq, ddq)

    def forward_dynamics(self, q: Array, dq: Array, tau: Array) -> Array:
        return self._rows(pin.aba, q, dq, tau)

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        Y = self._rows(pin.computeJointTorqueRegressor, q, dq, ddq)
        n = self.model.nv
        return Y.reshape(-1, n, n, 10)[..., FROM_PINOCCHIO].reshape(-1, n, 10 * n)


def rate(function: Callable[[Array], Array], q: Array, dq: Array, step: float) -> Array:
    """d/dt function(q + t dq) at t = 0 by central differences of fourth order: error O(step^4) + O(1e-16 / step)."""
    once = function(q + step * dq) - function(q - step * dq)
    twice = function(q + 2 * step * dq) - function(q - 2 * step * dq)
    return (8.0 * once - twice) / (12.0 * step)


def skew(a: ArrayLike) -> Array:
    """S(a) with S(a) b = a x b."""
    x, y, z = np.asarray(a, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def assert_agrees(got: Array, want: Array, relative: float, axes: int = 1) -> None:
    """Each sample (its last `axes` dimensions) within `relative` of the largest entry that it should have.

    Entries are compared with their sample's scale, since an entry that is zero for a reason carries the
    rounding of its neighbours. The floor of 1e-3 (N m, m, kg m^2) is for samples that are zero as a whole.
    """
    assert got.shape == want.shape
    trailing = tuple(range(-axes, 0))
    scale = np.maximum(np.abs(want).max(axis=trailing, initial=0.0), 1e-3)
    error = np.abs(got - want).max(axis=trailing, initial=0.0) / scale
    assert error.size > 0
    assert error.max() <= relative, f"sample {error.argmax()} is {error.max():.2e} off, more than {relative:.0e}"
