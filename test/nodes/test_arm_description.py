# SPDX-License-Identifier: Apache-2.0
"""The arm of `robot_description`, its mounting, and gravity that comes by a topic, in real nodes."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

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
from nodes.robot_stream import Script, greet
from panda_dynamics_ros.nodes.interface import LATCHED
from panda_dynamics_ros.nodes.runner import CANNOT_START

# Both sides evaluate the same kernel on the same doubles.
EXACT = 1e-12
CEILING = (np.pi, 0.0, 0.0)
DESCRIPTION = re.sub('"link(.)"', r'"arm_link\1"', urdf_texts.panda().replace("to_link", "panda_joint"))


@pytest.fixture(scope="module")
def arm() -> pdr.RobotModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fingers are locked
        return pdr.load_robot(DESCRIPTION)


@pytest.fixture
def script(panda: pdr.RobotModel) -> Script:
    return Script(panda, 0.01)


def torques_of(probe: Probe, nodes: Nodes, script: Script, node: str = "panda_dynamics") -> np.ndarray:
    """Gravity torques that the node publishes for the first sample of the script."""
    heard = probe.listen(JointState, f"{nodes.namespace}/{node}/gravity_torques")
    publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    greet(probe, publisher, script.message(0), lambda: heard)
    return np.array(heard[-1].effort)


@pytest.mark.parametrize("module", ["dynamics", "suite"])
def test_a_node_waits_for_the_topic_and_takes_its_arm(
    module: str, probe: Probe, fresh: Nodes, script: Script, arm: pdr.RobotModel
) -> None:
    fresh.start(module, robot="robot_description", mounting=list(CEILING))
    topic = f"{fresh.namespace}/robot_description"
    waiting = f"waiting for the URDF on {topic}: start robot_state_publisher"
    probe.until(lambda: waiting in fresh.log(module), "the node to say what it waits for", patience=120.0)
    description = probe.publisher(String, topic, qos=LATCHED)
    description.publish(String(data=DESCRIPTION))
    found = torques_of(probe, fresh, script)
    wanted = arm.mounted(CEILING)
    np.testing.assert_allclose(found, wanted.gravity_torques(script.motion.q[0]), atol=EXACT)
    poses = probe.listen(PoseStamped, f"{fresh.namespace}/panda_dynamics/current_pose")
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    greet(probe, publisher, script.message(1), lambda: poses)
    assert poses[-1].header.frame_id == arm.base_link == "arm_link0"
    probe.node.destroy_publisher(description)


def test_the_parameter_goes_before_the_topic(
    probe: Probe, fresh: Nodes, script: Script, arm: pdr.RobotModel, tmp_path: Path
) -> None:
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
        ({"effort": "torque"}, "effort: expected one of measured, without_gravity, actuator, current, got 'torque'"),
        ({"effort": "current"}, "motor_constants: expected 7 numbers other than zero for effort current"),
        ({"mounting": [0.0, 1.0]}, "mounting: expected shape (3,), got (2,)"),
        ({"friction": "some"}, "friction: expected published or none, got 'some'"),
        ({"base": "link1"}, "base: expected none, since only a .urdf or .xml file has a chain to choose"),
        ({"robot": "arm.urdf.xacro"}, "expand it first: xacro arm.urdf.xacro > robot.urdf"),
    ],
)
def test_what_does_not_fit_is_named_at_the_start(parameters: dict[str, object], words: str, fresh: Nodes) -> None:
    fresh.start("dynamics", **parameters)
    assert fresh.wait("dynamics") == CANNOT_START
    assert words in fresh.log("dynamics").splitlines()[-1]


def test_efforts_without_gravity_leave_nothing_external(probe: Probe, fresh: Nodes, panda: pdr.RobotModel) -> None:
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
    for k in range(len(script)):
        publisher.publish(script.message(k))
        probe.spin(0.0)
    probe.until(lambda: len(heard) > 0.5 * len(script), "external torques")
    # Filters of 10 Hz on exact torques; gravity itself is up to 40 N m.
    assert np.abs([message.effort for message in heard][50:]).max() < 1.0
