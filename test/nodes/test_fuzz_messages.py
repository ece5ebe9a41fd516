# SPDX-License-Identifier: Apache-2.0
"""Mutated messages, service calls and parameters: nodes go on, and give the right answer afterwards.

`make test` tries the same few of each, `make fuzz` others for minutes (FUZZ_SECONDS, FUZZ_SEED).
"""

from pathlib import Path

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from hypothesis import strategies as st
from motion import PAYLOAD
from mutations import mutations, try_examples
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import ListParameters, SetParameters
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from nodes.robot_stream import LATCHED, PayloadStream, Script
from panda_dynamics_ros.nodes import conversions

MEMORY = 1 << 30  # bytes resident, of a node


def resident(pid: int) -> int:
    """Bytes of memory that a process has in use."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


@st.composite
def parameters(draw: st.DrawFn, names: list[str]) -> Parameter:
    """A parameter of the node, or another, with a value of any type."""
    kind = draw(st.integers(0, 9))
    number = st.floats(allow_nan=True, allow_infinity=True)
    value = ParameterValue(
        type=kind,
        bool_value=draw(st.booleans()),
        integer_value=draw(st.integers(-(2**63), 2**63 - 1)),
        double_value=draw(number),
        string_value=draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)),
        double_array_value=draw(st.lists(number, max_size=20)),
    )
    return Parameter(name=draw(st.sampled_from([*names, "no_such"])), value=value)


def test_nodes_go_on_after_whatever_came(probe, fresh, panda):
    """And find the payload that is carried then."""
    stream = PayloadStream(probe, fresh)
    pid = fresh.start("dynamics").pid or 0
    script = Script(panda, 3.0, PAYLOAD)
    joint_states = probe.publisher(JointState, f"{fresh.namespace}/joint_states", subscribers=2)
    payloads = probe.publisher(InertiaStamped, f"{stream.node}/payload", qos=LATCHED)
    body = serialize_message(conversions.inertia_message(Time(sec=1), "panda_link8", PAYLOAD))
    sent = 0

    def publish_joint_state(content: bytes) -> None:
        nonlocal sent
        sent += 1
        joint_states.publish(content)
        joint_states.publish(script.message(sent % len(script)))
        probe.spin(0.005)

    def publish_payload(content: bytes) -> None:
        payloads.publish(content)
        probe.spin(0.005)

    def call(*names: str) -> None:
        for name in names:
            if name in ("on", "off"):
                probe.call(SetBool, f"{stream.node}/set_enabled", SetBool.Request(data=name == "on"))
            else:
                probe.call(Trigger, f"{stream.node}/{name}")

    names = ["on", "off", "reset", "tare", "save", "apply_load"]
    assert try_examples(mutations(serialize_message(script.message(0))), publish_joint_state) > 3
    assert try_examples(mutations(body), publish_payload) > 3
    assert try_examples(st.lists(st.sampled_from(names), max_size=10), lambda names: call(*names)) > 3
    call("on", "reset")
    stream.greet(script)
    stream.feed(script, 0, len(script))
    assert stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.02)
    assert sorted(fresh.running()) == ["dynamics", "payload_estimator"], fresh.logs()
    assert resident(pid) < MEMORY


def test_nodes_go_on_with_whatever_parameters(probe, fresh):
    """A set of them is accepted or refused, whatever their types and values."""
    for module in ("dynamics", "payload_estimator"):
        fresh.start(module)
    known = {f"{fresh.namespace}/{node}": [""] for node in ("panda_dynamics", "payload_estimator")}
    for node in known:
        known[node] += probe.call(ListParameters, f"{node}/list_parameters", again=5.0).result.names
    refused = 0

    def set_them(drawn: tuple[str, list[Parameter]]) -> None:
        nonlocal refused
        node, several = drawn
        answer = probe.call(SetParameters, f"{node}/set_parameters", SetParameters.Request(parameters=several))
        assert len(answer.results) == len(several)
        refused += sum(not result.successful for result in answer.results)

    strategy = st.sampled_from(sorted(known)).flatmap(
        lambda node: st.tuples(st.just(node), st.lists(parameters(known[node]), min_size=1, max_size=3))
    )
    assert try_examples(strategy, set_them) > 3
    assert refused > 3
    assert sorted(fresh.running()) == ["dynamics", "payload_estimator"], fresh.logs()
