# SPDX-License-Identifier: Apache-2.0
"""Mutated files of each kind: read, or refused in one line, within ten seconds and a gigabyte.

`make test` tries the same few of each kind, `make fuzz` others for an hour (FUZZ_SECONDS, FUZZ_SEED). A file that
once went wrong belongs into test/fuzz/corpus, into the folder of its kind, and stays there.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import urdf_texts
from bag_files import samples, storage_file, write_bag
from hypothesis import strategies as st
from motion import columns
from mutations import mutations, try_examples

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation.estimate import PayloadEstimate, PayloadMemory
from panda_dynamics_ros.estimation.payload_file import save_estimate
from panda_dynamics_ros.simulation.motions import write_motion

CORPUS = Path(__file__).parent / "corpus"
ROBOT = Path(pdr.__file__).parent / "robot"
ODD_ARM = Path(__file__).parents[1] / "robot" / "odd_arm.xml"


def csv_log(count: int = 5) -> bytes:
    posture = [0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0, *np.zeros(14)]  # within a Panda's limits
    noise = 0.01 * np.random.default_rng(0).normal(size=(count, 21))
    rows = np.column_stack((0.01 * np.arange(count), posture + noise))
    return "\n".join([",".join(columns()), *(",".join(f"{x:.3g}" for x in row) for row in rows)]).encode()


def npz_log(folder: Path) -> bytes:
    np.savez_compressed(
        folder / "log.npz", time=np.arange(5), q=np.ones((5, 7)), dq=np.ones((5, 7)), tau_J=np.ones((5, 7))
    )
    return (folder / "log.npz").read_bytes()


def hdf5_log(folder: Path) -> bytes:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "log.h5", "w") as file:
        for name in ("timestamp/robot_state/robot_timestamp_seconds", "timestamp/robot_state/robot_timestamp_nanos"):
            file[name] = np.arange(5)
        for name in ("joint_positions", "joint_velocities", "motor_torques_measured"):  # as DROID has them
            file.create_dataset(f"robot_state/{name}", data=np.ones((5, 7)), compression="gzip", chunks=(2, 7))
    return (folder / "log.h5").read_bytes()


def parquet_log(folder: Path) -> bytes:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(dict.fromkeys(columns(), np.arange(5.0))), folder / "log.parquet")
    return (folder / "log.parquet").read_bytes()


def bag(folder: Path, storage: str) -> bytes:
    recording = write_bag(folder / "bag", {"/joint_states": samples(5)}, storage)
    content = storage_file(recording).read_bytes()
    shutil.rmtree(recording)
    return content


def motion(folder: Path) -> bytes:
    t = np.linspace(0.0, 2.0, 41)
    one = np.outer(0.1 - 0.1 * np.cos(np.pi * t), np.ones(7))
    rate, acceleration = (np.outer(0.1 * np.pi**k * f(np.pi * t), np.ones(7)) for k, f in ((1, np.sin), (2, np.cos)))
    return write_motion(t, (one, rate, acceleration), folder / "motion.csv").read_bytes()


def payload(folder: Path) -> bytes:
    body = pdr.InertialParameters(1.0, np.array([0.0, 0.0, 0.05]), 0.002 * np.eye(3))
    estimate = PayloadEstimate(0.0, body.vector, 1e-4 * np.eye(10), np.ones(10, dtype=bool), "estimating")
    memory = PayloadMemory(body.vector, 1e-4 * np.eye(10), np.zeros(10))
    return save_estimate(estimate, memory, folder / "payload.yaml").read_bytes()


KINDS: dict[str, tuple[str, str, Callable[[Path], bytes]]] = {
    "mcap": ("dataset", ".mcap", lambda folder: bag(folder, "mcap")),
    "db3": ("dataset", ".db3", lambda folder: bag(folder, "sqlite3")),
    "motion": ("motion", ".csv", motion),
    "csv": ("dataset", ".csv", lambda _: csv_log()),
    "npz": ("dataset", ".npz", npz_log),
    "hdf5": ("dataset", ".h5", hdf5_log),
    "parquet": ("dataset", ".parquet", parquet_log),
    "replay": ("replay_command", ".csv", lambda _: csv_log(50)),
    "robot": ("robot", ".yaml", lambda _: (ROBOT / "arms" / "panda.yaml").read_bytes()),
    "urdf": ("robot", ".urdf", lambda _: urdf_texts.six_revolute().encode()),
    "mjcf": ("robot", ".xml", lambda _: ODD_ARM.read_bytes()),
    "end_effector": ("end_effector", ".yaml", lambda _: (ROBOT / "end_effectors" / "hand.yaml").read_bytes()),
    "payload": ("payload", ".yaml", payload),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_file_is_read_or_refused(kind, readers, tmp_path):
    reader, ending, make = KINDS[kind]
    original = make(tmp_path)
    path = tmp_path / f"file{ending}"
    path.write_bytes(original)
    assert readers.outcome(reader, path).startswith("read: ")
    crashes = list[str]()

    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        outcome = readers.outcome(reader, path)
        if not outcome.startswith(("read: ", "refused: ")) or len(outcome) > 2000:
            kept = tmp_path / f"crash{len(crashes)}{ending}"
            kept.write_bytes(content)
            crashes.append(f"{kept}: {outcome:.300}")

    few = 5 if kind in ("replay", "mjcf") else 10  # these take a second
    tried = try_examples(mutations(original), attempt, few)
    assert tried > 3
    assert not crashes, f"{len(crashes)} of {tried}:\n" + "\n".join(crashes[:10])


LINES = [
    *("import os, sys", "raise SystemExit(7)", "cache_dir: .", "disable_jit: 1", "text.usetex: True", "font.size: 1e9"),
    *("[tool]", "\xff\xfe", "{", "- [", "<b>", "backend: nowhere", "\x00"),
]
NAMES = [
    *("yaml.py", "numpy.py", "pickle.py", "re.py", "sitecustomize.py", "usercustomize.py", "numba.py", "rosbags.py"),
    *("matplotlibrc", ".numba_config.yaml", "setup.cfg", "pyvenv.cfg", "__main__.py", "panda_dynamics_ros.py", "x.pth"),
    *("metadata.yaml", "\x1b[2J.csv", "-rf.mcap", "$(x).db3", "a\nb.h5", "~.parquet", "log.csv.gz"),
]


@pytest.mark.slow
def test_a_working_folder_of_strangers_changes_nothing(tmp_path):
    """Configuration and programs of all kinds that lie where a command is started; the result is the same without."""
    log, start = csv_log(50), "from panda_dynamics_ros.cli import main; import sys; sys.exit(main(sys.argv[1:]))"

    def result(files: dict[str, str]) -> str:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        (folder / "log.csv").write_bytes(log)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="latin-1")
        command = [sys.executable, "-I", "-c", f"import sys; sys.path.append({str(ROBOT.parents[1])!r}); {start}"]
        words = ["batch", "log.csv", "--output", "table.parquet", "--jobs", "1", "--json"]
        done = subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{files}: {done.stderr}"
        summary = json.loads(done.stdout)
        return json.dumps([summary[name] for name in ("recordings", "failed", "samples")])

    expected = result({})
    folders = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(LINES)).map("\n".join), min_size=3)

    def attempt(files: dict[str, str]) -> None:
        assert result(files) == expected, files

    assert try_examples(folders, attempt, few=2) > 0  # these take two seconds


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*/*")), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_once_went_wrong_is_read_or_refused(file, readers):
    outcome = readers.outcome(KINDS[file.parent.name][0], file)
    assert outcome.startswith(("read: ", "refused: ")), outcome
