# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model of a robot: what is set on purpose, and what is refused. Its dynamics: test_mujoco_oracle.py."""

from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import Friction, JointLimits, ResidualModel
from panda_dynamics_ros.simulation.plant import mujoco_model

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(scope="module")
def robot():
    return pdr.load_robot("panda")


def test_armature_and_damping_are_those_that_were_asked_for(robot):
    armature = np.arange(1.0, 8.0)
    model = mujoco_model(robot, armature=armature, damping=0.5)
    data = mujoco.MjData(model)
    data.qvel[:] = 2.0
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(data.qfrc_passive, np.full(7, -1.0))  # exact: powers of two
    diagonal = np.empty(7)
    for j, unit in enumerate(np.eye(7)):
        column = np.empty(7)
        mujoco.mj_mulM(model, data, column, unit)
        diagonal[j] = column[j]
    expected = np.diag(robot.mass_matrix(np.zeros(7))) + armature
    np.testing.assert_allclose(diagonal, expected, rtol=1e-9)  # rounding
    bare = mujoco_model(robot)
    assert not bare.dof_armature.any()
    assert not bare.dof_damping.any()


def test_other_gravity_and_a_prismatic_joint(robot):
    limits = JointLimits(*(np.array([-1.0]), np.array([1.0])), *(np.array([1.0]) for _ in range(3)))
    slide = replace(
        robot,
        joint_names=("slide",),
        placements=np.eye(4)[None],
        prismatic=(True,),
        links=robot.links[:1],
        friction=Friction.of(1),
        rotor_inertia=np.zeros(1),
        limits=limits,
        residual=ResidualModel(np.array([0.1]), np.array([0.5])),
        gravity=np.array([0.0, 1.0, -2.0]),
    )
    data = mujoco.MjData(model := mujoco_model(slide))
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_bias, [2.0 * robot.links[0].mass], rtol=1e-12)  # weight along z; rounding


@pytest.mark.parametrize(("mass", "moment"), [(-1.0, 1.0), (1.0, -1.0)])
def test_a_body_that_mujoco_cannot_have(robot, mass, moment):
    with pytest.raises(ArgumentError, match="payload: expected mass and principal"):
        mujoco_model(robot, payload=pdr.InertialParameters(mass, np.zeros(3), moment * np.eye(3)))
