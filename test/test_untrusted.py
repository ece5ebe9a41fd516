# SPDX-License-Identifier: Apache-2.0
"""Folders and archives of strangers: programs beside the recordings, FIFOs, short descriptions of enormous arms."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import limited
import numpy as np
import pytest
from limited import LimitedReaders
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros.annotation.rows import RECORDING, read_table, write_table
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import DataError, RobotDescriptionError
from panda_dynamics_ros.robot.description import LARGEST
from panda_dynamics_ros.robot.yaml_file import LIBRARY
from panda_dynamics_ros.untrusted import read_npz, replacing

PANDA = (LIBRARY / "panda.yaml").read_text()
BODY = '<worldbody><body><joint axis="0 0 1"/><geom size=".1" mass="1"/></body></worldbody>'


@pytest.mark.parametrize("library", ["matplotlib", "mujoco"])
def test_a_library_is_imported_without_what_lies_in_the_working_folder(library, tmp_path):
    """Also by a Python that it starts, as MuJoCo's glfw does."""
    for name in ("ctypes", "struct", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("open('taken', 'w')\n")
    root = Path(pdr.__file__).parents[1]
    program = f"import sys; sys.path.append({str(root)!r}); from panda_dynamics_ros.untrusted import import_elsewhere; "
    program += f"import_elsewhere({library!r}); import os; print(os.getcwd())"
    assert ran([sys.executable, "-I", "-c", program], cwd=tmp_path).stdout.strip() == str(tmp_path)
    assert not (tmp_path / "taken").exists()


def fifo_of(name: str, reader: str) -> tuple[str, Callable[[Path], Path]]:
    def make(folder: Path) -> Path:
        os.mkfifo(folder / name)
        return folder / name

    return reader, make


def fifo_as_residual_map(folder: Path) -> Path:
    os.mkfifo(folder / "map.npz")
    (folder / "arm.yaml").write_text(PANDA + "\nresidual_map: map.npz\n")
    return folder / "arm.yaml"


FIFOS = (
    *(fifo_of(name, "dataset") for name in ("log.csv", "log.mcap", "log.h5")),
    fifo_of("payload.yaml", "payload"),
    ("robot", fifo_as_residual_map),
)


def test_nobody_waits_for_the_writer_of_a_fifo(tmp_path):
    """An archive may hold one. The server of `LimitedReaders` has a child for each, which would wait forever."""
    lines = []
    for k, (reader, make) in enumerate(FIFOS):
        (tmp_path / str(k)).mkdir()
        lines.append(f"{reader} {make(tmp_path / str(k))}\n")
    server = subprocess.Popen(
        [sys.executable, limited.__file__], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        cwd=limited.ROOT, start_new_session=True,
    )  # fmt: skip
    try:
        outcomes = server.communicate("".join(lines), timeout=120)[0].splitlines()
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    assert len(outcomes) == len(FIFOS)
    assert all(outcome.startswith("refused: ") for outcome in outcomes), outcomes


def test_arrays_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, a=np.zeros(100), b=np.zeros(100))
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(DataError, match="expected numbers of at most 1600 bytes"):
        read_npz(path, 1600)  # each member has a header, too


ALIASES = ["a0: &a0 [x, x]", *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 30))]
MERGED = ["a0: &a0 {k0: 1}", *(f"a{k}: &a{k} {{<<: [*a{k - 1}, *a{k - 1}], k{k}: 1}}" for k in range(1, 40))]


@pytest.mark.parametrize("lines", [ALIASES, MERGED, ["[" * 50_000]], ids=["aliases", "merged keys", "depth"])
def test_yaml_that_grows_when_it_is_read_is_refused(lines, tmp_path):
    """A few lines of which the safe loader makes billions of values, or more calls than there may be."""
    (tmp_path / "arm.yaml").write_text("\n".join(lines))
    with LimitedReaders() as readers:
        assert readers.outcome("robot", tmp_path / "arm.yaml").startswith("refused: ")


@pytest.mark.parametrize("number", ["59:" * 100_000 + "59", "1_" * 100_000], ids=["sixties", "long"])
def test_a_number_of_many_digits_is_none(number, tmp_path):
    """Of sixties, Python would make one for minutes."""
    (tmp_path / "arm.yaml").write_text(f"name: {number}\n")
    with pytest.raises(RobotDescriptionError, match="a number of more than 1000 characters"):
        pdr.load_robot(tmp_path / "arm.yaml")


@pytest.mark.parametrize(
    "text",
    [
        f'<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>{BODY}',
        f'<asset><model name="m" file="arm.xml"/></asset>{BODY}',  # of itself: MuJoCo 4.0 ends the process
        f'<include file="fifo"/>{BODY}',
        '<worldbody><replicate count="100000000" euler="0 0 1">' + BODY[11:-12] + "</replicate></worldbody>",
    ],
    ids=["hfield", "itself", "fifo", "replicate"],
)
def test_mjcf_takes_limited_memory_and_time(text, tmp_path, monkeypatch):
    monkeypatch.setattr("panda_dynamics_ros.robot.mjcf.PATIENCE", 3.0)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "arm.xml").write_text(f"<mujoco>{text}</mujoco>")
    with pytest.raises(RobotDescriptionError, match=r"arm\.xml: expected MJCF that MuJoCo compiles, got "):
        pdr.load_robot(tmp_path / "arm.xml")


def test_mujoco_writes_nothing_into_the_working_folder(tmp_path, monkeypatch):
    """Its log of warnings would be appended to whatever a link of that name points to."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.xml").write_text(f'<mujoco><option timestep="nan"/>{BODY}</mujoco>')
    assert pdr.load_robot("arm.xml").n == 1
    assert [path.name for path in tmp_path.iterdir()] == ["arm.xml"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("name: panda", 'name: "\\e[2J"'), ("name: panda", 'name: "\\u202e"'), ("panda_joint1", '"\\e]0;x\\a"')],
)
def test_names_that_a_terminal_would_obey_are_refused(old, new, tmp_path):
    (tmp_path / "arm.yaml").write_text(PANDA.replace(old, new, 1))
    with pytest.raises(RobotDescriptionError, match="expected printable characters") as refused:
        pdr.load_robot(tmp_path / "arm.yaml")
    assert str(refused.value).isprintable()


def test_an_arm_of_absurd_numbers_is_refused(panda):
    for size in (1e300, 1.1 * LARGEST):
        with pytest.raises(RobotDescriptionError, match="expected numbers of at most"):
            panda.with_payload(pdr.InertialParameters(size, (0.0, 0.0, 0.0), size * np.eye(3)))


def test_a_table_takes_names_that_are_no_text(tmp_path):
    """One such file among thousands would end the job when all is done."""
    pytest.importorskip("pyarrow")
    row = json.loads(json.dumps({"kind": RECORDING, "path": os.fsdecode(b"\xff.csv")}))
    write_table(tmp_path / "table.parquet", [row])
    assert [each["path"] for each in read_table(tmp_path / "table.parquet")] == ["\\udcff.csv"]


def test_what_is_written_goes_through_no_link(tmp_path):
    """A folder of results may come from others, with links that lead to the user's own files."""
    pytest.importorskip("pyarrow")
    own, results = tmp_path / "own.csv", tmp_path / "results"
    own.write_text("mine")
    results.mkdir()
    for name in ("table.parquet", ".table.parquet.partial"):
        (results / name).symlink_to(own)
    (results / "new.parquet").symlink_to(tmp_path / "absent.csv")
    for name in ("table.parquet", "new.parquet"):
        write_table(results / name, [{"kind": RECORDING, "path": "log.csv"}])
        assert not (results / name).is_symlink()
    assert own.read_text() == "mine"
    assert not (tmp_path / "absent.csv").exists()
    os.mkfifo(results / "fifo")
    with pytest.raises(FileExistsError, match="fifo"), replacing(results / "fifo"):
        pass
    assert len(list(results.iterdir())) == 4


def test_a_file_that_is_called_like_an_option_is_none(tmp_path, monkeypatch, capsys):
    """A shell writes it in place of *; a scheduler may run code here."""
    monkeypatch.chdir(tmp_path)
    name = "--scheduler=192.0.2.1:8786"
    Path(name).touch()
    assert main(["batch", name, "log.csv", "--output", "table.parquet"]) == 2
    assert f"write ./{name} for it" in capsys.readouterr().err
