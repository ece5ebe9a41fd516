# SPDX-License-Identifier: Apache-2.0
"""The package's dynamics against MuJoCo's, an engine with which it shares no code; and what its model has on purpose.

MuJoCo keeps an inertia as principal moments and a quaternion. `mujoco_model` diagonalises each link itself and
writes the result into the compiled model, so nothing is lost but rounding. Tolerance throughout: 1e-9 of a
sample's largest entry, a thousand times the 1e-15 .. 1e-12 that rounding leaves.
"""

import numpy as np
import pytest
from arms import random_states
from oracles import assert_agrees

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.simulation.plant import mujoco_model, write_body

mujoco = pytest.importorskip("mujoco")

RELATIVE = 1e-9
PAYLOAD = pdr.InertialParameters(
    1.3, np.array([0.02, -0.03, 0.1]), np.array([[4.0, 0.5, -0.3], [0.5, 5.0, 0.2], [-0.3, 0.2, 6.0]]) * 1e-3
)


@pytest.mark.parametrize("payload", [None, PAYLOAD], ids=["bare", "loaded"])
def test_dynamics_and_flange_pose(robot, payload, rng):
    model = mujoco_model(robot)
    if payload is not None:
        write_body(model, "payload", payload)
        robot = robot.with_payload(payload)
    data = mujoco.MjData(model)
    q, dq, ddq = random_states(robot, rng)
    bias, torque, columns = np.empty_like(q), np.empty_like(q), np.empty((len(q), robot.n, robot.n))
    flange = np.tile(np.eye(4), (len(q), 1, 1))
    for k in range(len(q)):
        data.qpos[:], data.qvel[:] = q[k], dq[k]
        mujoco.mj_forward(model, data)
        bias[k] = data.qfrc_bias
        flange[k, :3, :3], flange[k, :3, 3] = data.site("flange").xmat.reshape(3, 3), data.site("flange").xpos
        for j, unit in enumerate(np.eye(robot.n)):  # mj_fullM has another signature in each MuJoCo generation
            mujoco.mj_mulM(model, data, columns[k, j], unit)
        data.qacc[:] = ddq[k]
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse
    assert_agrees(robot.gravity_torques(q) + robot.coriolis_torques(q, dq), bias, RELATIVE)
    assert_agrees(robot.mass_matrix(q), columns, RELATIVE, axes=2)
    assert_agrees(robot.inverse_dynamics(q, dq, ddq), torque, RELATIVE)
    assert_agrees(robot.pose(q, "flange"), flange, RELATIVE, axes=2)


@pytest.mark.parametrize(("mass", "moment"), [(-1.0, 1.0), (1.0, -1.0)])
def test_a_body_that_mujoco_cannot_have(panda, mass, moment):
    with pytest.raises(ArgumentError, match="payload: expected mass and principal"):
        write_body(mujoco_model(panda), "payload", pdr.InertialParameters(mass, np.zeros(3), moment * np.eye(3)))
