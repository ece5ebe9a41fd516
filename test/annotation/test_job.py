# SPDX-License-Identifier: Apache-2.0
"""Real worker processes over recordings that are whole, broken, too large, or kill and stop their worker."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from motion import columns
from synthetic import TASK, children, read_table, write
from waiting import PATIENCE, ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros.annotation import Task
from panda_dynamics_ros.annotation.job import annotate_recordings, find_recordings, open_executor
from panda_dynamics_ros.annotation.rows import Row
from panda_dynamics_ros.annotation.rows import read_table as read_rows
from panda_dynamics_ros.annotation.worker import Source, WorkerError, annotate_in_worker, annotate_source, end_workers
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.recordings.dataset import EXAMPLE

ROOT = Path(__file__).parents[2]
ROBOT = pdr.load_robot("panda")


def annotate_here(task: str, source: str) -> list[Row]:
    """What `annotate_in_worker` does, without a process."""
    found = annotate_source(Task(*json.loads(task)), ROBOT, Source(*json.loads(source)), lambda: None)
    return json.loads(json.dumps(found))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is said of tables, not of processes: each takes two seconds to start."""
    monkeypatch.setattr("panda_dynamics_ros.annotation.job.annotate_in_worker", annotate_here)


def test_every_recording_has_its_row(tmp_path):
    files = write(tmp_path / "data", 3)
    (tmp_path / "data" / "empty.mcap").touch()
    (tmp_path / "data" / "text.csv").write_text("no numbers\nat all\n")
    outcome = annotate_recordings([tmp_path / "data", EXAMPLE], tmp_path / "table.parquet", TASK, jobs=2)
    rows = read_table(outcome.table)
    recordings = {row["path"]: row for row in rows if row["kind"] == "recording"}
    assert list(recordings) == sorted([*map(str, files), *outcome.failures, str(EXAMPLE)])
    assert [Path(path).name for path in sorted(outcome.failures)] == ["empty.mcap", "text.csv"]
    for path in outcome.failures:
        assert "expected" in recordings[path]["error"]
        assert [row for row in rows if row["path"] == path] == [recordings[path]]
    sound = recordings[str(files[1])]
    assert sound["bytes"] == files[1].stat().st_size
    assert (sound["arm"], sound["robot"], sound["package_version"]) == ("arm1", "panda", pdr.__version__)
    assert sound["robot_sha256"] == TASK.robot_sha256
    (picked,) = [row for row in rows if row["path"] == str(EXAMPLE) and row.get("carried")]
    assert picked["mass_kg"] == pytest.approx(1.0, abs=0.15)
    assert len(picked["com_m"]) == 3
    assert all(row["arm"] for row in rows)


@pytest.mark.slow
def test_a_worker_that_is_killed_or_hangs_costs_one_recording(tmp_path):
    """A table in which no row is a sample takes many times the patience."""
    (fast,) = find_recordings(write(tmp_path, 1))
    (tmp_path / "hangs.csv").write_text(f"{','.join(columns())}\n" + 60_000_000 * "0\n")
    hangs = fast._replace(path=str(tmp_path / "hangs.csv"))
    task, before = TASK._replace(patience_s=2.0), set(children(os.getpid()))

    def annotated(source: Source) -> list[Row]:
        return annotate_in_worker(json.dumps(task), json.dumps(source))

    try:
        assert "error" not in annotated(fast)[0]
        (row,) = annotated(hangs)
        assert row["error"] == "the worker was given up after 2 s without a sample"
        assert "error" not in annotated(fast)[0]
        (worker,) = set(children(os.getpid())) - before
        os.kill(worker, signal.SIGKILL)
        (row,) = annotated(fast)
        assert row["error"] == "the worker was killed by SIGKILL"
        assert "error" not in annotated(fast)[0]
    finally:
        end_workers()


def test_programs_that_lie_beside_recordings_do_not_run(tmp_path):
    """`python -m` looks for modules in the working folder first."""
    write(tmp_path, 1)
    for module in ("yaml", "numpy", "pickle", "secrets"):
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'has_run')!r}, 'w')")
    code = "import sys; sys.path = [each for each in sys.path if each]; from panda_dynamics_ros.cli import main; main()"
    command = [sys.executable, "-I", "-c", code.replace("main()", "sys.exit(main(['batch', '.', '--jobs', '1']))")]
    assert "0 failed" in ran(command, cwd=tmp_path).stderr
    assert not (tmp_path / "has_run").exists()


@pytest.mark.slow
def test_a_recording_that_is_too_large_is_one_row(tmp_path):
    rows = 2_000_000  # 22 columns of 16 MB
    large = tmp_path / "large.npz"
    values: dict[str, Any] = dict.fromkeys(columns(), np.zeros(rows)) | {"t": 1e-3 * np.arange(rows)}
    np.savez(large, **values)
    write(tmp_path, 1)
    outcome = annotate_recordings([tmp_path], tmp_path / "table.parquet", TASK._replace(memory_gib=0.6), jobs=1)
    assert outcome.failures == {str(large): "out of memory: more than 0.6 GiB are needed"}
    assert outcome.done == 2


@pytest.mark.slow
def test_a_worker_knows_the_residual_map(tmp_path):
    """Which lies in a file of its own beside the arm's."""
    robot = pdr.learn_residual(pdr.load_dataset(EXAMPLE, ROBOT), ROBOT)
    task = Task.of(robot, {})
    outcome = annotate_recordings([EXAMPLE], tmp_path / "table.parquet", task, jobs=1)
    carried = [row for row in read_rows(outcome.table) if row.get("carried")][-1]
    mass = pdr.replay(pdr.load_dataset(EXAMPLE, robot), robot).last.mass
    # A worker has one thread of BLAS, and sums of another order: 1e-14 here.
    assert carried["mass_kg"] == pytest.approx(mass, rel=1e-9)
    assert task.robot_sha256 != Task.of(replace(robot, residual_map=None), {}).robot_sha256 == TASK.robot_sha256


def test_workers_that_cannot_start_end_the_run(tmp_path):
    write(tmp_path / "data", 1)
    with pytest.raises(WorkerError, match="could not start"):
        annotate_recordings([tmp_path / "data"], tmp_path / "table.parquet", TASK._replace(files={"robot.yaml": ""}))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_recording_is_not_replaced_by_the_table(overwrite, tmp_path, in_this_process):
    """Not where it is named, nor where it lies in a folder; another file only where the user says so."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (text,) = write(tmp_path / "data", 1)
    log = text.rename(text.with_suffix(".parquet"))
    before = log.read_bytes()
    for path in (log, tmp_path / "data"):
        with pytest.raises(ArgumentError, match="output: expected another place than that of the recording"):
            annotate_recordings([path], log, TASK, jobs=1, overwrite=overwrite)
    assert log.read_bytes() == before
    other = tmp_path / "notes.parquet"
    parquet.write_table(arrow.table({"a": [1]}), other)
    notes = other.read_bytes()
    if overwrite:
        annotate_recordings([log], other, TASK, jobs=1, overwrite=True)
        return
    with pytest.raises(ArgumentError, match="--overwrite"):
        annotate_recordings([log], other, TASK, jobs=1)
    with pytest.raises(DataError, match="table of an earlier run, got: other columns"):
        annotate_recordings([log], other, TASK, jobs=1, resume=True)
    assert other.read_bytes() == notes


def test_resume_does_what_is_not_done(tmp_path, in_this_process):
    files, output = write(tmp_path / "data", 3), tmp_path / "table.parquet"
    (tmp_path / "data" / "broken.mcap").write_bytes(b"nothing")
    annotate_recordings([tmp_path / "data"], output, TASK, jobs=1)
    with pytest.raises(ArgumentError, match="--resume"):
        annotate_recordings([tmp_path / "data"], output, TASK, jobs=1)
    other = Task.of(pdr.load_robot("panda"), {"known_mass": 1.0})
    with pytest.raises(ArgumentError, match="options of the earlier run"):
        annotate_recordings([tmp_path / "data"], output, other, jobs=1, resume=True)
    before = list(read_rows(output))

    def resumed() -> list[str]:
        done: list[str] = []
        annotate_recordings(
            [tmp_path / "data"], output, TASK, jobs=1, resume=True,
            progress=lambda source, _: done.append(Path(source.path).name),
        )  # fmt: skip
        return done

    assert resumed() == ["broken.mcap"], "what failed is tried again"
    assert list(read_rows(output)) == before
    files[2].write_text(files[2].read_text() + "\n")  # another file now
    assert sorted(resumed()) == ["broken.mcap", "episode_0002.csv"]
    assert [row["path"] for row in read_rows(output)] == [row["path"] for row in before]
    annotate_recordings([files[0]], output, TASK, jobs=1, resume=True)
    assert [row["path"] for row in read_rows(output)] == [row["path"] for row in before], "nothing is lost"


def test_workers_that_start_at_ctrl_c_are_not_waited_for(monkeypatch):
    """One that is never ready, and comes after those that had started were ended."""
    asked, ending = threading.Event(), threading.Event()

    def command(module: str) -> list[str]:
        asked.set()
        assert ending.wait(PATIENCE)
        return ["sleep", "60"]

    def end() -> None:
        end_workers()
        ending.set()

    monkeypatch.setattr("panda_dynamics_ros.annotation.worker.python_command", command)
    monkeypatch.setattr("panda_dynamics_ros.annotation.job.end_workers", end)
    with pytest.raises(KeyboardInterrupt), open_executor(1) as executor:
        future = executor.submit(annotate_in_worker, json.dumps(TASK), "")
        assert asked.wait(PATIENCE)
        raise KeyboardInterrupt
    assert "exit code" not in str(future.exception(0.0)), "it has ended by itself"


def test_each_kind_of_failure_names_a_file(tmp_path, in_this_process, monkeypatch):
    shown: list[Any] = []
    monkeypatch.setattr("panda_dynamics_ros.cli.batch.print_results", lambda *given: shown.extend(given[2]))
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("no numbers\nat all\n")
    assert main(["batch", str(tmp_path), "--output", str(tmp_path / "table.parquet")]) == 0
    (_, _), (_, [(count, words)]) = shown
    assert count == "2"
    assert words.startswith((f"{tmp_path / 'a.csv'}: expected ", f"{tmp_path / 'b.csv'}: expected "))


@pytest.mark.slow
def test_ctrl_c_leaves_a_table_to_go_on_from(tmp_path, in_this_process, answer):
    for log in write(tmp_path / "data", 8, seconds=6.0):
        for k in range(11):  # so many that it does not end before it is interrupted
            os.link(log, log.with_name(f"{k}_{log.name}"))
    output = tmp_path / "table.parquet"
    words = ["batch", str(tmp_path / "data"), "--output", str(output)]
    command = [sys.executable, "-m", "panda_dynamics_ros.cli", *words, "--jobs", "2"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True)
    assert process.stderr is not None
    while b" of 96 recordings, 0 failed" not in (line := process.stderr.readline()):
        assert line, process.wait()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it, too
    _, complaint = process.communicate(timeout=120.0)
    assert process.returncode == 130
    assert b"interrupted" in complaint
    done = {row["path"] for row in read_rows(output)}
    assert 3 <= len(done) < 96
    left = [file for file in (tmp_path / "data").rglob("*.csv") if str(file) not in done]
    for file in left[4:]:  # to save time
        file.unlink()
    count = len(done) + len(left[:4])
    summary = answer(*words, "--resume")
    assert (summary["recordings"], summary["skipped"], summary["done"]) == (count, len(done), count - len(done))
    rows = [row["path"] for row in read_rows(output) if row["kind"] == "recording"]
    assert len(rows) == len(set(rows)) == count
