# SPDX-License-Identifier: Apache-2.0
"""The load in Franka's own model: of a model that is known, and of a real FR3's recordings."""

import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import public_log
from motion import PAYLOAD, sinusoids, torques

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation.believed_load import MODEL_OFFSET, believed_load
from panda_dynamics_ros.reporting.summary import franka_loads, stale_loads, summary_of

CARRIED = pdr.InertialParameters(2.0, PAYLOAD.com, PAYLOAD.inertia)


def test_the_load_of_a_known_model_is_found(panda, rng):
    """Franka's model differs in offsets, tau_ext is noisy and low-passed by nothing: the carried 2 kg do not matter."""
    motion = sinusoids(6.0)
    tau = torques(panda, motion, CARRIED)
    offsets = MODEL_OFFSET * rng.normal(size=7)
    model = panda.with_payload(PAYLOAD).inverse_dynamics(motion.q, motion.dq, motion.ddq) + offsets
    tau_ext = tau - model + 0.1 * rng.normal(size=tau.shape)
    tau_ext[1000:1100] = np.nan  # not known for a while
    load = believed_load(panda, motion.stamp, motion.q, motion.dq, tau, tau_ext)
    assert load is not None
    assert abs(load.mass - PAYLOAD.mass) < 1.96 * load.mass_std < 0.05
    assert (np.abs(load.com - PAYLOAD.com) < 4.0 * load.com_std).all()
    assert load.com_std.max() < 0.01


def test_nothing_is_said_of_a_moment(panda):
    motion = sinusoids(0.5)
    tau = torques(panda, motion)
    assert believed_load(panda, motion.stamp, motion.q, motion.dq, tau, tau) is None
    assert believed_load(panda, motion.stamp, motion.q, motion.dq, tau, np.full_like(tau, np.nan)) is None


@pytest.mark.parametrize("part", ["a", "b"])
def test_a_real_fr3_has_its_hand_in_its_model(part):
    """Franka's hand weighs 0.73 kg at (-0.01, 0, 0.03) m in Desk; the recordings' source documents no load."""
    data = pdr.load_dataset(public_log(f"fr3_hand_teleop/teleop_1khz_{part}.csv"), "fr3")
    robot = pdr.load_robot("fr3")
    (load,) = franka_loads(data, robot, pdr.replay(data, robot))
    assert load["mass"] == pytest.approx(0.73, abs=0.03)
    np.testing.assert_allclose(load["com"], (-0.01, 0.0, 0.03), atol=0.01)
    assert not load["stale"]


def test_a_forgotten_set_load_is_named(panda):
    """Franka has 1 kg all the time, and 2 kg are carried."""
    motion = sinusoids(8.0)
    tau = torques(panda, motion, CARRIED)
    model = panda.with_payload(PAYLOAD).inverse_dynamics(motion.q, motion.dq, motion.ddq)
    data = pdr.JointDataset(motion.stamp, motion.q, motion.dq, tau, panda.joint_names, "here", tau_ext=tau - model)
    result = pdr.replay(data, panda)
    loads = franka_loads(data, panda, result)
    (sentence,) = stale_loads(loads, 0.0)
    assert re.search(r"Franka has a load of 1.00 kg, but the torques show (1.9|2.0)", sentence)
    assert "setLoad" in sentence
    entry = summary_of(data, result, loads=loads)["franka_load"]
    assert (entry["stale"], round(entry["mass"], 2)) == (True, 1.0)
    doubted = replace(result, problem="check robot")  # of an arm that is not ours
    assert not franka_loads(data, panda, doubted)[0]["stale"]
    for nothing in (None, np.zeros_like(tau)):  # zeros come from simulators
        without = replace(data, tau_ext=nothing)
        assert franka_loads(without, panda, pdr.replay(without, panda)) == []
