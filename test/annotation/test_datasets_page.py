# SPDX-License-Identifier: Apache-2.0
"""docs/datasets.md: its commands run, and its table is that of the code."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import write
from test_cluster import Cluster

from panda_dynamics_ros.annotation.rows import COLUMNS
from panda_dynamics_ros.cli import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line[4:])[1:] for line in PAGE.splitlines() if line.startswith("    panda-dynamics batch ")]
COUNT = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where all commands of the page have run, in its order."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("datasets")
        patch.chdir(folder)
        write(folder / "recordings", COUNT - 1, seconds=4.0)
        (folder / "recordings" / "arm0" / "<b>broken.mcap").write_bytes(b"nothing")
        cluster = Cluster(folder)
        try:
            cluster.add_workers(1)
            cluster.wait(1)
            here = {"SCHEDULER:8786": cluster.address.removeprefix("tcp://"), "s3://BUCKET": f"file://{folder}"}
            for words in COMMANDS:
                for name, value in here.items():
                    words = [word.replace(name, value) for word in words]
                assert main(words) == 0, words
            yield folder
        finally:
            cluster.end()


def test_the_files_that_the_page_promises_are_there(folder: Path) -> None:
    for name in ("table.parquet", "table.csv", "cluster.parquet"):
        assert (folder / name).stat().st_size > 0, name
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "docs/datasets.md", "exec"), names)
    assert names["quality"].num_rows == COUNT  # type: ignore[attr-defined]
    assert set(names["carried"].column("path").to_pylist()) == {  # type: ignore[attr-defined]
        f"recordings/arm1/episode_000{k}.csv" for k in (1, 3, 5)
    }


def test_the_table_of_the_page_is_that_of_the_code() -> None:
    lines = [f"| `{name}` | {column.type} | {column.kinds} | {column.meaning} |" for name, column in COLUMNS.items()]
    assert "\n".join(lines) in PAGE


def test_a_summary_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "recordings", "--output", "table.parquet", "--resume", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["recordings"], summary["skipped"], summary["failed"]) == (COUNT, COUNT - 1, 1)


def test_wrong_options_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, named in (
        (["--output", "table.xlsx"], ".parquet or .csv"),
        (["--output", "table.csv"], "--overwrite"),
        (["--jobs", "0", "--output", "new.csv"], "--jobs"),
    ):
        assert main(["batch", "recordings", *words]) == 2
        error = capsys.readouterr().err
        assert named in error
        assert error.count("\n") == 1
