# SPDX-License-Identifier: Apache-2.0
"""A node takes the file of an identified arm: links, direction of gravity and all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from motion import sinusoids, torques
from sensor_msgs.msg import JointState

import panda_dynamics_ros as pdr
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script, greet


def identified(panda: pdr.RobotModel, path: Path) -> pdr.RobotModel:
    """What is found of an arm that leans by 20 mrad, read back from its file."""
    leaning = replace(panda, gravity=np.array([9.81 * 0.02, 0.0, -9.81]))
    motion = sinusoids(10.0, 100.0)
    data = pdr.JointDataset(
        motion.stamp, motion.q, motion.dq, torques(leaning, motion), panda.joint_names, "a leaning arm"
    )
    return pdr.load_robot(pdr.identify(data, robot=panda).save(path))


def test_gravity_torques_are_those_of_the_file(
    panda: pdr.RobotModel, probe: Probe, nodes: Nodes, tmp_path: Path
) -> None:
    arm = identified(panda, tmp_path / "my_panda.yaml")
    script = Script(panda, 0.1)
    nodes.start("dynamics", robot=tmp_path / "my_panda.yaml")
    answers = probe.listen(JointState, f"{nodes.namespace}/panda_dynamics/gravity_torques")
    publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    greet(probe, publisher, script.message(0), lambda: answers)
    q = script.motion.q[0]
    # Both sides evaluate the same kernel on the doubles of one file.
    np.testing.assert_allclose(answers[-1].effort, arm.gravity_torques(q), rtol=0.0, atol=1e-12)
    assert np.abs(arm.gravity_torques(q) - panda.gravity_torques(q)).max() > 0.01
