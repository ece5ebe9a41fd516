# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation against the nodes: each mistake of docs/troubleshooting.md is made here, and the words
that it quotes are those that a user sees; docs/topics.md names every topic and service with its type, and no
other; parameters describe themselves, as docs/parameters.md shows, and take effect."""

import contextlib
import importlib.util
import itertools
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bag_files import samples
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from motion import sinusoids, torques
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.node import NodeNameNonExistentError
from rclpy.parameter import Parameter
from rclpy.qos import ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from waiting import PATIENCE, ran

from nodes.probe import Probe
from nodes.processes import PATH
from nodes.robot_stream import ARM, PayloadStream, Script, joint_state, nanoseconds_of
from panda_dynamics_ros import load_robot
from panda_dynamics_ros.nodes import franka_load
from panda_dynamics_ros.nodes.dynamics import DynamicsNode
from panda_dynamics_ros.nodes.franka_state import FrankaStateNode
from panda_dynamics_ros.nodes.runner import CANNOT_START
from panda_dynamics_ros.recordings import write_joint_states
from panda_dynamics_ros.robot.joint_mapping import ArmJoints
from panda_dynamics_ros.untrusted import python_command

ROOT = Path(__file__).resolve().parents[2]
PAGE, TOPICS = ROOT / "docs" / "troubleshooting.md", ROOT / "docs" / "topics.md"
REST = np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])


def quotes() -> dict[int, list[str]]:
    """Quoted lines by the number of their section."""
    sections = re.split(r"^## (\d+)\. .*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        int(number): [line[3:-1] for line in text.splitlines() if line.startswith("> `")]
        for number, text in zip(sections[1::2], sections[2::2], strict=True)
    }


def sample(milliseconds: int, names: Sequence[str] = ARM, effort: float = 1.0, position: float = -0.1) -> JointState:
    """Of joints with these names and positions, rad, and efforts of this value, N m; none where it is nan."""
    message = joint_state(milliseconds * 1_000_000, REST, np.zeros(7), np.ones(7))
    message.name = list(names)
    message.position, message.velocity = [position] * len(names), [0.5] * len(names)
    message.effort = [] if np.isnan(effort) else [effort] * len(names)
    return message


def said_of(node: DynamicsNode, messages: Sequence[JointState]) -> str:
    for message in messages:
        node.samples._on_message(serialize_message(message))
    return str(node.samples.diagnostic().message)


def arm(prefix: str) -> list[str]:
    return [f"{prefix}_joint{j}" for j in range(1, 8)]


def without_stamp(message: JointState) -> JointState:
    message.header.stamp = Time()
    return message


STREAMS: dict[int, list[list[JointState]]] = {
    1: [[]],
    2: [[sample(round(k * 100.0 / 3.0)) for k in range(30)]],
    3: [[sample(0, effort=np.nan)], [sample(0, effort=0.0)]],
    4: [[sample(0, ["pan", "lift"])], [sample(k, arm("fr3")) for k in range(101)], [sample(0, position=-135.0)]],
    5: [[sample(0, [*arm("left_panda"), *arm("right_panda")])]],
    6: [[sample(k) for k in (*range(50), *range(55, 60))]],
    7: [[sample(k) for k in (*range(50), 47)]],
    12: [[without_stamp(sample(k)) for k in range(30)]],
}


@pytest.mark.parametrize(("number", "k"), [(number, k) for number, cases in STREAMS.items() for k in range(len(cases))])
def test_what_the_diagnostics_say_of_the_input(number, k, dynamics):
    assert said_of(dynamics, STREAMS[number][k]) == quotes()[number][k]


def test_joint_states_in_degrees_are_not_answered(dynamics, monkeypatch):
    answered: list[Any] = []
    monkeypatch.setattr(dynamics._gravity, "publish", lambda *answer: answered.append(answer))
    said_of(dynamics, [sample(0), sample(1, position=-135.0)])
    assert len(answered) == 1


def test_a_gap_afterwards_does_not_hide_why_samples_were_left_out(dynamics):
    messages = [*map(sample, range(50)), sample(50, effort=np.nan), *map(sample, range(200, 250))]
    assert said_of(dynamics, messages) == quotes()[3][0]


def test_a_rate_that_is_not_known_is_not_0_hz(dynamics):
    """Of a slow stream, in the first diagnostics."""
    assert said_of(dynamics, [sample(33 * k) for k in range(4)]) == "the rate is not known yet"
    assert dynamics.samples.diagnostic().level == DiagnosticStatus.WARN


@pytest.mark.parametrize("stopped", [0, 50])
def test_stamps_that_do_not_change_are_an_error(stopped, dynamics):
    """From the first, or from one on; and none once they change again."""
    said = said_of(dynamics, [sample(min(k, stopped)) for k in range(100)])
    assert said.startswith("stamps do not change (1700000000.0")
    assert dynamics.samples.diagnostic().level == DiagnosticStatus.ERROR
    assert "do not change" not in said_of(dynamics, [sample(k) for k in range(101, 200)])


FINGERS = ["panda_finger_joint1", "panda_finger_joint2"]


def test_messages_of_a_gripper_alone_are_no_samples(dynamics):
    """They come on the same topic, from its own broadcaster; without the arm's they are what is wrong."""
    before = [sample(k, FINGERS) for k in range(3)]
    assert said_of(dynamics, before).startswith("samples left out: names: expected panda_joint1 .. panda_joint7")
    stream = [each for k in range(101) for each in (sample(k), *([sample(k, FINGERS)] if k % 30 == 0 else []))]
    assert said_of(dynamics, stream) == "1000 Hz"
    assert dynamics.samples.monitor.rejected.total() == 3
    dynamics.set_parameters([Parameter("stale_timeout_s", value=0.001)])
    dynamics.samples._last_arrival -= 1.0
    said = said_of(dynamics, [sample(k, FINGERS) for k in range(3)])  # which do not hide that the arm is silent
    assert re.fullmatch(r"no joint states for \d+\.\d s; names: expected .*, got panda_finger_joint1, .*", said)


@pytest.mark.parametrize("arm_prefix", ["", "left"])
def test_another_arms_messages_in_turn(arm_prefix, dynamics):
    """With a prefix they are no samples. Without, the first arm is used, and the doubt stays."""
    dynamics.samples._joints = ArmJoints(ARM, arm_prefix)
    if arm_prefix:  # also before the arm's own
        said = said_of(dynamics, [sample(k, arm("right_panda")) for k in range(50)])
        assert re.fullmatch(r"no joint states on .* yet; names: expected .* 'left', got right_panda_joint1, .*", said)
        assert dynamics.samples.diagnostic().level == DiagnosticStatus.STALE
    both = [sample(k, arm(f"{side}_panda")) for k in range(101) for side in ("left", "right")]
    said = "1000 Hz" if arm_prefix else quotes()[5][0]
    assert said_of(dynamics, both) == said == said_of(dynamics, both[-2:] if not arm_prefix else [])
    assert dynamics.samples.monitor.rejected.total() == (0 if arm_prefix else 102)
    assert dynamics.samples.joint_names == tuple(arm("left_panda"))


def test_losses_where_two_publish_are_put_down_to_them(probe, dynamics):
    topic = dynamics.resolve_topic_name("joint_states")
    for _ in range(2):
        probe.publisher(JointState, topic)
    probe.until(lambda: dynamics.count_publishers(topic) == 2, "both publishers")
    assert said_of(dynamics, STREAMS[6][0]).endswith(": do 2 publishers send the same joints?")


def test_diagnostics_come_without_a_clock(probe, nodes):
    nodes.start("dynamics", use_sim_time=True)
    assert "yet" in probe.diagnostic(f"{nodes.namespace[1:]}/panda_dynamics: input").message


def test_the_status_of_an_arm_that_stands_still(estimator, panda):
    motion = sinusoids(2.0, rate=100.0)
    motion.q[:] = REST
    motion.dq[:] = motion.ddq[:] = 0.0
    for k, tau in enumerate(torques(panda, motion)):
        estimator.samples._on_message(serialize_message(joint_state(k * 10_000_000, REST, np.zeros(7), tau)))
    (quote,) = quotes()[8]
    assert estimator._diagnostic().message.startswith(quote)


def test_a_matrix_the_wrong_way_round_ends_the_node(nodes):
    T = np.eye(4)
    T[2, 3] = 0.1034
    nodes.start("payload_estimator", F_T_EE=T.ravel().tolist())
    assert nodes.wait("payload_estimator") == CANNOT_START
    assert [nodes.log("payload_estimator").splitlines()[-1]] == quotes()[9]


def test_a_parameter_that_does_not_change(dynamics, nodes):
    refused, unknown = quotes()[10]
    assert dynamics.set_parameters([Parameter("robot", value="fr3")])[0].reason == refused
    nodes.start("payload_estimator", robot="franka")
    assert nodes.wait("payload_estimator") == CANNOT_START
    assert nodes.log("payload_estimator").splitlines()[-1] == unknown


def test_a_load_that_is_not_taken_over(estimator, monkeypatch):
    """Which of the two is said depends on whether franka_msgs is installed."""
    missing, nobody = quotes()[11]
    monkeypatch.setattr(franka_load, "unfit_for_load", lambda *_, **__: "")
    done, words = estimator._load._on_apply(Trigger.Request())
    assert not done
    if importlib.util.find_spec("franka_msgs"):
        assert words == nobody
    else:
        assert words.startswith(f"{missing} {{")
        source = Path(franka_load.__file__).read_text()
        assert nobody.replace("service_server/set_load", "{self._service}") in source


def test_there_are_twelve():
    assert list(quotes()) == list(range(1, 13))
    assert all(quotes().values())
    assert {number: len(quotes()[number]) for number in STREAMS} == {n: len(cases) for n, cases in STREAMS.items()}


# What rclpy gives to every node.
ROS_OWN = re.compile(
    r"/rosout|/parameter_events|/clock|.*_parameters(_atomically)?|.*/get_parameter_types|.*/get_type_description"
)


def type_name(kind: Any) -> str:
    """geometry_msgs.msg._pose_stamped.PoseStamped -> geometry_msgs/PoseStamped."""
    return f"{kind.__module__.partition('.')[0]}/{kind.__name__}"


def interface(node: Any) -> dict[str, str]:
    """Types of a node's topics and services; of `sub `, those that it listens to."""
    found = {f"sub {each.topic_name}": type_name(each.msg_type) for each in node.subscriptions}
    found |= {each.topic_name: type_name(each.msg_type) for each in node.publishers}
    found |= {node.resolve_service_name(each.srv_name): type_name(each.srv_type) for each in node.services}
    return {
        name if name == "/diagnostics" else name.replace("sub /", "sub ").removeprefix("/"): kind
        for name, kind in found.items()
        if not ROS_OWN.fullmatch(name.removeprefix("sub "))
    }


def rows(title: str) -> dict[str, str]:
    """Types by name, of the table below a title of the page."""
    (section,) = re.findall(
        rf"^## .*{title}.*?$(.*?)^## ", TOPICS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    cells = [line.split("|")[1:3] for line in section.splitlines() if "_" in line and line.startswith("| ")]
    return {
        prefix + name: kind.strip()
        for names, kind in cells
        for prefix in ("sub " if names.startswith(" sub ") else "",)
        for name in re.findall(r"`(.+?)`", names)
    }


def test_dynamics(dynamics):
    assert rows("`dynamics`") == interface(dynamics)


def test_payload_estimator(estimator):
    """`apply_load` is a node's beside it, which waits for the robot in threads of its own."""
    assert rows("`payload_estimator`") == interface(estimator) | interface(estimator._load._helper)


def test_franka_state(probe):
    connection = SimpleNamespace(host="172.16.0.2", binding="panda-python")
    stream: Any = SimpleNamespace(connection=connection, problem="", reconnections=0)
    node = FrankaStateNode(stream, load_robot("panda").joint_names)
    found = interface(node)
    node.destroy_node()
    assert rows("`franka_state`") == found


def test_simulated_panda_and_bag_player(probe, fresh, tmp_path):
    """The player as a process of its own: it is nothing without a recording."""
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    from panda_dynamics_ros.nodes.simulated_panda import SimulatedPandaNode

    write_joint_states(tmp_path / "bag", samples(10))
    fresh.start("bag_player", bag=tmp_path / "bag", clock=True)
    published: dict[str, list[str]] = {}

    def known() -> bool:
        with contextlib.suppress(NodeNameNonExistentError):  # heard of, and not yet of what it publishes
            published.update(probe.node.get_publisher_names_and_types_by_node("bag_player", fresh.namespace))
        return "/clock" in published and f"{fresh.namespace}/joint_states" in published

    probe.until(known, "the player's topics")
    plant = SimulatedPandaNode(parameter_overrides=[Parameter("follow_trajectories", value=True)])
    found = interface(plant)
    plant.destroy_node()
    for name, (kind,) in published.items():
        if name == "/clock" or not ROS_OWN.fullmatch(name):
            found[name.removeprefix(f"{fresh.namespace}/")] = kind.replace("/msg/", "/")
    assert rows("`simulated_panda` and `bag_player`") == found


PARAMETERS = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8").splitlines()
CHANGEABLE = {"publish_period_s", "stale_timeout_s", "enabled"}
NEVER = {"pick_at_s", "release_at_s"}  # where negative


def test_the_page_is_what_the_nodes_declare():
    """In a process of its own: the nodes' names and parameters are those of a user."""
    pytest.importorskip("mujoco", reason="the simulated Panda declares its parameters only with MuJoCo")
    done = ran([sys.executable, ROOT / "docs" / "parameters_page.py"], env={**os.environ, "PYTHONPATH": PATH})
    assert done.stdout.splitlines() == PARAMETERS, "write it anew: python docs/parameters_page.py > docs/parameters.md"


@pytest.mark.parametrize("name", ["bag_player", "payload_estimator"])
def test_help_has_the_parameters_of_the_page(name):
    """Of the executable; also where a parameter has to be given."""
    done = ran(python_command("panda_dynamics_ros.nodes.start", name, "--help"), timeout=PATIENCE)
    assert done.stderr == ""
    page = "\n".join(PARAMETERS).partition(f"## {name}, ")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` .* \| (.+) \|$", re.sub(r"\\(?=[|<~])", "", page), re.M)
    assert len(rows) >= 6
    assert re.findall(r"^  (\w+):=.+\n      (.+)$", done.stdout, re.M) == rows


def test_every_parameter_describes_itself():
    """Descriptions, ranges, units of physical quantities; what cannot change is read-only."""
    rows = [line.strip("| ").split(" | ") for line in PARAMETERS if line.startswith("| `")]
    assert len(rows) > 60
    for quoted, kind, _, limits, unit, changes, description in rows:
        name = quoted.strip("`")
        assert description.endswith("."), name
        assert (changes == "at run time") == (name in CHANGEABLE), name
        assert limits or kind not in ("double", "integer") or name in NEVER, name
        assert unit or kind != "double", name


def test_the_period_changes_at_run_time(probe, fresh, panda):
    script, stream = Script(panda, 0.8), PayloadStream(probe, fresh)
    stream.greet(script)
    period = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=0.03)
    request = SetParameters.Request(parameters=[ParameterMessage(name="publish_period_s", value=period)])
    (result,) = probe.call(SetParameters, f"{stream.node}/set_parameters", request).results
    assert result.successful
    stream.payloads.clear()
    stream.fresh = 41_000_000
    stream.feed(script, 0, len(script))
    stamps = [nanoseconds_of(payload.header.stamp) for payload in stream.payloads]
    steps = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    assert len(steps) >= 10
    # The next update after 30 ms; they are 10 ms apart, or 11 where the doubles of two stamps are a little closer.
    assert all(30_000_000 <= step <= 41_000_000 for step in steps), steps


def test_qos_overrides_take_effect(probe, fresh):
    """As `--ros-args -p qos_overrides...`, also of covariance and markers."""
    node = f"{fresh.namespace}/payload_estimator"
    topics = [f"{node}/payload", f"{node}/payload_covariance", f"{node}/payload_markers", "/diagnostics"]
    overrides = {f"qos_overrides.{topic}.publisher.reliability": "best_effort" for topic in topics}
    heard = f"{fresh.namespace}/joint_states"
    fresh.start("payload_estimator", **overrides, **{f"qos_overrides.{heard}.subscription.reliability": "reliable"})
    for topic in topics:
        probe.until(lambda topic=topic: offered(probe, topic, node), f"a publisher of {topic}")
        assert offered(probe, topic, node) == {ReliabilityPolicy.BEST_EFFORT}
    (subscription,) = probe.node.get_subscriptions_info_by_topic(heard)
    assert subscription.qos_profile.reliability == ReliabilityPolicy.RELIABLE


def offered(probe: Probe, topic: str, node: str) -> set[ReliabilityPolicy]:
    """The reliability that a node offers on a topic."""
    return {
        info.qos_profile.reliability
        for info in probe.node.get_publishers_info_by_topic(topic)
        if f"{info.node_namespace}/{info.node_name}" == node
    }
