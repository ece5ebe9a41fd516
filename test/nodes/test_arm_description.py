# SPDX-License-Identifier: Apache-2.0
"""The arm of `robot_description`, its mounting, and gravity that comes by a topic, in real nodes."""

import re

import numpy as np
import pytest
import urdf_texts
import yaml
from geometry_msgs.msg import InertiaStamped, PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import panda_dynamics_ros as pdr
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script, feed, greet
from panda_dynamics_ros.nodes.interface import LATCHED
from panda_dynamics_ros.nodes.runner import CANNOT_START

# Both sides evaluate the same kernel on the same doubles.
EXACT = 1e-12
CEILING = (np.pi, 0.0, 0.0)
DESCRIPTION = re.sub('"link(.)"', r'"arm_link\1"', urdf_texts.panda().replace("to_link", "panda_joint"))


@pytest.fixture
def arm():
    with pytest.warns(Warning):  # the fingers are locked
        return pdr.load_robot(DESCRIPTION)


@pytest.fixture
def script(panda):
    return Script(panda, 0.01)


def torques_of(probe: Probe, nodes: Nodes, script: Script) -> np.ndarray:
    """Gravity torques that the node publishes for the first sample of the script."""
    heard = probe.listen(JointState, f"{nodes.namespace}/panda_dynamics/gravity_torques")
    publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    greet(probe, publisher, script.message(0), lambda: heard)
    return np.array(heard[-1].effort)


def test_nodes_wait_for_the_topic_and_take_its_arm(probe, fresh, script, arm):
    fresh.start("suite", robot="robot_description", mounting=list(CEILING))
    topic = f"{fresh.namespace}/robot_description"
    waiting = f"waiting for the URDF on {topic}: start robot_state_publisher"
    probe.until(lambda: waiting in fresh.log("suite"), "the node to say what it waits for", patience=120.0)
    description = probe.publisher(String, topic, qos=LATCHED)
    description.publish(String(data=DESCRIPTION))
    found = torques_of(probe, fresh, script)
    np.testing.assert_allclose(found, arm.mounted(CEILING).gravity_torques(script.motion.q[0]), atol=EXACT)
    poses = probe.listen(PoseStamped, f"{fresh.namespace}/panda_dynamics/current_pose")
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    greet(probe, publisher, script.message(1), lambda: poses)
    assert poses[-1].header.frame_id == arm.base_link == "arm_link0"
    probe.node.destroy_publisher(description)


def test_the_parameter_goes_before_the_topic(probe, fresh, script, arm, tmp_path):
    """As a launch file passes it, with xacro's output; payloads are in the frame of the tip."""
    parameters = {"robot": "robot_description", "robot_description": DESCRIPTION, "gravity": [0.0, 1.0, -9.7]}
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    fresh.start("suite", "--params-file", str(file))
    found = torques_of(probe, fresh, script)
    wanted = arm.mounted(gravity=(0.0, 1.0, -9.7)).gravity_torques(script.motion.q[0])
    np.testing.assert_allclose(found, wanted, atol=EXACT)
    payloads = probe.listen(InertiaStamped, f"{fresh.namespace}/payload_estimator/payload", LATCHED)
    probe.until(lambda: payloads, "a payload")
    assert payloads[-1].header.frame_id == arm.flange_link == "arm_link8"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot": "panda", "stale_timeout_s": 0.2, "gravity": [0.0]}, ""),  # as of the other node
        ({"end_effector": "hand"}, "end_effector of payload_estimator: expected 'none' as of panda_dynamics"),
        ({"qos_overrides./NAMESPACE/joint_states.subscription.depth": 5}, "expected 1000 as of panda_dynamics"),
    ],
)
def test_in_one_process_both_nodes_have_one_arm_and_one_input(parameters, words, probe, fresh, tmp_path):
    """A parameter of the input that only the estimator was given has no effect: it would count the hand as payload."""
    given = {name.replace("/NAMESPACE", fresh.namespace): value for name, value in parameters.items()}
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({"/**/payload_estimator": {"ros__parameters": given}}))
    fresh.start("suite", "--params-file", str(file))
    if words:
        assert fresh.wait("suite") == CANNOT_START
        assert words in fresh.log("suite").splitlines()[-1]
    else:
        probe.until(lambda: "payload_estimator]: ready" in fresh.log("suite"), "the node to start")


def test_efforts_without_gravity_leave_nothing_external(probe, fresh, panda):
    """A driver that subtracts gravity: with the parameter, the torques of the unloaded arm are explained."""
    fresh.start("dynamics", effort="without_gravity")
    script = Script(panda, 0.3)
    heard = probe.listen(JointState, f"{fresh.namespace}/panda_dynamics/external_torques")
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    gravity = panda.gravity_torques(script.motion.q)
    first = script.message(0)
    script.tau -= gravity
    greet(probe, publisher, first, lambda: heard)
    heard.clear()
    messages = [script.message(k) for k in range(len(script))]
    feed(probe, publisher, messages, lambda last: heard and heard[-1].header.stamp == last.header.stamp)
    # Filters of 10 Hz on exact torques; gravity itself is up to 40 N m.
    assert np.abs([message.effort for message in heard][50:]).max() < 1.0
