# SPDX-License-Identifier: Apache-2.0
"""What is no recording of joint states is refused in one line."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bag_files import (
    assert_same,
    cut,
    read_whole,
    samples,
    write_bag,
)

from panda_dynamics_ros.errors import ArgumentError, DataError, DataFileNotFoundError
from panda_dynamics_ros.recordings import read_joint_states, write_joint_states


def not_a_bag(tmp_path: Path, name: str, content: bytes) -> Path:
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def empty_folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def two_recordings(tmp_path: Path) -> Path:
    folder = empty_folder(tmp_path)
    shutil.move(write_joint_states(tmp_path / "a", samples(2)), folder)
    shutil.move(write_joint_states(tmp_path / "b", samples(2), "sqlite3"), folder)
    return folder


def plain_database(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "plain.db3")) as connection:
        connection.execute("CREATE TABLE recipes (id INTEGER)")
    return tmp_path / "plain.db3"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: p / "absent.mcap", DataFileNotFoundError, "no such file"),
        (lambda p: not_a_bag(p, "x.mcap", b""), DataError, "an empty file"),
        (lambda p: not_a_bag(p, "x.db3", b"t,q1\n0,1\n"), DataError, "begins with"),
        (lambda p: not_a_bag(p, "x.bag", b"#ROSBAG V2.0\n"), DataError, "ROS 1"),
        (lambda p: not_a_bag(p, "x.mcap", b"\x89MCAP0\r\n"), DataError, "no topics.*not whole"),
        (lambda p: not_a_bag(p, "x.mcap", b"\x89MCAP0\r\n" + b"\xff" * 99), DataError, "no topics.*not whole"),
        (lambda p: not_a_bag(p, "x.db3", b"SQLite format 3\0" + b"\xff" * 999), DataError, "not whole"),
        (plain_database, DataError, "tables of rosbag2"),
        (empty_folder, DataError, "without .db3 or .mcap"),
        (two_recordings, DataError, "a.mcap, b.db3: name the one"),
        (lambda p: write_bag(p / "bag", {"/chatter": ["a"]}), DataError, r"got /chatter \(std_msgs/msg/String\)"),
        (lambda p: write_bag(p / "bag", {}), DataError, "no topics"),
        (lambda p: write_bag(p / "bag", {}, "sqlite3"), DataError, "no topics"),
        (lambda p: write_joint_states(p / "bag", []), DataError, r"/joint_states \(0 messages\)"),
        (lambda p: write_joint_states(p / "bag", [], "sqlite3"), DataError, r"/joint_states \(0 messages\)"),
        (lambda p: cut(write_joint_states(p / "bag", samples(99), "sqlite3"), 0.02), DataError, "not whole|tables of"),
        (lambda p: cut(write_joint_states(p / "bag", samples(99)), 0.02), DataError, "not whole"),
    ],
)
def test_what_gives_no_joint_states_says_so_in_one_line(tmp_path, make, error, message) -> None:
    path = make(tmp_path)
    with pytest.raises(error, match=message) as caught:
        read_joint_states(path)
    assert str(path) in str(caught.value)
    assert "expected" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_writing_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="storage: expected one of mcap, sqlite3, got 'csv'"):
        write_joint_states(tmp_path / "bag", [], "csv")
    with pytest.raises(ArgumentError, match="does not exist yet"):
        write_joint_states(tmp_path, [])
    for stamp in (-1.0, np.nan, 2.0**31):
        with pytest.raises(ArgumentError, match="stamp"):
            write_joint_states(tmp_path / f"bag{stamp}", [replace(samples(1)[0], stamp=stamp)])


def test_only_a_recording_is_overwritten(tmp_path: Path) -> None:
    write_joint_states(tmp_path / "bag", samples(5), "sqlite3")
    write_joint_states(tmp_path / "bag", samples(3), overwrite=True)
    assert_same(read_whole(tmp_path / "bag"), samples(3))
    (tmp_path / "bag" / "thesis.tex").touch()
    for path in (tmp_path / "bag", tmp_path / "bag" / "thesis.tex"):
        with pytest.raises(ArgumentError, match="holds something else"):
            write_joint_states(path, samples(3), overwrite=True)
    assert (tmp_path / "bag" / "thesis.tex").exists()
