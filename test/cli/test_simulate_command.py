# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics simulate`, from the file of a motion to a recording."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulated Panda needs mujoco")
pytest.importorskip("rosbags", reason="recordings are written with rosbags")

from panda_dynamics_ros import load_dataset, load_robot
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.simulation.motions import FourierMotion, at_rest, read_motion, write_motion


@pytest.fixture
def motion(rng):
    centre = np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])
    return FourierMotion(centre, *at_rest(*(0.15 * rng.normal(size=(2, 7, 4)))), 4.0)


@pytest.fixture
def file(motion, tmp_path):
    times = np.arange(0.0, 4.005, 0.01)
    return write_motion(times, motion(times), tmp_path / "motion.csv")


def test_a_motion_comes_back_from_its_file(motion, file):
    t = np.linspace(0.0, 4.0, 777)  # between the rows too
    # Nine digits are written; the acceleration multiplies their rounding by (8 pi / 4)^2.
    for written, read in zip(motion(t), read_motion(file)(t), strict=True):
        assert np.abs(written - read).max() < 1e-6


@pytest.mark.parametrize("step", [0.0, -0.01])
def test_times_that_do_not_increase_are_refused(step, motion, tmp_path):
    backward = write_motion(step * np.arange(401), motion(np.linspace(0.0, 4.0, 401)), tmp_path / "motion.csv")
    with pytest.raises(DataError, match=r"motion\.csv: expected one period .* uneven times"):
        read_motion(backward)


def test_the_arm_follows_the_motion_and_another_take_has_other_noise(motion, file, tmp_path, answer):
    takes = []
    for take in (1, 2, 1):
        words = ["simulate", file, "--repeat", 1, "--take", take, "--output", tmp_path / "bag", "--overwrite"]
        assert answer(*words)["samples"] == 5000
        takes.append(load_dataset(tmp_path / "bag"))
    first, other, again = takes
    # At rest for a second; the controller follows within 3 mrad, the encoders are off by as much.
    assert np.abs(first.q[1000:] - motion(first.stamp[1000:] - 1.0)[0]).max() < 0.02
    assert np.array_equal(first.tau, again.tau)
    assert not np.array_equal(first.tau, other.tau)
    # One arm: what differs is noise and disturbance, 0.3 N m at most; another arm's bodies would change more.
    assert np.sqrt(np.mean((first.tau - other.tau) ** 2)) < 0.5


def test_the_arm_may_carry_a_hand(motion, file, tmp_path):
    """At rest the torques of two arms that differ by it differ by its weight: 3 N m at joint 4."""
    taken = []
    for tool in ("none", "hand"):
        words = ["simulate", str(file), "--repeat", "1", "--output", str(tmp_path / tool), "--end-effector", tool]
        assert main([*words, "--json"]) == 0
        taken.append(load_dataset(tmp_path / tool).tau[500:1000].mean(axis=0))
    bare, carrying = load_robot("panda"), load_robot("panda", end_effector="hand")
    q = motion(np.zeros(1))[0][0]
    weight = carrying.gravity_torques(q) - bare.gravity_torques(q)
    assert np.abs(weight).max() > 2.0
    assert np.abs(taken[1] - taken[0] - weight).max() < 0.5  # the same imperfections, a few percent of other masses
    assert main(["simulate", str(file), "--effort", "actuator", "--output", str(tmp_path / "other")]) == 2
