# SPDX-License-Identifier: Apache-2.0
"""A tool that is mounted for good is part of the arm, and no payload."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import panda_dynamics_ros as pdr
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script, greet

# Both sides evaluate the same kernel on the same doubles.
EXACT = 1e-12


def test_the_hand_is_part_of_the_arm(probe: Probe, nodes: Nodes, panda: pdr.RobotModel) -> None:
    """Its weight is in the torques, and its tool frame is the end effector."""
    nodes.start("dynamics", end_effector="hand")
    gravity = probe.listen(JointState, f"{nodes.namespace}/panda_dynamics/gravity_torques")
    o_t_ee = probe.listen(Float64MultiArray, f"{nodes.namespace}/panda_dynamics/o_t_ee")
    script, publisher = Script(panda, 0.01), probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    greet(probe, publisher, script.message(0), lambda: bool(gravity and o_t_ee))
    arm, q = pdr.load_robot("panda", end_effector="hand"), script.motion.q[0]
    np.testing.assert_allclose(gravity[-1].effort, arm.gravity_torques(q), atol=EXACT)
    assert np.abs(arm.gravity_torques(q) - panda.gravity_torques(q)).max() > 0.1, "a hand that weighs nothing"
    np.testing.assert_allclose(o_t_ee[-1].data, pdr.pose.to_column_major(arm.pose(q, "ee")), atol=EXACT)
