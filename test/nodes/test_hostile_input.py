# SPDX-License-Identifier: Apache-2.0
"""Messages, parameters and files that are made to harm, or just absurd: a node stays alive and names them."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from motion import PAYLOAD
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

import panda_dynamics_ros
from nodes.payload_stream import LATCHED
from nodes.probe import values_of
from nodes.robot_stream import Script, feed, greet, joint_state
from panda_dynamics_ros.nodes import conversions

ABSURD = {"inertia": 1e308, "mass": 1e308, "CoM": 1e200}


def absurd(name: str) -> InertiaStamped:
    message = conversions.inertia_message(Time(), "panda_link8", PAYLOAD)
    if name == "inertia":
        message.inertia.ixx = ABSURD[name]
    elif name == "mass":
        message.inertia.m = ABSURD[name]
    else:
        message.inertia.com.x = ABSURD[name]
    return message


def test_absurd_payloads_are_refused_and_named(probe, fresh, panda):
    """And do no harm to the torques."""
    fresh.start("dynamics")
    payloads = probe.publisher(InertiaStamped, f"{fresh.namespace}/payload_estimator/payload", qos=LATCHED)
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    external = probe.listen(JointState, f"{fresh.namespace}/panda_dynamics/external_torques")
    script = Script(panda, 0.5)
    greet(probe, publisher, script.message(0), lambda: external)
    for name in ABSURD:
        payloads.publish(absurd(name))
        contact = f"{fresh.namespace[1:]}/panda_dynamics: contact"
        values = values_of(probe.diagnostic(contact, lambda got: "expected at most 100" in got["payload_problem"]))
        assert values["payload_kg"] == "0.000"
    messages = [script.message(k) for k in range(300)]
    feed(probe, publisher, messages, lambda sample: external[-1].header.stamp == sample.header.stamp)
    assert np.isfinite([message.effort for message in external]).all()
    assert np.abs(external[-1].effort).max() < 0.5


def test_long_names_are_cut_short_and_escaped(probe, fresh):
    """In log and diagnostics; and a problem does not stay for good."""
    fresh.start("payload_estimator")
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    zero = np.zeros(7)
    message = joint_state(0, zero, zero, zero, ["\x1b[2J" + "x" * 3000 + f"_{k}" for k in range(7)])
    timer = probe.node.create_timer(0.1, lambda: publisher.publish(message))
    name = f"{fresh.namespace[1:]}/payload_estimator: input"
    status = probe.diagnostic(name, lambda got: got["rejected"] != "0")
    probe.node.destroy_timer(timer)
    assert "\x1b" not in status.message + fresh.log("payload_estimator")
    assert len(status.message) < 500
    assert len(values_of(status)["latest_problem"]) < 400
    assert max(len(line) for line in fresh.log("payload_estimator").splitlines()) < 600


def test_a_negative_clock_ends_no_node(probe, fresh):
    fresh.start("suite", use_sim_time=True)
    publisher = probe.publisher(JointState, f"{fresh.namespace}/joint_states")
    clock = probe.publisher(Clock, "/clock", subscribers=2)
    message = joint_state(0, np.full(7, 0.1), np.zeros(7), np.ones(7))
    seconds = itertools.chain(itertools.repeat(-5, 20), itertools.count(5))

    def tick() -> None:
        clock.publish(Clock(clock=Time(sec=next(seconds))))
        publisher.publish(message)

    timer = probe.node.create_timer(0.05, tick)
    probe.until(lambda: "ignored on /clock: " in fresh.log("suite"), "a line about the clock")
    probe.diagnostic(f"{fresh.namespace[1:]}/panda_dynamics: input", lambda got: got["received"] != "0")
    probe.node.destroy_timer(timer)


def test_settings_of_dds_in_the_working_folder_are_not_read(tmp_path):
    """Whoever opens these waits for a writer forever."""
    for name in ("FASTDDS", "FASTRTPS"):
        os.mkfifo(tmp_path / f"DEFAULT_{name}_PROFILES.xml")
    program = "import panda_dynamics_ros.nodes, rclpy; rclpy.init(); rclpy.create_node('here'); print('ready')"
    environment = os.environ | {"PYTHONPATH": str(Path(panda_dynamics_ros.__file__).parents[1])}
    environment.pop("SKIP_DEFAULT_XML_FILE", None)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "ready\n", done.stderr
