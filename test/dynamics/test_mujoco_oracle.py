# SPDX-License-Identifier: Apache-2.0
"""The package's dynamics against MuJoCo's, an engine with which it shares no code; and what its model has on purpose.

MuJoCo keeps an inertia as principal moments and a quaternion. `mujoco_model` diagonalises each link itself and
writes the result into the compiled model, so nothing is lost but rounding. Tolerance throughout: 1e-9 of the
largest entry, a thousand times the 1e-15 .. 1e-12 that rounding leaves.
"""

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.simulation.plant import mujoco_model, write_body

mujoco = pytest.importorskip("mujoco")

ROBOTS = ("panda", "panda_ledezma", "fr3")
SAMPLES = 1000
PAYLOAD = pdr.InertialParameters(
    1.3, np.array([0.02, -0.03, 0.1]), np.array([[4.0, 0.5, -0.3], [0.5, 5.0, 0.2], [-0.3, 0.2, 6.0]]) * 1e-3
)


def states(robot: pdr.RobotModel, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (SAMPLES, robot.n))
    dq = rng.uniform(-1.0, 1.0, q.shape) * robot.limits.velocity
    return q, dq, rng.uniform(-1.0, 1.0, q.shape) * robot.limits.acceleration


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("payload", [None, PAYLOAD], ids=["bare", "loaded"])
@pytest.mark.parametrize("name", ROBOTS)
def test_bias_mass_matrix_and_inverse_dynamics(name, payload):
    robot = pdr.load_robot(name)
    model = mujoco_model(robot)
    if payload is not None:
        write_body(model, "payload", payload)
        robot = robot.with_payload(payload)
    data = mujoco.MjData(model)
    q, dq, ddq = states(robot, seed=1)
    bias, torque, columns = np.empty_like(q), np.empty_like(q), np.empty((SAMPLES, robot.n, robot.n))
    for k in range(SAMPLES):
        data.qpos[:], data.qvel[:] = q[k], dq[k]
        mujoco.mj_forward(model, data)
        bias[k] = data.qfrc_bias
        for j, unit in enumerate(np.eye(robot.n)):  # mj_fullM has another signature in each MuJoCo generation
            mujoco.mj_mulM(model, data, columns[k, j], unit)
        data.qacc[:] = ddq[k]
        mujoco.mj_inverse(model, data)
        torque[k] = data.qfrc_inverse
    assert_close(robot.gravity_torques(q) + robot.coriolis_torques(q, dq), bias)
    assert_close(robot.mass_matrix(q), columns)
    assert_close(robot.inverse_dynamics(q, dq, ddq), torque)


@pytest.mark.parametrize("name", ROBOTS)
def test_gravity_alone_and_flange_pose(name):
    robot = pdr.load_robot(name)
    model = mujoco_model(robot)
    data = mujoco.MjData(model)
    q = states(robot, seed=2)[0][:100]
    gravity, flange = np.empty_like(q), np.tile(np.eye(4), (len(q), 1, 1))
    for k in range(len(q)):
        data.qpos[:] = q[k]
        mujoco.mj_forward(model, data)
        gravity[k] = data.qfrc_bias
        flange[k, :3, :3] = data.site("flange").xmat.reshape(3, 3)
        flange[k, :3, 3] = data.site("flange").xpos
    assert_close(robot.gravity_torques(q), gravity)
    assert_close(robot.pose(q, "flange"), flange)


@pytest.fixture(scope="module")
def robot():
    return pdr.load_robot("panda")


@pytest.mark.parametrize(("mass", "moment"), [(-1.0, 1.0), (1.0, -1.0)])
def test_a_body_that_mujoco_cannot_have(robot, mass, moment):
    with pytest.raises(ArgumentError, match="payload: expected mass and principal"):
        write_body(mujoco_model(robot), "payload", pdr.InertialParameters(mass, np.zeros(3), moment * np.eye(3)))
