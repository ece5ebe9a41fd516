# SPDX-License-Identifier: Apache-2.0
"""Recordings as arrays: what is kept, what is left out and counted, what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bag_files import ARM, both_storages, samples, storage_file, write_bag
from motion import write_csv

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.recordings import JointStateSample, load_dataset
from panda_dynamics_ros.robot.joint_dataset import JointDataset

FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
NOTHING = np.empty(0)


@both_storages
def test_arrays_hold_the_arm_in_order(tmp_path, storage):
    written = samples(50, names=(*FINGERS, *ARM[::-1]))
    data = load_dataset(storage_file(write_bag(tmp_path / "bag", {"/joint_states": written}, storage)))
    assert data.names == ARM
    assert data.rejected == {}
    assert data.notes == ()
    assert data.source == str(tmp_path / "bag" / ("bag.mcap" if storage == "mcap" else "bag.db3"))
    np.testing.assert_array_equal(data.stamp, [sample.stamp for sample in written])
    for array, field in ((data.q, "position"), (data.dq, "velocity"), (data.tau, "effort")):
        np.testing.assert_array_equal(array, [getattr(sample, field)[:1:-1] for sample in written])
        assert not array.flags.writeable


def test_recorded_nanoseconds_are_a_copy_that_cannot_be_written():
    zeros, recorded = np.zeros((3, 7)), np.arange(3)
    data = JointDataset(np.array([0.0, 1e-9, 2e-9]), zeros, zeros, zeros, ARM, "made up", recorded_ns=recorded)
    recorded[:] = 7
    np.testing.assert_array_equal(data.stamp_ns, [0, 1, 2])
    with pytest.raises(ValueError, match="read-only"):
        data.stamp_ns[0] = 7


def test_what_is_left_out_is_counted_by_reason(tmp_path):
    good = samples(40)
    bad = list(good)
    bad[3] = replace(good[3], position=np.array([0.0, 1.0, np.nan, 3.0, 4.0, 5.0, 6.0]))
    bad[5] = replace(good[5], velocity=NOTHING)
    bad[7] = replace(good[7], effort=NOTHING)
    bad[8] = replace(good[8], effort=np.zeros(7))
    bad[9] = replace(good[9], effort=np.full(6, 1.0))
    bad[11] = JointStateSample(good[11].stamp, FINGERS, np.ones(2), np.ones(2), np.ones(2))
    bad[12] = JointStateSample(good[12].stamp, ARM[:6], np.ones(6), np.ones(6), np.ones(6))
    bad[20] = replace(good[20], stamp=good[19].stamp)
    bad[30] = replace(good[30], stamp=good[10].stamp)
    bad[31] = replace(good[31], stamp=good[15].stamp)  # forward again, and still before the last that counts
    data = load_dataset(write_bag(tmp_path / "bag", {"/joint_states": bad}))
    once = ("not finite", "no velocity", "no effort", "all-zero effort", "lengths disagree", "missing joints")
    assert data.rejected == {**dict.fromkeys((*once, "duplicate stamp"), 1), "backward stamp": 2}
    kept = [k for k in range(40) if k not in (3, 5, 7, 8, 9, 11, 12, 20, 30, 31)]
    np.testing.assert_array_equal(data.stamp, [good[k].stamp for k in kept])
    np.testing.assert_array_equal(data.tau, [good[k].effort for k in kept])


@pytest.mark.parametrize("first", [0, 3])
def test_messages_of_a_gripper_alone_are_no_samples_that_were_lost(first, tmp_path):
    """Also those before the arm's joints are known; a message with some of them is one, whenever it comes."""
    written = samples(40)
    for k in (*range(first), 11, 30):
        written[k] = JointStateSample(written[k].stamp, FINGERS, np.ones(2), np.ones(2), np.ones(2))
    data = load_dataset(write_bag(tmp_path / "bag", {"/joint_states": written}))
    assert data.rejected == {}
    assert len(data.stamp) == 38 - first
    written[0] = JointStateSample(written[0].stamp, ARM[:6], np.ones(6), np.ones(6), np.ones(6))
    written[1] = JointStateSample(written[1].stamp, (), NOTHING, NOTHING, NOTHING)
    assert load_dataset(write_bag(tmp_path / "partial", {"/joint_states": written})).rejected == {"missing joints": 2}
    fingers = [replace(each, names=FINGERS) for each in written[:3]]
    with pytest.raises(DataError, match=r"none among 3 \(3 missing joints\).*got panda_finger_joint1"):
        load_dataset(write_bag(tmp_path / "fingers", {"/joint_states": fingers}))


@pytest.mark.parametrize("wrong", [[0], [40], [40, 60], [99]], ids=str)
def test_a_stamp_from_the_future_costs_one_sample(wrong, tmp_path):
    """And not all that come after it; the last of all may as well follow a gap."""
    good = samples(100)
    bad = [replace(each, stamp=each.stamp + 1000.0) if k in wrong else each for k, each in enumerate(good)]
    data = load_dataset(write_bag(tmp_path / "bag", {"/joint_states": bad}))
    if wrong == [99]:
        assert data.rejected == {}
        assert len(data.stamp) == 100
    else:
        assert data.rejected == {"stamp from the future": len(wrong)}
        np.testing.assert_array_equal(data.stamp, [good[k].stamp for k in range(100) if k not in wrong])


@pytest.mark.parametrize("together", [True, False])
def test_two_arms_on_one_topic_need_a_prefix(tmp_path, together):
    left, right = (tuple(f"{side}_{name}" for name in ARM) for side in ("left", "right"))
    if together:
        written = samples(10, names=left + right)
    else:
        written = [replace(sample, names=(left, right)[k % 2]) for k, sample in enumerate(samples(10))]
    bag = write_bag(tmp_path / "bag", {"/joint_states": written})
    with pytest.raises(ArgumentError, match=r"left_panda_joint1.*right_panda_joint1"):
        load_dataset(bag)
    words = r"none among 10 \(10 missing joints\).*start with 'middle', got left_panda_joint1"
    with pytest.raises(DataError, match=words):
        load_dataset(bag, arm_prefix="middle")
    data = load_dataset(bag, arm_prefix="right")
    assert data.names == right
    assert not data.rejected
    np.testing.assert_array_equal(data.q[0], written[0].position[7:] if together else written[1].position)


def test_joint_names_may_be_given(tmp_path):
    names = ("shoulder", "elbow", "wrist")
    written = samples(10, names=names[::-1])
    bag = write_bag(tmp_path / "bag", {"/joint_states": written})
    data = load_dataset(bag, joint_names=names)
    assert data.names == names
    np.testing.assert_array_equal(data.q[:, ::-1], [sample.position for sample in written])
    with pytest.raises(DataError, match=r"none among 10 \(10 missing joints\).*shoulder"):
        load_dataset(bag)
    arm = write_bag(tmp_path / "arm", {"/joint_states": samples(10, names=ARM)})
    with pytest.raises(DataError, match=r"names: expected joint1 \.\. wrist, got panda_joint1"):  # not another arm's
        load_dataset(arm, joint_names=["joint1", "elbow", "wrist"])


def csv_file(path: Path, written: list[JointStateSample], edit: Callable[[list[str]], list[str]] = lambda x: x) -> Path:
    """A CSV of samples; `edit` changes its lines."""
    write_csv(path, np.array([(x.stamp, *x.position, *x.velocity, *x.effort) for x in written]))
    path.write_text("\n".join(edit(path.read_text().splitlines())) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("n", [1, 6, 7])
def test_csv_of_any_number_of_joints(tmp_path, n):
    written = samples(20, names=ARM[:n])
    data = load_dataset(csv_file(tmp_path / "log.csv", written))
    assert data.names == tuple(f"joint{i + 1}" for i in range(n))
    np.testing.assert_array_equal(data.stamp, [sample.stamp for sample in written])
    for array, field in ((data.q, "position"), (data.dq, "velocity"), (data.tau, "effort")):
        np.testing.assert_array_equal(array, [getattr(sample, field) for sample in written])


def test_csv_columns_in_any_order_beside_others(tmp_path):
    written = samples(5)

    def shuffle(lines: list[str]) -> list[str]:
        rows = [[*line.split(","), "note"] for line in lines]
        order = np.random.default_rng(7).permutation(len(rows[0]))
        return [" , ".join(row[i] for i in order) for row in rows]

    path = csv_file(tmp_path / "log.CSV", written, shuffle)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))  # as spreadsheets save it
    data = load_dataset(path)
    assert data.rejected == {}
    np.testing.assert_array_equal(data.tau, [sample.effort for sample in written])


def test_csv_rows_left_out_are_counted(tmp_path):
    written = samples(30)

    def spoil(lines: list[str]) -> list[str]:
        lines[3] = lines[3].replace(lines[3].split(",")[5], "nan")
        lines[4] = "inf" + lines[4][lines[4].index(",") :]
        lines[6] = lines[6].replace(lines[6].split(",")[5], "broken")
        lines[7] = lines[7].replace(lines[7].split(",")[5], "")
        lines[9] = lines[9] + ",1.0"
        lines[12] = lines[11]
        lines[15:15] = ["", ""]
        lines[-1] = lines[-1][:40]  # the disk was full
        return lines

    data = load_dataset(csv_file(tmp_path / "log.csv", written, spoil))
    assert data.rejected == {"not finite": 2, "not numeric": 2, "wrong number of cells": 2, "duplicate stamp": 1}
    assert len(data.stamp) == 30 - 7


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no columns"),
        ("0,1,2,3\n1,2,3,4\n", r"got 0, 1, 2, 3 without t, q1, dq1, tau1"),
        ("t,/franka/joint_states/position/panda_joint1\n", "/franka/joint_states/position/panda_joint# without"),
        ("t,q1,q2,dq1,tau1,tau2\n0,1,2,0,3,4\n", "as many dq and tau as q, in a row, got 1 of t, 2 of q, 1 of dq"),
        ("t,q1,dq1,tau1\n0,1,2,0\n1,1,2,0\n", r"none among 2 \(2 all-zero effort\)"),
    ],
)
def test_csv_without_samples_is_refused(tmp_path, content, message):
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        load_dataset(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("use", [pdr.replay, pdr.learn_residual, pdr.identify])
@pytest.mark.parametrize("data", ["log.csv", None, ["log.csv"]])
def test_what_is_no_recording_is_refused_by_name(use, data, panda):
    with pytest.raises(ArgumentError, match=r"^data: expected a JointDataset, got \w+; load_dataset gives one"):
        use(data, panda)
