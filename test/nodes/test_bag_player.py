# SPDX-License-Identifier: Apache-2.0
"""Node `bag_player`: a recording comes over the topic as it was recorded, to its end."""

from dataclasses import replace

import numpy as np
import pytest
from bag_files import samples, write_bag
from motion import PAYLOAD, sinusoids, torques, write_recording
from sensor_msgs.msg import JointState

from nodes.probe import values_of
from panda_dynamics_ros.recordings import write_joint_states

START = 1.7e9


@pytest.fixture(scope="module")
def recorded():
    """1.5 s at 1 kHz."""
    return samples(1500, start=START)


@pytest.fixture(scope="module")
def bag(recorded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bag") / "recording"
    write_joint_states(folder, recorded, topic="/arm/joint_states")
    return folder


def test_a_recording_is_played_to_its_end(bag, recorded, probe, nodes):
    nodes.start("bag_player", bag=bag)
    got = probe.listen(JointState, f"{nodes.namespace}/joint_states")
    probe.until(lambda: len(got) == len(recorded), "the whole recording")
    assert nodes.wait("bag_player") == 0
    assert "the recording has been played" in nodes.log("bag_player")
    stamps = [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in got]
    np.testing.assert_allclose(stamps, [sample.stamp for sample in recorded], rtol=0.0, atol=3e-7)  # of a double
    assert [tuple(message.name) for message in got] == [sample.names for sample in recorded]
    for field in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(
            [getattr(message, field) for message in got], [getattr(sample, field) for sample in recorded]
        )


def test_the_estimate_survives_a_loop_in_simulated_time(panda, probe, fresh, tmp_path):
    """Four seconds of a payload, over and over, while the player is the clock; pauses below 1.7 s hide no loop."""
    motion = sinusoids(4.0, rate=500.0)
    tau = torques(panda, motion, PAYLOAD)
    write_recording(tmp_path / "carried", panda.joint_names, START + motion.stamp, motion.q, motion.dq, tau)
    fresh.start("payload_estimator", use_sim_time=True)
    fresh.start("bag_player", bag=tmp_path / "carried", rate=2.0, loop=True, clock=True, use_sim_time=True)
    name = f"{fresh.namespace[1:]}/payload_estimator: estimate"
    values = values_of(probe.diagnostic(name, lambda got: int(got["gaps"]) >= 3))
    assert float(values["mass_kg"]) == pytest.approx(PAYLOAD.mass, abs=0.05)  # the torques are exact
    assert (values["changes"], values["backward"]) == ("0", "0")
    assert sorted(fresh.running()) == ["bag_player", "payload_estimator"]


def test_stamps_hours_away_are_not_waited_for(probe, fresh, tmp_path):
    """One stamp two hours ahead, and a clock that was set back by two."""
    recorded = samples(300, start=START)
    away = [replace(recorded[100], stamp=START + 7200.0, recorded_ns=None)]
    back = [replace(each, stamp=each.stamp - 7200.0, recorded_ns=None) for each in recorded[200:]]
    played = [*recorded[:100], *away, *recorded[101:200], *back]
    bag = write_bag(tmp_path / "jumps", {"/joint_states": played})
    topic = f"{fresh.namespace}/jumps"
    fresh.start("bag_player", "-r", f"joint_states:={topic}", bag=bag)
    got = probe.listen(JointState, topic)
    probe.until(lambda: len(got) == len(played), "the whole recording")
    assert fresh.wait("bag_player") == 0
    assert "the recorded stamps jump by 7199.9 s" in fresh.log("bag_player")
