# SPDX-License-Identifier: Apache-2.0
"""docs/datasets.md: its commands run, its table is that of the code, and the page that a run writes can be read."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import chromium, open_page
from synthetic import write
from test_cluster import Cluster

from panda_dynamics_ros.annotation.rows import COLUMNS, Row
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.reporting.recordings_overview import Overview, write_overview

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
    for name in ("table.parquet", "table.csv", "by_lab.csv", "cluster.parquet"):
        for ending in ("", ".html"):
            assert (folder / f"{name}{ending}").stat().st_size > 0, name
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
        (["--arm", "("], "regular expression"),
        (["--output", "table.csv"], "--overwrite"),
        (["--jobs", "0", "--output", "new.csv"], "--jobs"),
    ):
        assert main(["batch", "recordings", *words]) == 2
        error = capsys.readouterr().err
        assert named in error
        assert error.count("\n") == 1


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_the_page_of_a_run_in_a_browser(folder: Path) -> None:
    with open_page(f"file://{folder}/table.parquet.html") as page:
        page.wait_for_text("What was carried")
        text = page.text()
        assert f"Recordings: {COUNT} (1 failed)" in text
        assert "Payloads: 3, carried for" in text
        assert "Failures" in text
        assert "recordings/arm1/episode_0001.csv" in text
        page.wait_for(lambda: page.evaluate("[...document.images].every(i => i.complete)"), "pictures")
        widths = page.evaluate("[...document.images].map(i => i.naturalWidth)")
        assert len(widths) == 2
        assert min(widths) > 500
        assert page.complaints == []


def test_names_are_escaped(tmp_path: Path) -> None:
    row = {"kind": "recording", "path": "<script>", "arm": "$<i>", "error": "", "problem": "<u> 1.5", "samples": 1}
    rows: list[Row] = [{**row, "end_s": 1.0, "residual_nm": 0.5}, {"kind": "recording", "path": "x", "error": "<em>"}]
    text = write_overview(Overview.of(rows), tmp_path / "page.html").read_text()
    for word in ("<script>", "<i>", "<u>", "<em>"):
        assert word not in text
    for word in ("$<i>", "<u> …", "<em>"):
        assert html.escape(word) in text
