# SPDX-License-Identifier: Apache-2.0
"""Node `payload_estimator`: a payload that is known is found, and published as others rely on it."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from motion import PAYLOAD
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import Marker, MarkerArray
from wrong_inputs import REFUSED, WRONG, recording

from nodes.robot_stream import SHUFFLED, PayloadStream, Script, joint_state, nanoseconds_of
from panda_dynamics_ros.nodes.interface import LATCHED

SAMPLES, MORE = 4000, 200


@pytest.fixture(scope="module")
def script(panda):
    return Script(panda, 0.001 * (SAMPLES + MORE), PAYLOAD)


@pytest.fixture(scope="module")
def stream(probe, nodes, script):
    """A node that has seen four seconds of motion."""
    stream = PayloadStream(probe, nodes)
    stream.greet(script)
    stream.payloads.clear()
    stream.feed(script, 0, SAMPLES, SHUFFLED)
    # A late answer to the greeting, which is from long before.
    stream.payloads[:] = [payload for payload in stream.payloads if nanoseconds_of(payload.header.stamp) >= 0]
    return stream


def test_the_payload_is_found(stream):
    """The torques are exact, so that what is left is the prior's pull: a few grams and millimetres."""
    assert stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.02)
    np.testing.assert_allclose(stream.body.com, PAYLOAD.com, atol=0.005)
    assert stream.body.is_physical()
    assert stream.payloads[-1].header.frame_id == "panda_link8"


def test_a_late_joiner_gets_the_last_payload(stream, probe):
    late = probe.listen(InertiaStamped, f"{stream.node}/payload", LATCHED)
    probe.until(lambda: late, "the latched payload")
    probe.spin(0.2)
    assert late == [stream.payloads[-1]]


def test_markers_are_the_payloads_in_the_flange_frame(stream, probe):
    markers = probe.listen(MarkerArray, f"{stream.node}/payload_markers")
    probe.until(lambda: markers, "markers for a new subscriber")
    by_kind = {marker.type: marker for marker in markers[-1].markers}
    assert set(by_kind) == {Marker.SPHERE, Marker.CYLINDER, Marker.TEXT_VIEW_FACING}
    assert {marker.header.frame_id for marker in markers[-1].markers} == {"panda_link8"}
    assert {marker.action for marker in markers[-1].markers} == {Marker.ADD}
    assert by_kind[Marker.TEXT_VIEW_FACING].text.startswith(f"{stream.body.mass:.2f} +/- ")
    place = by_kind[Marker.SPHERE].pose.position
    # The last estimate may be up to 20 ms younger than the last payload that was published.
    np.testing.assert_allclose([place.x, place.y, place.z], stream.body.com, atol=1e-3)


def test_arm_and_payload_are_drawn_in_one_message(stream, script, probe, nodes, panda):
    """By the other node, in the base frame, at T_base_flange of the sample of their stamp."""
    nodes.start("dynamics")
    markers = probe.listen(MarkerArray, f"{nodes.namespace}/panda_dynamics/robot_markers")

    def drawn() -> list[Marker]:
        stream.publisher.publish(script.message(SAMPLES - 1))
        return [each for each in markers[-1].markers if each.ns == "payload"] if markers else []

    probe.until(drawn, "a payload in the arm's markers")
    assert {marker.header.frame_id for marker in markers[-1].markers} == {"panda_link0"}
    assert {nanoseconds_of(marker.header.stamp) for marker in markers[-1].markers} == {script.stamp(SAMPLES - 1)}
    (ball,) = (each for each in drawn() if each.type == Marker.SPHERE and each.color.a == 1.0)
    place, T = ball.pose.position, panda.pose(script.motion.q[SAMPLES - 1], "flange")
    np.testing.assert_allclose([place.x, place.y, place.z], T[:3, :3] @ stream.body.com + T[:3, 3], atol=1e-3)


def test_offsets_have_the_stamp_of_a_sample(estimator, panda, probe):
    """To the nanosecond, which a double since 1970 does not hold."""
    offsets = probe.listen(JointState, "payload_estimator/joint_offsets", LATCHED)
    short = Script(panda, 0.5)
    messages = [short.message(k) for k in range(len(short))]
    for message in messages:
        message.header.stamp.nanosec += 101
        estimator.samples._on_message(serialize_message(message))
    probe.until(lambda: estimator.count_subscribers("payload_estimator/joint_offsets"), "the listener")
    estimator._publish_offsets()
    probe.until(lambda: offsets, "the joints' offsets")
    assert offsets[-1].header.stamp in [message.header.stamp for message in messages[-20:]]


def test_covariance_and_diagnostics(stream, script, probe):
    covariances = probe.listen(Float64MultiArray, f"{stream.node}/payload_covariance")
    stream.feed(script, SAMPLES, SAMPLES + MORE)
    probe.until(lambda: covariances, "a covariance")
    message = covariances[-1]
    assert [(dim.label, dim.size, dim.stride) for dim in message.layout.dim] == [("row", 10, 100), ("column", 10, 10)]
    covariance = np.array(message.data).reshape(10, 10)
    np.testing.assert_allclose(covariance, covariance.T, rtol=0.0, atol=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > 0.0

    offsets = probe.listen(JointState, f"{stream.node}/joint_offsets", LATCHED)
    probe.until(lambda: offsets and np.any(offsets[-1].effort), "the joints' offsets")
    assert list(offsets[-1].name) == [f"panda_joint{i}" for i in range(1, 8)]
    np.testing.assert_allclose(offsets[-1].effort, 0.0, atol=0.1)  # N m: a perfect arm

    values = stream.values("estimate", mass_kg=f"{stream.body.mass:.4f}")
    assert float(values["mass_std_kg"]) == pytest.approx(np.sqrt(covariance[0, 0]), abs=1e-3)
    assert values["identifiable"][:4] == "1111"
    assert values["status"] == "estimating"
    assert values["physically_consistent"] == "True"
    assert (values["changes"], values["last_change"]) == ("0", "")


@pytest.mark.parametrize("name", ["", "sign", "degrees"])
def test_wrong_input_is_a_warning_beside_the_mass(name, estimator, panda, capfd):
    """In the library's words, and one line of the log; the first recording is sound."""
    r, words = recording(panda, 4.0, 200.0), ""
    if name:
        change, words = (WRONG | REFUSED)[name][:2]
        r = change(r)
    for stamp, *row in zip(r.motion.stamp, r.motion.q, r.motion.dq, r.tau, strict=True):
        estimator.samples._on_message(serialize_message(joint_state(round(1e9 * stamp), *row)))
    status = [estimator._diagnostic() for _ in range(3)][-1]
    warnings = [line for line in capfd.readouterr().err.splitlines() if line.startswith("[WARN]")]
    assert [words in line for line in warnings] == [True] * bool(name)
    assert status.level == (DiagnosticStatus.WARN if name else DiagnosticStatus.OK)
    assert words in status.message
    assert (" kg; " in status.message) == bool(name)
