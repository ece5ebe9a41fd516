# SPDX-License-Identifier: Apache-2.0
"""Node `simulated_panda`: what it publishes looks like the real robot's joint states."""

from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import ARM
from panda_dynamics_ros.nodes.interface import LATCHED
from panda_dynamics_ros.nodes.runner import CANNOT_START
from panda_dynamics_ros.robot.stamps import nanoseconds

pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")

MASS, COM = 2.0, (0.02, -0.015, 0.06)
SAMPLES = 1500


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
def arm(probe, nodes):
    return Arm(probe, nodes)


@pytest.fixture(scope="module")
def states(arm):
    return arm.collect(SAMPLES)


def values(states: list[JointState], field: str) -> np.ndarray:
    """(samples, 7), by name."""
    index = [states[0].name.index(name) for name in ARM]
    return np.array([np.array(getattr(state, field))[index] for state in states])


def test_stamps_lie_on_an_exact_grid_of_one_millisecond(states):
    """Of those that have come: a machine that pauses loses some."""
    steps = np.diff([nanoseconds(state.header.stamp) for state in states])
    assert set(steps % 1_000_000) == {0}
    assert np.median(steps) == 1_000_000


def test_finger_joints_come_first_and_every_field_is_there(states):
    for state in states[:10]:
        assert list(state.name) == ["panda_finger_joint1", "panda_finger_joint2", *ARM]
        assert len(state.position) == len(state.velocity) == len(state.effort) == 9
        assert state.header.frame_id == "panda_link0"


def test_pick_and_release(arm, panda):
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

    # A weight of 2 kg, up to .8 m away from the joints that feel it; friction and motion change by up to 2 N m.
    change = values(carrying, "effort") - panda.gravity_torques(values(carrying, "position"))
    before = values(arm_alone, "effort") - panda.gravity_torques(values(arm_alone, "position"))
    assert np.abs(change.mean(axis=0) - before.mean(axis=0)).max() > 3.0

    assert arm.call("release").success
    arm.collect(10)
    assert arm.truth[-1].inertia.m == 0.0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("payload_com_m", [0.0, 0.0], "expected shape (3,), got (2,)"),
        ("pick_at_s", 30.0, "expected less than release_at_s and cycle_s, got 30"),
    ],
)
def test_a_wrong_parameter_is_named(fresh, name, value, words):
    fresh.start("simulated_panda", **{name: value})
    assert fresh.wait("simulated_panda") == CANNOT_START
    assert fresh.log("simulated_panda").splitlines()[-1] == f"error: {name}: {words}"
