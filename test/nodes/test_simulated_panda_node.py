# SPDX-License-Identifier: Apache-2.0
"""Node `simulated_panda`: what it publishes looks like the real robot's joint states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import ARM
from panda_dynamics_ros import RobotModel

pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")

MASS, COM = 2.0, (0.02, -0.015, 0.06)
SAMPLES = 1500
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Arm:
    """The node, its joint states and its truth."""

    def __init__(self, probe: Probe, nodes: Nodes) -> None:
        nodes.start("simulated_panda", payload_mass_kg=MASS, payload_com_m=list(COM), pick_at_s=-1.0, seed=3)
        self._probe, self._node = probe, f"{nodes.namespace}/simulated_panda"
        self.states: list[JointState] = probe.listen(JointState, f"{nodes.namespace}/joint_states")
        self.truth: list[InertiaStamped] = probe.listen(InertiaStamped, f"{self._node}/payload_truth", LATCHED)
        probe.until(lambda: self.truth, "the truth")

    def collect(self, count: int) -> list[JointState]:
        """The next so many samples."""
        self.states.clear()
        self._probe.until(lambda: len(self.states) >= count, f"{count} samples")
        return self.states[:count]

    def call(self, name: str) -> Any:
        return self._probe.call(Trigger, f"{self._node}/{name}")


@pytest.fixture(scope="module")
def arm(probe: Probe, nodes: Nodes) -> Arm:
    return Arm(probe, nodes)


@pytest.fixture(scope="module")
def states(arm: Arm) -> list[JointState]:
    return arm.collect(SAMPLES)


def values(states: list[JointState], field: str) -> np.ndarray:
    """(samples, 7), by name."""
    index = [states[0].name.index(name) for name in ARM]
    return np.array([np.array(getattr(state, field))[index] for state in states])


def nanoseconds(state: JointState) -> int:
    return int(state.header.stamp.sec * 10**9 + state.header.stamp.nanosec)


def test_stamps_lie_on_an_exact_grid_of_one_millisecond(states: list[JointState]) -> None:
    assert set(np.diff([nanoseconds(state) for state in states]).tolist()) == {1_000_000}


def test_finger_joints_come_first_and_every_field_is_there(states: list[JointState]) -> None:
    for state in states[:10]:
        assert list(state.name) == ["panda_finger_joint1", "panda_finger_joint2", *ARM]
        assert len(state.position) == len(state.velocity) == len(state.effort) == 9
        assert state.header.frame_id == "panda_link0"


def test_the_arm_moves_as_its_velocities_say(states: list[JointState]) -> None:
    """Noise of .004 rad/s per sample (payload-notes) averages out over the samples; the lag of dq is 5 ms."""
    q, dq = values(states, "position"), values(states, "velocity")
    assert np.abs(dq).max() > 0.05
    travelled = dq[:-1].sum(axis=0) * 1e-3
    lag = 0.005 * np.abs(dq).max(axis=0)
    np.testing.assert_array_less(np.abs(q[-1] - q[0] - travelled), 2.0 * lag + 0.002)


def test_efforts_hold_the_arm_up(states: list[JointState], panda: RobotModel) -> None:
    """Joints 2 and 4 carry more than 10 N m somewhere in each second of this motion; all else is a few."""
    gravity = panda.gravity_torques(values(states, "position"))
    difference = values(states, "effort") - gravity
    assert np.abs(gravity).max() > 10.0
    assert np.abs(difference.mean(axis=0)).max() < 5.0
    assert np.abs(difference).max() > 0.05  # and it is not the model's own gravity


def test_pick_and_release(arm: Arm, panda: RobotModel) -> None:
    arm_alone = arm.collect(200)
    assert arm.truth[-1].inertia.m == 0.0
    assert not arm.call("release").success  # nothing is carried

    picked = arm.call("pick")
    assert (picked.success, picked.message) == (True, f"carrying {MASS:.2f} kg")
    again = arm.call("pick")
    assert (again.success, again.message) == (False, f"already carrying {MASS:.2f} kg")
    carrying = arm.collect(400)[200:]
    truth = arm.truth[-1]
    assert (truth.header.frame_id, truth.inertia.m) == ("panda_link8", MASS)
    assert (truth.inertia.com.x, truth.inertia.com.y, truth.inertia.com.z) == COM

    # The torque of 2 kg on the joints that feel it, against the arm's own model in the same motion.
    def moving(states: list[JointState]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, dq, and the mean acceleration."""
        dq, first, last = values(states, "velocity"), states[0].header.stamp, states[-1].header.stamp
        duration = last.sec - first.sec + 1e-9 * (last.nanosec - first.nanosec)
        return values(states, "position"), dq, np.broadcast_to((dq[-1] - dq[0]) / duration, dq.shape)

    def unexplained(states: list[JointState]) -> np.ndarray:
        return (values(states, "effort") - panda.inverse_dynamics(*moving(states))).mean(axis=0)

    payload = panda.payload_regressor(*moving(carrying))[..., :4].mean(axis=0)
    expected = payload @ (MASS * np.array([1.0, *COM]))
    got = unexplained(carrying) - unexplained(arm_alone)
    loaded = np.abs(expected) > 3.0
    assert loaded.any()
    # Friction changes with the motion by up to 2 N m.
    np.testing.assert_array_less(0.3 * np.abs(expected[loaded]), got[loaded] * np.sign(expected[loaded]))

    assert arm.call("release").success
    arm.collect(10)
    assert arm.truth[-1].inertia.m == 0.0
