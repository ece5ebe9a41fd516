# SPDX-License-Identifier: Apache-2.0
"""A replay's results as a rosbag2: read back by `rosbags`, they are the arrays they were made of."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bag_files import TYPES
from motion import PAYLOAD, sinusoids, torques
from rosbags.interfaces import QosDurability
from rosbags.rosbag2 import Reader
from scipy.signal import lfilter

from panda_dynamics_ros import JointDataset, load_dataset, pose
from panda_dynamics_ros.cli import replay_bag as topics
from panda_dynamics_ros.cli.replay_bag import TOPICS, write_replay
from panda_dynamics_ros.reporting.replay import replay
from panda_dynamics_ros.robot.stamps import nanoseconds, to_seconds

START = 1_700_000_000_000_000_333  # ns, which a double cannot hold
NAMES = tuple(f"fer_joint{i + 1}" for i in range(7))
DYNAMICS = ("gravity_torques", "coriolis_torques", "external_torques")


@pytest.fixture(scope="module")
def data(panda):
    """A second and a half at 1 kHz of an arm that carries a payload."""
    motion = sinusoids(1.5)
    stamp_ns = START + np.arange(len(motion.stamp)) * 1_000_000
    stamp = np.array([to_seconds(*divmod(time, 10**9)) for time in stamp_ns.tolist()])
    tau = torques(panda, motion, PAYLOAD)
    return JointDataset(stamp, motion.q, motion.dq, tau, NAMES, "made up", recorded_ns=stamp_ns)


@pytest.fixture(scope="module")
def result(data, panda):
    return replay(data, panda)


def read(folder: Path) -> tuple[dict[str, list[Any]], dict[str, list[int]], set[str]]:
    """Messages and times by topic, and which topics are latched."""
    messages: dict[str, list[Any]] = {topic.name: [] for topic in TOPICS}
    times: dict[str, list[int]] = {topic.name: [] for topic in TOPICS}
    with Reader(folder) as reader:
        assert [(c.topic, c.msgtype) for c in reader.connections] == [(t.name, t.type) for t in TOPICS]
        offers = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}  # type: ignore[union-attr]
        for connection, time, data in reader.messages():
            messages[connection.topic].append(TYPES.deserialize_cdr(data, connection.msgtype))
            times[connection.topic].append(time)
    return messages, times, {name for name, qos in offers.items() if qos.durability == QosDurability.TRANSIENT_LOCAL}


def test_the_bag_holds_what_was_computed(data, result, tmp_path, monkeypatch, panda):
    monkeypatch.setattr(topics, "BLOCK", 400)  # three blocks and a rest
    write_replay(tmp_path / "results", data, result, panda)
    messages, times, _ = read(tmp_path / "results")
    states = messages["/joint_states"]
    np.testing.assert_array_equal([message.effort for message in states], data.tau)
    np.testing.assert_array_equal([message.velocity for message in states], data.dq)
    np.testing.assert_array_equal([message.position for message in states], data.q)
    for name in DYNAMICS:
        got = messages[f"/panda_dynamics/{name}"]
        np.testing.assert_array_equal([message.effort for message in got], getattr(result, name))
        assert {tuple(message.name) for message in got} == {NAMES}
        assert [nanoseconds(message.header.stamp) for message in got] == data.stamp_ns.tolist()
    felt = [message.wrench for message in messages["/panda_dynamics/contact_wrench"]]
    rows = [[w.force.x, w.force.z, w.torque.y] for w in felt]
    np.testing.assert_array_equal(rows, result.contact_wrench[:, [0, 2, 4]])
    np.testing.assert_array_equal(
        [pose.from_column_major(message.data) for message in messages["/panda_dynamics/o_t_ee"]], result.pose
    )
    layout = messages["/panda_dynamics/o_t_ee"][0].layout
    assert [(dim.label, dim.size, dim.stride) for dim in layout.dim] == [("column", 4, 16), ("row", 4, 4)]
    current = messages["/panda_dynamics/current_pose"][-1]
    o, p = current.pose.orientation, current.pose.position
    np.testing.assert_allclose(pose.quaternion_to_matrix([o.x, o.y, o.z, o.w]), result.pose[-1, :3, :3], atol=1e-14)
    assert [p.x, p.y, p.z] == result.pose[-1, :3, 3].tolist()
    assert current.header.frame_id == "fer_link0"
    assert times["/panda_dynamics/o_t_ee"] == data.stamp_ns.tolist()


def test_payloads_come_at_the_node_s_period(data, result, tmp_path, panda):
    """A description may name its links otherwise, and the joints have a prefix here."""
    robot = replace(panda, joint_names=tuple(name.removeprefix("fer_") for name in NAMES), flange_link="wrist")
    write_replay(tmp_path / "results", data, result, robot)
    messages, times, latched = read(tmp_path / "results")
    payloads = messages["/payload_estimator/payload"]
    assert len(payloads) == len(messages["/payload_estimator/payload_covariance"]) == len(result.published)
    assert 70 <= len(payloads) <= 76  # 1.5 s with steps of 20 ms, now and then 21 or 22
    assert [nanoseconds(message.header.stamp) for message in payloads] == times["/payload_estimator/payload"]
    assert times["/payload_estimator/payload"] == data.stamp_ns[result.published].tolist()
    last, estimate = payloads[-1], result.estimates[-1]
    i = last.inertia
    assert last.header.frame_id == "fer_wrist"
    assert [i.m, i.com.x, i.com.y, i.com.z] == [estimate.mass, *estimate.com]
    inertia = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]])
    np.testing.assert_array_equal(inertia, estimate.inertia)
    covariance = np.array(messages["/payload_estimator/payload_covariance"][-1].data).reshape(10, 10)
    np.testing.assert_array_equal(covariance, estimate.covariance)
    assert latched == {"/payload_estimator/payload"}


def test_the_bag_stands_alone(data, result, tmp_path, panda):
    """Its joint states replayed once more give the same; nothing of a stamp is lost."""
    again = load_dataset(write_replay(tmp_path / "results", data, result, panda), panda)
    np.testing.assert_array_equal(again.stamp_ns, data.stamp_ns)
    np.testing.assert_array_equal(again.tau, data.tau)
    assert again.names == NAMES
    np.testing.assert_array_equal(replay(again, panda).external_torques, result.external_torques)


def test_external_torques_are_the_payloads_until_it_is_known(data, result, panda):
    """First what the payload takes from the arm, low-passed at 10 Hz (settled to e^-16 at sample 250); then nothing.

    The filter here takes each sample as constant until the next: half a sample, 0.5 ms, of a slope of 40 N m/s.
    """
    motion = sinusoids(1.5)
    external = torques(panda, motion) - data.tau
    keep = np.exp(-2.0 * np.pi * 10.0 * 0.001)
    expected = lfilter([1.0 - keep], [1.0, -keep], external, axis=0)
    masses = np.array([estimate.mass for estimate in result.estimates])
    known = result.published[np.flatnonzero(masses > 0.5)[0]]
    assert 250 < known < 500
    np.testing.assert_allclose(result.external_torques[250:known], expected[250:known], atol=0.02)
    # The estimate is within 0.02 kg and 1 cm of the payload: 0.3 N m at this reach.
    assert np.abs(result.external_torques[known + 20 :]).max() < 0.3
    assert np.abs(expected[known:]).max() > 3.0
