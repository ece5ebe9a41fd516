# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md: the words that it quotes are those that a user sees. Each mistake is made here."""

import importlib.util
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from motion import sinusoids, torques
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

import panda_dynamics_ros as pdr
from nodes.robot_stream import ARM, joint_state
from panda_dynamics_ros.nodes.dynamics import DynamicsNode
from panda_dynamics_ros.nodes.runner import CANNOT_START

PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
REST = np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])


def quotes() -> dict[int, list[str]]:
    """Quoted lines by the number of their section."""
    sections = re.split(r"^## (\d+)\. .*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        int(number): [line[3:-1] for line in text.splitlines() if line.startswith("> `")]
        for number, text in zip(sections[1::2], sections[2::2], strict=True)
    }


def sample(milliseconds: int, names: Sequence[str] = ARM, effort: bool = True) -> JointState:
    message = joint_state(milliseconds * 1_000_000, REST, np.zeros(7), np.ones(7))
    message.name = list(names)
    if len(names) != len(ARM):
        message.position = message.velocity = message.effort = [0.5] * len(names)
    if not effort:
        message.effort = []
    return message


def said_of(node: DynamicsNode, messages: Sequence[JointState]) -> str:
    for message in messages:
        node.samples._on_message(serialize_message(message))
    return str(node.samples.diagnostic().message)


def arm(prefix: str) -> list[str]:
    return [f"{prefix}_joint{j}" for j in range(1, 8)]


def two_arms() -> list[str]:
    return [*arm("left_panda"), *arm("right_panda")]


def zero_effort() -> JointState:
    message = sample(0)
    message.effort = [0.0] * 7
    return message


STREAMS: dict[int, list[Callable[[], list[JointState]]]] = {
    1: [list],
    2: [lambda: [sample(round(k * 100.0 / 3.0)) for k in range(30)]],
    3: [lambda: [sample(0, effort=False)], lambda: [zero_effort()]],
    4: [lambda: [sample(0, ["shoulder_pan", "shoulder_lift"])], lambda: [sample(k, arm("fr3")) for k in range(101)]],
    5: [lambda: [sample(0, two_arms())]],
    6: [lambda: [sample(k) for k in (*range(50), *range(55, 60))]],
    7: [lambda: [sample(k) for k in (*range(50), 47)]],
}


@pytest.mark.parametrize(("number", "k"), [(number, k) for number, cases in STREAMS.items() for k in range(len(cases))])
def test_what_the_diagnostics_say_of_the_input(number, k, dynamics):
    assert said_of(dynamics, STREAMS[number][k]()) == quotes()[number][k]


def test_losses_where_two_publish_are_put_down_to_them(probe, dynamics):
    topic = dynamics.resolve_topic_name("joint_states")
    for _ in range(2):
        probe.publisher(JointState, topic)
    probe.until(lambda: dynamics.count_publishers(topic) == 2, "both publishers")
    assert said_of(dynamics, STREAMS[6][0]()).endswith(": do 2 publishers send the same joints?")


def test_the_log_of_a_node_without_a_clock(probe, nodes):
    nodes.start("dynamics", use_sim_time=True)
    publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    (quote,) = quotes()[8]

    def said(words: str) -> bool:
        publisher.publish(sample(0))
        return words in nodes.log("dynamics")

    probe.until(lambda: said("listening to joints"), "the first sample")
    assert quote not in nodes.log("dynamics"), "a clock may begin at zero, or come a little later"
    probe.until(lambda: said(quote), quote)


def test_the_status_of_an_arm_that_stands_still(estimator, panda):
    motion = sinusoids(2.0)
    motion.q[:] = REST
    motion.dq[:] = motion.ddq[:] = 0.0
    for k, tau in enumerate(torques(panda, motion)):
        estimator.samples._on_message(serialize_message(joint_state(k * 1_000_000, REST, np.zeros(7), tau)))
    (quote,) = quotes()[9]
    assert estimator._diagnostic().message.startswith(quote)


def test_a_matrix_the_wrong_way_round_ends_the_node(nodes):
    T = np.eye(4)
    T[2, 3] = 0.1034
    nodes.start("payload_estimator", F_T_EE=T.ravel().tolist())
    assert nodes.wait("payload_estimator") == CANNOT_START
    assert [nodes.log("payload_estimator").splitlines()[-1]] == quotes()[10]


def test_a_parameter_that_does_not_change(dynamics):
    refused, unknown = quotes()[11]
    assert dynamics.set_parameters([Parameter("robot", value="fr3")])[0].reason == refused
    with pytest.raises(pdr.PandaDynamicsError) as caught:
        pdr.load_robot("franka")
    assert str(caught.value) == unknown


def test_a_load_that_is_not_taken_over(estimator):
    """Which of the two is said depends on whether franka_msgs is installed."""
    missing, nobody = quotes()[12]
    done, words = estimator._load.apply(estimator._estimator.estimate)
    assert not done
    if importlib.util.find_spec("franka_msgs"):
        assert words == nobody
    else:
        assert words.startswith(f"{missing} {{")
        source = Path(importlib.import_module("panda_dynamics_ros.nodes.franka_load").__file__ or "").read_text()
        assert nobody.replace("service_server/set_load", "{self._service}") in source


def test_there_are_twelve():
    assert list(quotes()) == list(range(1, 13))
    assert all(quotes().values())
    assert {number: len(quotes()[number]) for number in STREAMS} == {n: len(cases) for n, cases in STREAMS.items()}
