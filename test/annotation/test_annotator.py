# SPDX-License-Identifier: Apache-2.0
"""One recording as rows: the same that a replay finds, in memory that does not grow; which files are recordings."""

import os
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from bag_files import write_bag
from hypothesis import given, settings
from hypothesis import strategies as st
from motion import write_csv, write_recording
from synthetic import table

from panda_dynamics_ros.annotation.job import find_recordings
from panda_dynamics_ros.annotation.rows import COLUMNS, annotate
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.recordings import JointStateSample, dataset
from panda_dynamics_ros.recordings.dataset import EXAMPLE, SampleBlocks, load_dataset
from panda_dynamics_ros.reporting.replay import replay
from panda_dynamics_ros.robot.joint_dataset import JointDataset

NAMES = tuple(f"joint{i + 1}" for i in range(7))


def test_rows_say_what_a_replay_finds(panda, monkeypatch):
    monkeypatch.setattr("panda_dynamics_ros.annotation.rows.SampleBlocks", partial(SampleBlocks, size=700))  # several
    data = load_dataset(EXAMPLE, panda)
    result = replay(data, panda)
    recording, *others = annotate(EXAMPLE, panda)
    assert recording["samples"] == len(data.stamp)
    assert recording["rate_hz"] == pytest.approx(data.rate_hz)
    assert recording["end_s"] == data.duration_s
    # Sums in another order: rounding.
    np.testing.assert_allclose(recording["joint_residual_nm"], result.residual_rms, rtol=1e-12)
    np.testing.assert_allclose(result.residual_rms, np.sqrt(np.nanmean(result.residual**2, axis=0)), rtol=1e-9)
    np.testing.assert_allclose(recording["joint_offset_nm"], np.nanmean(result.residual, axis=0), rtol=1e-9)
    payloads = [row for row in others if row["kind"] == "payload"]
    onsets = [event.onset for event in result.events if event.kind != "contact"]
    assert [row["start_s"] for row in payloads] == [0.0, *onsets]
    assert [row["end_s"] for row in payloads] == [*onsets, data.duration_s]
    assert [row["carried"] for row in payloads] == [False, True, False]
    assert payloads[1]["mass_kg"] == result.last.mass
    # The example's payload is 1 kg (benchmarks/example_recording.py).
    assert abs(payloads[1]["mass_kg"] - 1.0) < 2.0 * payloads[1]["mass_std_kg"]
    contacts = [row for row in others if row["kind"] == "contact"]
    assert [row["start_s"] for row in contacts] == [event.onset for event in result.events if event.kind == "contact"]
    assert {name for row in (recording, *others) for name in row} <= set(COLUMNS)


def test_losses_and_gaps_are_counted(panda, tmp_path):
    rows = table(seconds=6.0)
    keep = np.ones(len(rows), dtype=bool)
    keep[50:53] = keep[200:201] = False  # four samples are lost
    keep[300:400] = False  # a pause of a second, which is none
    rows[450, 8] = np.nan
    write_csv(tmp_path / "log.csv", rows[keep])
    recording = annotate(tmp_path / "log.csv", panda)[0]
    assert (recording["lost"], recording["gaps"], recording["rejected"]) == (5, 1, 1)
    assert recording["longest_gap_s"] == pytest.approx(1.01)
    assert recording["reasons"] == '{"not finite": 1}'
    found = replay(load_dataset(tmp_path / "log.csv", panda), panda)
    assert found.losses == "1 not finite, 5 missing between others, a pause of 1.01 s"


def test_names_and_stamps_that_contradict_the_robot_are_a_problem(panda, tmp_path):
    """In the words of a replay; two runs in one file here, then an FR3's joints."""
    rows = table(seconds=3.0)
    write_csv(tmp_path / "log.csv", np.concatenate([rows, rows]))
    said = "the 600 samples do not follow the one before in time (duplicate stamp: 1, backward stamp: 299): check that"
    assert said in annotate(tmp_path / "log.csv", panda)[0]["problem"]
    assert said in replay(load_dataset(tmp_path / "log.csv", panda), panda).problem
    names = tuple(f"fr3_joint{i + 1}" for i in range(7))
    write_recording(tmp_path / "bag", names, rows[:, 0], *np.split(rows[:, 1:], 3, axis=1))
    assert "set robot to fr3" in annotate(tmp_path / "bag", panda)[0]["problem"]


@settings(max_examples=60)
@given(stamps=st.lists(st.floats(0.0, 5.0), min_size=1, max_size=40), block=st.integers(1, 9), seed=st.integers(0, 9))
def test_blocks_hold_what_the_whole_does(stamps, block, seed):
    """Duplicate, backward and future stamps may fall on the border of two blocks."""
    values = np.random.default_rng(seed).normal(size=(len(stamps), 3, 7))

    class Stream:
        path, notes, rejected = Path("made up"), (), Counter[str]()

        def __init__(self, *_: object) -> None: ...

        def __iter__(self):
            return (JointStateSample(stamp, NAMES, *row) for stamp, row in zip(stamps, values, strict=True))

    def blocks(size: int) -> tuple[list[JointDataset], dict[str, int]]:
        with mock.patch.object(dataset, "JointStateStream", Stream):
            found = SampleBlocks("made up", joint_names=NAMES, size=size)
        return list(found), dict(found.rejected)

    (whole,), rejected = blocks(10**9)
    parts, rejected_of_parts = blocks(block)
    assert rejected_of_parts == rejected
    for name in ("stamp", "q", "dq", "tau"):
        np.testing.assert_array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_memory_does_not_grow_with_the_length(storage, tmp_path):
    def samples(count: int):
        rng = np.random.default_rng(0)
        for k in range(count):
            yield JointStateSample(1e-3 * k, NAMES, *rng.normal(size=(3, 7)))

    def peak(count: int) -> int:
        bag = write_bag(tmp_path / f"bag_{storage}_{count}", {"/joint_states": samples(count)}, storage)
        tracemalloc.start()
        assert sum(len(block.stamp) for block in SampleBlocks(bag, size=500)) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # imports and caches
    # Both have whole chunks of MCAP, of 1 MB. A sample has 22 numbers: 4,000 more of them are 0.7 MB.
    assert peak(8_000) < peak(4_000) + 3.5e5


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(file.name.encode())


def names(*paths: str | Path, top: Path) -> list[str]:
    return [os.path.relpath(source.path, top) for source in find_recordings(paths)]


def test_folders_are_searched_and_bags_kept_together(tmp_path):
    touch(tmp_path / "bag" / "metadata.yaml", tmp_path / "bag" / "x_0.mcap", tmp_path / "bag" / "x_1.mcap")
    touch(tmp_path / "split" / "metadata.yaml", tmp_path / "split" / "split_0.db3", tmp_path / "split" / "split_1.db3")
    touch(tmp_path / "many" / "a.mcap", tmp_path / "many" / "b.mcap", tmp_path / "many" / "c.csv.gz")
    touch(tmp_path / "deep" / "er" / "d.H5", tmp_path / "deep" / "notes.txt", tmp_path / "e.parquet")
    everything = ["bag", "deep/er/d.H5", "e.parquet", "many/a.mcap", "many/b.mcap", "many/c.csv.gz", "split"]
    assert names(tmp_path, top=tmp_path) == everything
    assert names(tmp_path / "many", tmp_path, top=tmp_path) == everything, "each once"
    assert names(tmp_path / "m*" / "*.mcap", top=tmp_path) == ["many/a.mcap", "many/b.mcap"]
    assert names(tmp_path / "**" / "*.H5", top=tmp_path) == ["deep/er/d.H5"]
    assert names(tmp_path / "**" / "*_?.*", top=tmp_path) == ["bag", "split"], "also where a glob names the parts"
    assert names(tmp_path / "bag" / "x_1.mcap", top=tmp_path) == ["bag/x_1.mcap"], "what was named"


def test_what_replay_has_written_is_no_recording(tmp_path):
    touch(*(tmp_path / "replay_output" / name for name in ("summary.json", "payload.csv", "a.mcap", "._a.mcap")))
    touch(*(tmp_path / "replay_output" / "results" / name for name in ("metadata.yaml", "results.mcap")))
    for path in (tmp_path, tmp_path / "**" / "*"):
        assert names(path, top=tmp_path) == ["replay_output/a.mcap"]
    assert "replay_output/results" in names(tmp_path / "replay_output", top=tmp_path), "what was named"


def test_a_recording_that_is_named_in_two_ways_is_one(tmp_path, monkeypatch):
    touch(tmp_path / "data" / "a.mcap")
    monkeypatch.chdir(tmp_path)
    assert [source.path for source in find_recordings(["data", tmp_path])] == ["data/a.mcap"], "as named first"


def test_a_changed_recording_has_another_version(tmp_path):
    touch(tmp_path / "bag" / "metadata.yaml", tmp_path / "bag" / "x_0.mcap")
    (before,) = find_recordings([tmp_path])
    assert find_recordings([tmp_path]) == [before]
    (tmp_path / "bag" / "x_0.mcap").write_bytes(b"more than before")
    assert find_recordings([tmp_path])[0].version != before.version


def test_nothing_is_an_error(tmp_path):
    for path in (tmp_path, tmp_path / "*.mcap", tmp_path / "absent.mcap"):
        with pytest.raises(ArgumentError, match="expected recordings"):
            find_recordings([path])
