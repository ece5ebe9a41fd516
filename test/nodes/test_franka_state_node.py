# SPDX-License-Identifier: Apache-2.0
"""Node `franka_state` on a Panda over loopback: topics, stamps, a robot that goes away, errors."""

import contextlib
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from franka_servers import HAND, LOAD, PAYLOAD, host, needs, panda, panda_states
from geometry_msgs.msg import InertiaStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from nodes.probe import Probe, values_of
from nodes.processes import Nodes
from nodes.robot_stream import ARM
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import LATCHED
from panda_dynamics_ros.nodes.runner import CANNOT_START
from panda_dynamics_ros.robot.stamps import nanoseconds

HOST = host(0)


@pytest.fixture(scope="module")
def robot(nodes, tmp_path_factory):
    """Servers to enter and to close, one of which runs, beside the node."""
    needs("panda_py")
    with contextlib.ExitStack() as servers:
        servers.enter_context(panda(HOST, tmp_path_factory.mktemp("panda")))
        nodes.start("franka_state", robot_ip=HOST, binding="panda-python")
        yield servers


def listen(probe: Probe, nodes: Nodes, kind: Any, topic: str, *qos: QoSProfile) -> list[Any]:
    return probe.listen(kind, f"{nodes.namespace}/{topic}", *qos)


def test_states_are_published_as_they_are_measured(robot, probe, nodes):
    states: list[JointState] = listen(probe, nodes, JointState, "franka/joint_states")
    external: list[JointState] = listen(probe, nodes, JointState, "franka_state/tau_ext_hat_filtered")
    poses: list[Float64MultiArray] = listen(probe, nodes, Float64MultiArray, "franka_state/o_t_ee")
    probe.until(lambda: len(states) > 500 and len(external) > 500 and poses, "500 states")
    sent = panda_states()
    rows = []
    for state in states[:300]:
        (row,) = np.flatnonzero((sent["q"] == np.array(state.position)).all(axis=1))[:1]
        np.testing.assert_array_equal(state.velocity, sent["dq"][row])
        np.testing.assert_array_equal(state.effort, sent["tau_J"][row])
        rows.append(row)
    assert (states[0].name, states[0].header.frame_id) == (list(ARM), "panda_link0")
    stamps = np.array([nanoseconds(state.header.stamp) for state in states[:300]])
    # Steps of the stamps are those of the robot's clock, but for a thousandth on the way to this machine's.
    np.testing.assert_allclose(np.diff(stamps), 1e6 * (np.diff(rows) % 20_000), rtol=2e-3)
    assert abs(1e-9 * stamps[-1] - time.time()) < 60.0
    by_stamp = {nanoseconds(each.header.stamp): each for each in external}
    both = [(state, by_stamp[stamp]) for state, stamp in zip(states, stamps, strict=False) if stamp in by_stamp]
    assert len(both) > 100
    row = rows[list(stamps).index(nanoseconds(both[0][0].header.stamp))]
    np.testing.assert_array_equal(both[0][1].effort, sent["tau_ext_hat_filtered"][row])
    assert (np.array(poses[0].data) == sent["O_T_EE"]).all(axis=1).any()


def test_what_franka_carries_is_latched(robot, probe, nodes):
    for topic, body in (("load", LOAD), ("end_effector", HAND)):
        got: list[InertiaStamped] = listen(probe, nodes, InertiaStamped, f"franka_state/{topic}", LATCHED)
        probe.until(got.copy, topic)
        np.testing.assert_allclose(conversions.body_from_message(got[0]).vector, body.vector, atol=1e-12)
        assert got[0].header.frame_id == "panda_link8"


def test_the_payload_is_found_by_the_estimator(robot, probe, nodes, tmp_path):
    """With nothing but this node and the estimator, whose robot has the hand that Franka has."""
    remap = ("-r", "joint_states:=franka/joint_states")
    nodes.start("payload_estimator", *remap, robot="panda", end_effector="hand")
    payload: list[InertiaStamped] = listen(probe, nodes, InertiaStamped, "payload_estimator/payload", LATCHED)
    probe.until(lambda: payload and payload[-1].inertia.m > 0.9 * PAYLOAD.mass, "the payload", patience=120.0)
    assert payload[-1].inertia.m == pytest.approx(PAYLOAD.mass, abs=0.25)


def test_a_robot_that_goes_away_and_comes_back(robot, probe, nodes, tmp_path):
    states: list[JointState] = listen(probe, nodes, JointState, "franka/joint_states")
    name = f"{nodes.namespace.lstrip('/')}/franka_state: robot"
    probe.until(lambda: states, "states")
    robot.close()
    said = probe.diagnostic(name, lambda values: values["problem"])
    assert said.level == DiagnosticStatus.ERROR
    assert said.message == values_of(said)["problem"]
    probe.diagnostic(name, lambda values: "refuses connections" in values["problem"])
    robot.enter_context(panda(HOST, tmp_path))
    states.clear()
    probe.until(lambda: states, "states of the new server")
    said = probe.diagnostic(name, lambda values: values["reconnections"] == "1")
    assert said.message.startswith("user_stopped: the robot is stopped by its user")


def test_a_node_that_cannot_connect_says_why(probe, tmp_path):
    needs("panda_py")
    alone = Nodes("franka_alone", tmp_path)
    alone.start("franka_state", robot_ip=host(1))
    assert alone.wait("franka_state") == CANNOT_START
    assert "the robot refuses connections" in alone.log("franka_state").splitlines()[-1]


@pytest.mark.slow
def test_live_publishes_the_same(probe, tmp_path):
    """`panda-dynamics live IP --ros --view`, from the command's own connection; Ctrl-C ends it."""
    needs("panda_py", "viser")
    command = [sys.executable, "-m", "panda_dynamics_ros.cli", "live", host(1), "--ros", "--view", "--port", "18460"]
    with panda(host(1), tmp_path), (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*command, "--binding", "panda-python"], stdout=log, stderr=log)
        try:
            topic = "/franka/joint_states"
            # On a machine where nothing is compiled yet this takes a while.
            probe.until(lambda: probe.node.count_publishers(topic), f"a publisher of {topic}", patience=240.0)
            states: list[JointState] = probe.listen(JointState, topic)
            probe.until(lambda: len(states) > 300, "states")
            assert probe.diagnostic("franka_state: robot").message.startswith("user_stopped: ")
            process.send_signal(signal.SIGINT)
            assert process.wait(120.0) == 0, (tmp_path / "log").read_text()
        finally:
            process.kill()
    sent = panda_states()
    assert (sent["q"] == np.array(states[-1].position)).all(axis=1).any()
    text = (tmp_path / "log").read_text()
    assert "live view: http://localhost:" in text
    assert "Traceback" not in text
