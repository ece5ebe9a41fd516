# SPDX-License-Identifier: Apache-2.0
"""States as each binding gives them, of a Panda over protocol 5 and of an FR3 over protocol 10."""

import importlib
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from franka_servers import HAND, LOAD, T_FLANGE_EE, fr3, host, needs, panda, panda_states
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros.live import BINDINGS, FrankaConnection, with_own_end_effector
from panda_dynamics_ros.robot.libfranka_state import FrankaState

PANDA, FR3 = host(0), host(1)
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "estimate_in_control_loop.py"


@pytest.fixture(scope="module")
def panda_server(tmp_path_factory):
    with panda(PANDA, tmp_path_factory.mktemp("panda")):
        yield PANDA


@pytest.fixture(scope="module")
def fr3_server():
    with fr3(FR3):
        yield FR3


def read(binding: str, address: str) -> FrankaState:
    if binding == "franka-rs":  # programs of users have its states
        needs("franka")
        return FrankaState(importlib.import_module("franka").Robot(address, realtime="ignore").read_once())
    needs(BINDINGS[binding].partition(".")[0])
    return FrankaConnection(address, binding).read()


@pytest.mark.parametrize("binding", ["panda-python", "franka-rs"])
def test_a_panda_is_read_as_it_was_sent(binding, panda_server):
    state = read(binding, panda_server)
    sent = panda_states()
    row = round(1e3 * state.sample.stamp) - 1  # the number of a message is the robot's time in ms
    for name, got in zip(("q", "dq", "tau_J"), state.sample[1:], strict=True):
        np.testing.assert_array_equal(got, sent[name][row])
    np.testing.assert_array_equal(state.external_torques, sent["tau_ext_hat_filtered"][row])
    np.testing.assert_allclose(state.T_base_ee, pdr.pose.from_column_major(sent["O_T_EE"][row]), atol=1e-12)
    np.testing.assert_allclose(state.T_flange_ee, T_FLANGE_EE, atol=1e-12)
    for found, body in ((state.load, LOAD), (state.end_effector, HAND)):
        np.testing.assert_allclose(found.vector, body.vector, atol=1e-12)
    assert state.mode == "user_stopped"
    assert len(state.errors) == 1
    assert "joint_position_limits_violation" in state.errors[0]


def test_an_fr3_agrees_with_our_model(fr3_server):
    """franky-sim 1.0 computes O_T_EE and then O_T_EE_d in the same memory: its O_T_EE is the pose of q_d."""
    state = read("pylibfranka", fr3_server)
    robot = with_own_end_effector(pdr.load_robot("fr3"), state)
    desired = np.ravel(state.raw.q_d)
    # Floats of single precision over a metre of arm.
    np.testing.assert_allclose(robot.pose(desired, "ee"), state.T_base_ee, atol=1e-6)
    assert state.end_effector.mass == pytest.approx(0.73, abs=1e-6)
    assert (state.load.mass, state.mode, state.errors) == (0.0, "idle", ())


def test_estimators_take_the_state_itself(panda_server):
    needs("panda_py")
    connection = FrankaConnection(panda_server, "panda-python")
    by_state, by_sample = (pdr.ArmMonitor(pdr.load_robot("panda")) for _ in range(2))
    alone = pdr.PayloadEstimator(pdr.load_robot("panda"))
    for _ in range(300):
        state = connection.read()
        output, expected = by_state.update_state(state.raw), by_sample.update(*state.sample)
        estimate = alone.update_state(state.raw)
    np.testing.assert_array_equal(output.gravity_torques, expected.gravity_torques)
    np.testing.assert_array_equal(output.estimate.vector, expected.estimate.vector)
    assert estimate.stamp == by_sample.payload_estimator.estimate.stamp > 0.2


FRANKY = """
import sys, numpy as np, franky
from panda_dynamics_ros.robot.libfranka_state import FrankaState
host = sys.argv[1]
robot = franky.Robot(host, realtime_config=franky.RealtimeConfig.Ignore)
state = FrankaState(robot.state)
assert state.sample.q.shape == state.external_torques.shape == (7,) and state.sample.stamp > 0.0
np.testing.assert_array_equal(state.T_base_ee, state.raw.O_T_EE.matrix)
assert abs(state.end_effector.mass - 0.73) < 1e-6 and state.end_effector.com.shape == (3,)
assert (state.load.mass, state.mode, state.errors) == (0.0, "idle", ())
print("all well")
"""


def test_franky(fr3_server):
    """In a process of its own: franky and another binding cannot be loaded together."""
    if find_spec("franky") is None:
        pytest.skip("the binding franky is not installed")
    assert ran([sys.executable, "-c", FRANKY, fr3_server], timeout=120).stdout == "all well\n"


@pytest.mark.parametrize(
    ("time", "seconds"), [(1.5, 1.5), (timedelta(milliseconds=1500), 1.5), (SimpleNamespace(toSec=lambda: 2.5), 2.5)]
)
def test_times_of_other_bindings(time, seconds):
    state = SimpleNamespace(time=time, q=[0.1] * 7, dq=np.zeros((7, 1)), tau_J=tuple([1.0] * 7))
    stamp, q, dq, tau = FrankaState(state).sample
    assert stamp == seconds
    assert (q.shape, dq.shape, tau.shape) == ((7,), (7,), (7,))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": [0.0] * 6}, r"state\.q: expected shape \(7,\), got \(6,\)"),
        ({"time": "now"}, r"state\.time: expected an array of real numbers, got 'now'"),
    ],
)
def test_a_malformed_state_is_refused(change, words):
    sound = {"time": 1.0, "q": [0.0] * 7, "dq": [0.0] * 7, "tau_J": [1.0] * 7}
    with pytest.raises(pdr.PandaDynamicsError, match=words):
        pdr.PayloadEstimator(pdr.load_robot("panda")).update_state(SimpleNamespace(**{**sound, **change}))


@pytest.mark.parametrize(
    ("change", "asked", "words"),
    [
        ({"O_T_EE": ["a"] * 16}, "T_base_ee", r"state\.O_T_EE: expected an array of real numbers"),
        ({"O_T_EE": [0.0] * 12}, "T_base_ee", r"state\.O_T_EE: expected shape \(4, 4\), got \(12,\)"),
        ({"I_load": [0.0] * 6}, "load", r"state\.I_load: expected shape \(9,\), got \(6,\)"),
        ({"m_load": "much"}, "load", r"state\.m_load: expected an array of real numbers, got 'much'"),
        ({}, "T_flange_ee", "state: expected a libfranka RobotState, got SimpleNamespace without F_T_EE"),
    ],
)
def test_a_malformed_pose_or_load_is_refused(change, asked, words):
    sound = {"m_load": 0.0, "F_x_Cload": [0.0] * 3, "I_load": [0.0] * 9, "O_T_EE": np.eye(4)}
    state = FrankaState(SimpleNamespace(**{**sound, **change}))
    with pytest.raises(pdr.PandaDynamicsError, match=words):
        getattr(state, asked)


@pytest.mark.slow
def test_the_example_estimates_in_a_control_loop(fr3_server):
    """Torque control of the simulated FR3, whose torques say nothing of payloads: states come, and it ends as asked."""
    needs("pylibfranka")
    words = [sys.executable, EXAMPLE, fr3_server, "--seconds", "2.5", "--ignore-realtime"]
    lines = ran(words, timeout=300).stdout.splitlines()
    assert len(lines) <= 2  # one a second, none where the machine pauses
    assert all(line.endswith(("standing still, holding", "estimating", "filters settling")) for line in lines)
