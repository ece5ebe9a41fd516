# SPDX-License-Identifier: Apache-2.0
"""Ceiling, wall, tilted table, and a base that tilts while the arm moves, against Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from motion import PAYLOAD, coloured, sinusoids
from oracles import Pinocchio, assert_agrees, pin

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.robot.description import rotation_from_rpy

DOWN = np.array([0.0, 0.0, -9.81])
MOUNTINGS = {"ceiling": (np.pi, 0.0, 0.0), "wall": (0.0, np.pi / 2, 0.3), "tilted table": (0.2, -0.35, 1.0)}
SECONDS, TILT, TURNS = 8.0, 0.3, 0.1  # s, rad, Hz: up to 0.2 rad/s, as a vehicle on a slope
RELATIVE = 1e-9
MASS = 0.12  # kg: two standard deviations; torques of the base's rotation, up to 0.8 N m here, are neglected


def tilting(stamp: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Roll, pitch and yaw of the base with their derivatives, each (3,)."""
    w, rate = 2.0 * np.pi * TURNS * stamp, 2.0 * np.pi * TURNS
    return (
        TILT * np.array([np.sin(w), np.sin(0.7 * w), 0.0]),
        TILT * rate * np.array([np.cos(w), 0.7 * np.cos(0.7 * w), 0.0]),
        -TILT * rate**2 * np.array([np.sin(w), 0.49 * np.sin(0.7 * w), 0.0]),
    )


class Vehicle:
    """The arm on three more joints, which turn its base: Pinocchio's torques have every term of the rotation."""

    def __init__(self, robot: pdr.RobotModel) -> None:
        arm, self.model, parent = Pinocchio(robot).model, pin.Model(), 0
        for joint in (pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX()):
            parent = self.model.addJoint(parent, joint, pin.SE3.Identity(), f"base{parent}")
        for i in range(1, arm.njoints):
            parent = self.model.addJoint(parent, pin.JointModelRZ(), arm.jointPlacements[i], arm.names[i])
            self.model.appendBodyToJoint(parent, arm.inertias[i], pin.SE3.Identity())
        self.model.gravity.linear[:] = DOWN
        self.data = self.model.createData()

    def torques(self, stamp: float, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
        rpy, rate, acceleration = (values[::-1] for values in tilting(stamp))
        whole = [np.concatenate(pair) for pair in ((rpy, q), (rate, dq), (acceleration, ddq))]
        return np.array(pin.rnea(self.model, self.data, *whole))[3:]


def gravity_at(stamp: float) -> FloatArray:
    """Gravity in base axes (3,)."""
    return rotation_from_rpy(tilting(stamp)[0]).T @ DOWN


def test_a_payload_is_found_on_a_base_that_tilts(panda: pdr.RobotModel) -> None:
    """Its IMU comes at 100 Hz; without it, the torques do not fit the arm."""
    motion = sinusoids(SECONDS)
    vehicle = Vehicle(panda.with_payload(PAYLOAD))
    samples = zip(motion.stamp, motion.q, motion.dq, motion.ddq, strict=True)
    tau = np.array([vehicle.torques(*sample) for sample in samples]) + panda.friction_torques(motion.dq)
    tau += coloured(panda, motion.stamp, np.random.default_rng(4))
    base = pdr.MovingBase(panda)
    followed, fixed = pdr.ArmMonitor(base.robot), pdr.ArmMonitor(panda)
    for k, stamp in enumerate(motion.stamp):
        if k % 10 == 0:
            base.set_gravity(gravity_at(stamp))
        sample = stamp, motion.q[k], motion.dq[k], tau[k]
        output, unaware = followed.update(*sample), fixed.update(*sample)
    assert output.estimate.problem == ""
    assert output.contact is None
    assert output.estimate.mass == pytest.approx(PAYLOAD.mass, abs=MASS)
    assert unaware.estimate.problem
    np.testing.assert_allclose(output.T_base_ee, unaware.T_base_ee, rtol=0.0, atol=0.0)
    # Everything else that computes with the arm has the same gravity.
    np.testing.assert_array_equal(output.gravity_torques, base.robot.gravity_torques(motion.q[-1]))
    oracle = Pinocchio(base.robot)
    np.testing.assert_allclose(base.robot.gravity, gravity_at(motion.stamp[-10]), atol=1e-12)
    assert_agrees(base.robot.gravity_torques(motion.q[-1:]), oracle.gravity_torques(motion.q[-1:]), RELATIVE)


def test_a_scene_shows_the_torques_of_the_present_gravity(panda: pdr.RobotModel) -> None:
    base, q = pdr.MovingBase(panda), sinusoids(0.001).q[0]
    scene = ArmScene(base.robot)
    base.set_gravity((9.81, 0.0, 0.0))
    wall = ArmScene(panda.mounted(gravity=(9.81, 0.0, 0.0)))
    shown, wanted = ({each.name for each in scene.at(q).primitives} for scene in (scene, wall))
    assert shown == wanted


def test_the_mounting_turns_what_an_imu_measures(panda: pdr.RobotModel) -> None:
    base = pdr.MovingBase(panda, mounting=MOUNTINGS["wall"])
    base.set_gravity(DOWN)
    np.testing.assert_allclose(base.robot.gravity, panda.mounted(MOUNTINGS["wall"]).gravity, atol=1e-12)
    np.testing.assert_array_equal(panda.gravity, DOWN)  # the arm that was given stays as it is
    for wrong in ((0.0, 0.0), (0.0, 0.0, np.nan)):
        with pytest.raises(ArgumentError, match="gravity: expected"):
            base.set_gravity(wrong)
