# SPDX-License-Identifier: Apache-2.0
"""Which files are recordings, and which of them belong together."""

import hashlib
import os
from pathlib import Path

import pytest

from panda_dynamics_ros.annotation.sources import contents_sha256, find_recordings, local_copy
from panda_dynamics_ros.errors import ArgumentError


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(file.name.encode())


def names(*paths: str | Path, top: Path) -> list[str]:
    return [os.path.relpath(source.path, top) for source in find_recordings(paths)]


def test_folders_are_searched_and_bags_kept_together(tmp_path: Path) -> None:
    touch(tmp_path / "bag" / "metadata.yaml", tmp_path / "bag" / "x_0.mcap", tmp_path / "bag" / "x_1.mcap")
    touch(tmp_path / "split" / "split_0.db3", tmp_path / "split" / "split_1.db3")
    touch(tmp_path / "many" / "a.mcap", tmp_path / "many" / "b.mcap", tmp_path / "many" / "c.csv.gz")
    touch(tmp_path / "deep" / "er" / "d.H5", tmp_path / "deep" / "notes.txt", tmp_path / "e.parquet")
    everything = ["bag", "deep/er/d.H5", "e.parquet", "many/a.mcap", "many/b.mcap", "many/c.csv.gz", "split"]
    assert names(tmp_path, top=tmp_path) == everything
    assert names(tmp_path / "many", tmp_path, top=tmp_path) == everything, "each once"
    assert names(tmp_path / "m*" / "*.mcap", top=tmp_path) == ["many/a.mcap", "many/b.mcap"]
    assert names(tmp_path / "**" / "*.H5", top=tmp_path) == ["deep/er/d.H5"]
    assert names(tmp_path / "bag" / "x_1.mcap", top=tmp_path) == ["bag/x_1.mcap"], "what was named"


def test_a_changed_recording_has_another_version(tmp_path: Path) -> None:
    touch(tmp_path / "bag" / "metadata.yaml", tmp_path / "bag" / "x_0.mcap")
    (before,) = find_recordings([tmp_path])
    assert find_recordings([tmp_path]) == [before]
    (tmp_path / "bag" / "x_0.mcap").write_bytes(b"more than before")
    assert find_recordings([tmp_path])[0].version != before.version


def test_nothing_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "*.mcap", tmp_path / "absent.mcap"):
        with pytest.raises(ArgumentError, match="expected recordings"):
            find_recordings([path])


def test_a_store_is_read_by_fsspec(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    touch(tmp_path / "bag" / "metadata.yaml", tmp_path / "bag" / "x_0.mcap", tmp_path / "one.csv")
    sources = find_recordings([f"file://{tmp_path}"])
    assert [source.path for source in sources] == [f"file://{tmp_path}/bag", f"file://{tmp_path}/one.csv"]
    for source, content in zip(sources, (b"x_0.mcap", b"one.csv"), strict=True):
        with local_copy(source) as path:
            assert not path.is_relative_to(tmp_path)
            assert contents_sha256(path) == hashlib.sha256(content).hexdigest()
        assert not path.exists()
    assert len(find_recordings([f"file://{tmp_path}/*.csv"])) == 1


@pytest.mark.parametrize(("url", "reason"), [("nowhere://bucket", "ValueError"), ("ftp://localhost:1/x", "Connection")])
def test_a_store_that_cannot_be_read_is_named(url: str, reason: str) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(ArgumentError, match=f"^PATHS: expected a URL of a store that can be read, got {url}: {reason}"):
        find_recordings([url])
