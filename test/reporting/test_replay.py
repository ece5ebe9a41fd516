# SPDX-License-Identifier: Apache-2.0
"""The offline replay: the estimator's options reach all of it."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques, write_csv
from wrong_inputs import REFUSED, WRONG, Recording, recording

import panda_dynamics_ros as pdr
from panda_dynamics_ros import ArmMonitor, JointDataset, learn_residual
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.recordings.dataset import EXAMPLE, load_dataset
from panda_dynamics_ros.reporting.replay import replay


@pytest.fixture(scope="module")
def data(panda):
    """Three seconds of an arm that carries a payload."""
    motion = sinusoids(3.0, rate=200.0)
    tau = torques(panda, motion, PAYLOAD)
    return JointDataset(motion.stamp, motion.q, motion.dq, tau, panda.joint_names, "made up")


@pytest.mark.parametrize("bandwidth_hz", [3.0, 1.0])
def test_the_residual_is_filtered_like_the_regression(data, panda, bandwidth_hz):
    """It is there from six time constants on, and goes to zero, as the payload explains all of it."""
    residual = replay(data, panda, bandwidth_hz=bandwidth_hz).residual
    settled = 6.0 / (2.0 * np.pi * bandwidth_hz)
    first = int(np.flatnonzero(np.isfinite(residual).all(axis=1))[0])
    assert data.stamp[first] == pytest.approx(settled, abs=0.02)  # the filter's updates are 20 ms apart
    # What the prior's pull leaves of a torque of some 5 N m, a fortieth; the model's friction is taken off, too.
    assert np.abs(residual[-1]).max() < 0.125


def test_the_wrench_is_the_nodes_wrench(data, panda):
    """With a residual map, which knows some joints better than others."""
    robot = learn_residual(replace(data, tau=torques(panda, sinusoids(3.0, rate=200.0))), panda)
    monitor = ArmMonitor(robot)
    samples = zip(data.stamp, data.q, data.dq, data.tau, strict=True)
    wrench = np.array([monitor.update(*sample).wrench.wrench for sample in samples])
    assert np.abs(wrench).max() > 1.0
    np.testing.assert_allclose(replay(data, robot).contact_wrench, wrench, rtol=0.0, atol=1e-9)


def test_a_notebook_shows_results_in_a_line(panda):
    data = load_dataset(EXAMPLE, panda)
    result = replay(data, panda)
    assert repr(data).startswith("JointDataset(4800 samples of 7 joints over 24.0 s, 200 Hz, 0 left out, '")
    assert repr(result).startswith(f"Replay(4800 samples over 24.0 s, payload: {result.last.mass:.3f} ± ")
    assert len(repr(replace(result, events=result.events * 50))) < 400


def test_a_touch_that_two_detectors_notice_is_one_event(panda):
    """The example is pushed once, from 12.0 to 12.8 s; what is picked up is no contact."""
    result = replay(load_dataset(EXAMPLE, panda), panda)
    pick, release = (event for event in result.events if event.kind != "contact")
    assert (pick.kind, release.kind) == ("pick", "release")
    touches = [(each.onset, each.end or math.inf) for each in result.events if each.kind == "contact"]
    (push,) = [(onset, end) for onset, end in touches if onset < 12.8 and end > 12.0]
    assert push == (pytest.approx(12.0, abs=0.1), pytest.approx(12.8, abs=0.3))
    assert not any(onset <= change.onset <= end for onset, end in touches for change in (pick, release))
    assert result.last is result.payloads[1].estimate


def test_the_last_payload_is_that_of_the_end_or_of_the_last_release(panda):
    """Also where no samples come while it is put down, and the filters settle anew afterwards."""
    motion = sinusoids(15.0, rate=200.0)
    is_carried = (motion.stamp > 4.0) & (motion.stamp < 8.0) | (motion.stamp > 12.0)
    tau = np.where(is_carried[:, None], torques(panda, motion, PAYLOAD), torques(panda, motion))
    for kept in (motion.stamp > 0.0, (motion.stamp < 7.5) | (motion.stamp > 8.7), motion.stamp < 11.5):
        stamp, q, dq = motion.stamp[kept], motion.q[kept], motion.dq[kept]
        result = replay(JointDataset(stamp, q, dq, tau[kept], panda.joint_names, "made up"), panda)
        is_shown = [each.estimate.is_carried for each in result.payloads]
        assert is_shown == [False, True, False, True][: len(is_shown)]
        assert result.last.mass == pytest.approx(PAYLOAD.mass, abs=3.0 * result.last.std[0])
        assert result.last is result.payloads[-1 if kept[-1] else -2].estimate


def test_a_pick_that_is_withdrawn_is_in_no_list(panda):
    """With `max_mass` at half of the example's 1 kg: the pick is in doubt, and taken for a push in the end."""
    result = replay(load_dataset(EXAMPLE, panda), panda, max_mass=0.5)
    assert any(estimate.event and estimate.event.kind == "pick" for estimate in result.estimates)
    assert {event.kind for event in result.events} == {"contact"}
    assert len(result.payloads) == 1 and not result.last.is_carried
    assert result.problem.startswith("the torques are those of 1.0"), "not a hand from the start"


def test_a_contact_is_on_its_link_while_it_lasts(panda):
    """20 N m on joint 4, far beyond any threshold, as a force on link 4 or 5 makes it with what it does further in."""
    motion = sinusoids(4.0, rate=500.0)
    tau, pushed = torques(panda, motion), (motion.stamp >= 2.0) & (motion.stamp < 2.4)
    tau[pushed, :4] += 20.0
    result = replay(JointDataset(motion.stamp, motion.q, motion.dq, tau, panda.joint_names, "made up"), panda)
    assert not result.touched_link[motion.stamp < 2.0].any()
    assert (result.touched_link[(motion.stamp > 2.1) & (motion.stamp < 2.4)] == 4).all()
    # The push disturbs the payload estimate, whose torques are expected: it recovers within a second.
    assert not result.touched_link[motion.stamp > 3.4].any()


@pytest.fixture(scope="module")
def good(panda):
    return recording(panda)


def problem_of(robot: pdr.RobotModel, r: Recording, path: Path) -> str:
    """By way of a file, since samples are left out as it is read."""
    write_csv(path, r.motion.stamp, r.motion.q, r.motion.dq, r.tau)
    return replay(pdr.load_dataset(path, robot), robot).problem


def test_a_good_recording_has_none(panda, good, tmp_path):
    assert problem_of(panda, good, tmp_path / "log.csv") == ""


@pytest.mark.parametrize("name", ["sign", "joint 4 + 3 N m", "milliseconds", "two robots, near"])
def test_wrong_input_is_named_as_by_the_estimator(name, panda, good, tmp_path):
    change, words = WRONG[name]
    assert words in problem_of(panda, change(good), tmp_path / "log.csv")


@pytest.mark.parametrize("name", REFUSED)
def test_samples_that_are_left_out_are_named(name, panda, good, tmp_path):
    change, _, reason = REFUSED[name]
    try:
        said = problem_of(panda, change(good), tmp_path / "log.csv")
    except DataError as error:  # nothing is left
        said = str(error)
    assert reason in said


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_too_short_a_recording_is_named(seconds, panda, tmp_path):
    assert "too few for the filters to settle" in problem_of(panda, recording(panda, seconds), tmp_path / "log.csv")
