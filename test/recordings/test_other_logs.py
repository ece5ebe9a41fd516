# SPDX-License-Identifier: Apache-2.0
"""Logs of other programs, in their own columns and units: each gives the same samples."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from motion import columns, write_csv, write_recording

from panda_dynamics_ros import JointDataset, PandaDynamicsError, load_dataset
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import ArgumentError, DataError, MissingDependencyError
from panda_dynamics_ros.recordings import RecordingWarning
from panda_dynamics_ros.robot.joint_dataset import stream_steps

COUNT = 40
MS = 5000.0 + 10.0 * np.arange(COUNT)  # whole milliseconds
PHASE = 1e-3 * MS[:, None] + np.arange(7.0)
POSTURE = [0.1, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6]  # rad
Q, DQ, TAU = POSTURE + 0.2 * np.sin(PHASE), 0.2 * np.cos(PHASE), 10.0 * np.cos(PHASE)
EXTERNAL = np.sin(3.0 * PHASE)


def table(path: Path, names: list[str], values: np.ndarray, separator: str = ",", encoding: str = "utf-8") -> Path:
    rows = [separator.join(f"{value:.17g}" for value in row) for row in values]
    path.write_text("\n".join([separator.join(names), *rows, ""]), encoding=encoding)
    return path


def libfranka(folder: Path) -> Path:
    """The header of `franka::logToCSV`: names with and without a blank before them, 0-based, time in ms."""
    blocks = {"state.q": Q, "state.q_d": 0 * Q, "state.dq": DQ, "state.dq_d": 0 * Q, "state.tau_J": TAU}
    blocks |= {"state.tau_ext_hat_filtered": EXTERNAL, "cmd.q_d": 0 * Q, "cmd.tau_J_d": 0 * Q}
    names = ["time", " success_rate", *(f" {name}[{i}]" for name in blocks for i in range(7))]
    return table(folder / "log.csv", names, np.column_stack((MS, np.ones(COUNT), *blocks.values())))


def panda_python(folder: Path) -> Path:
    """`np.savez(path, **panda.get_log())`: lists of vectors."""
    path = folder / "log.npz"
    np.savez(path, q=list(Q), dq=list(DQ), tau_J=list(TAU), O_T_EE=np.zeros((COUNT, 16)), time=list(MS[:, None]))
    return path


def frankapy(folder: Path) -> Path:
    np.savez_compressed(folder / "log.npz", q=Q, dq=DQ, tau_J=TAU, time_since_skill_started=1e-3 * MS)
    return folder / "log.npz"


def arrays(folder: Path) -> Path:
    """What somebody saves who knows the names of this package."""
    np.savez(folder / "log.npz", t=1e-3 * MS, q=Q, dq=DQ, tau=TAU)
    return folder / "log.npz"


def mujoco(folder: Path) -> Path:
    """Fields of mjData, those of a hand's fingers after the arm's."""
    padded = [np.pad(values, ((0, 0), (0, 2))) for values in (Q, DQ, TAU)]
    names = ("qpos", "qvel", "qfrc_actuator")
    np.savez(folder / "log.npz", time=1e-3 * MS, **dict(zip(names, padded, strict=True)))  # type: ignore[arg-type]
    return folder / "log.npz"


def savetxt(folder: Path) -> Path:
    """`numpy.savetxt` writes the header as a comment, if it is not told otherwise."""
    head = "recorded on a Panda\n" + ",".join(columns())
    np.savetxt(folder / "log.csv", np.column_stack((1e-3 * MS, Q, DQ, TAU)), fmt="%.17g", delimiter=",", header=head)
    return folder / "log.csv"


def droid(folder: Path) -> Path:
    """A trajectory.h5 of DROID."""
    h5py = pytest.importorskip("h5py", reason="DROID's logs are HDF5")
    with h5py.File(folder / "trajectory.h5", "w") as file:
        state, time = "observation/robot_state", "observation/timestamp/robot_state"
        file[f"{state}/joint_positions"], file[f"{state}/joint_velocities"] = Q, DQ
        file[f"{state}/motor_torques_measured"] = TAU
        file[f"{state}/prev_command_successful"] = np.ones(COUNT, dtype=bool)
        file[f"{time}/robot_timestamp_seconds"] = (MS // 1000).astype(np.int64)
        file[f"{time}/robot_timestamp_nanos"] = (MS % 1000 * 1e6).astype(np.int64)
        file["action/joint_position"] = Q
    return folder / "trajectory.h5"


def semicolons(folder: Path) -> Path:
    """As spreadsheets of much of Europe save it: a byte order mark, semicolons, decimal commas."""
    path = table(folder / "log.csv", columns(), np.column_stack((1e-3 * MS, Q, DQ, TAU)), ";", "utf-8-sig")
    path.write_text(path.read_text("utf-8").replace(".", ","), "utf-8")
    return path


def lerobot(path: Path, episodes: int, **columns: Any) -> Path:
    """A data set of LeRobot's: a list in each row, and times that begin anew in each episode."""
    arrow = pytest.importorskip("pyarrow", reason="LeRobot's datasets are Parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    whole = {
        "timestamp": 1e-3 * (MS - MS[0]),
        "observation.state": Q.tolist(),
        "observation.effort": TAU.tolist(),
        "observation.image": [b"png"] * COUNT,
        **columns,
    }
    table = arrow.table({name: list(values) * episodes for name, values in whole.items()})
    number = arrow.array(np.repeat(np.arange(episodes), COUNT))
    parquet.write_table(table.append_column("episode_index", number), path)
    return path


def dates(folder: Path) -> Path:
    """Times as pandas writes them."""
    times = np.datetime64(0, "us") + MS.astype("timedelta64[ms]")
    return lerobot(folder / "log.parquet", 1, timestamp=times, **{"observation.velocity": DQ.tolist()})


@pytest.mark.parametrize("make", [libfranka, panda_python, frankapy, arrays, mujoco, savetxt, droid, semicolons, dates])
def test_known_logs_are_read_without_a_word(make, tmp_path):
    assert_read(load_dataset(make(tmp_path), "panda"))


def test_a_missing_cell_is_a_missing_sample(tmp_path):
    spoilt = lerobot(tmp_path / "log.parquet", 1, **{"observation.effort": [None, *TAU[1:].tolist()]})
    assert len(load_dataset(spoilt, "panda").stamp) == COUNT - 1


def test_external_torques_are_read_where_they_are_known(tmp_path):
    """Of samples that are left out, they are left out, too. A blank cell leaves out no sample."""
    path, blank = libfranka(tmp_path), EXTERNAL[20, 3]
    path.write_text(path.read_text().replace(f"{blank:.17g}", ""))
    data = load_dataset(path, "panda")
    assert data.tau_ext is not None
    np.testing.assert_allclose(data.tau_ext, np.where(blank == EXTERNAL, np.nan, EXTERNAL), rtol=0.0, atol=1e-12)
    names = [*columns(), *(f"felt {i}" for i in range(7))]
    values = np.column_stack((1e-3 * MS, Q, DQ, TAU, EXTERNAL))
    values[10, 1] = np.nan
    path = table(tmp_path / "own.csv", names, values)
    assert load_dataset(path, "panda").tau_ext is None
    data = load_dataset(path, "panda", columns="t=t q=q# dq=dq# tau=tau# 'tau_ext=felt #'")
    assert data.tau_ext is not None
    np.testing.assert_allclose(data.tau_ext, np.delete(EXTERNAL, 10, axis=0), rtol=0.0, atol=1e-12)


def assert_read(data: JointDataset) -> None:
    np.testing.assert_allclose(data.stamp, 1e-3 * MS, rtol=0.0, atol=1e-9)
    for got, expected in ((data.q, Q), (data.dq, DQ), (data.tau, TAU)):
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-12)
    assert data.rejected == {}


def test_columns_of_any_name_and_unit(tmp_path):
    names = ["stamp us", *(f"{kind} {i}" for kind in ("pos", "vel", "force") for i in range(7)), "note"]
    values = np.column_stack((1e3 * MS, np.degrees(Q), np.degrees(DQ), TAU, np.zeros(COUNT)))
    path = table(tmp_path / "log.tsv", names, values, "\t")
    assert_read(load_dataset(path, "panda", columns="t='stamp us:us' 'q=pos #:deg' 'dq=vel #:deg' 'tau=force #'"))


def test_parts_of_arrays_in_parquet(tmp_path):
    """As LeRobot has them: a list in each row, the gripper behind the joints."""
    state = np.column_stack((Q, np.full(COUNT, 0.04))).tolist()
    columns = {"timestamp": 1e-3 * MS, "observation.state": state, "observation.velocity": DQ.tolist()}
    path = lerobot(tmp_path / "episode.parquet", 1, **columns)
    text = "t=timestamp q=observation.state[0:7] dq=observation.velocity tau=observation.effort[:7]"
    assert_read(load_dataset(path, "panda", columns=text))
    with pytest.raises(DataError, match="as many dq and tau as q, in a row, got 1 of t, 8 of q, 7 of dq, 7 of tau"):
        load_dataset(path, "panda", columns=text.replace("[0:7]", ""))


def test_velocities_that_are_not_recorded_are_differences_of_positions(tmp_path, rng):
    path = lerobot(tmp_path / "log.parquet", 1)
    with pytest.warns(RecordingWarning, match="there are no velocities, so they are differences of the positions"):
        data = load_dataset(path, "panda")
    assert len(data.notes) == 1
    # Central differences over 20 ms of a sine of amplitude 0.2 and 1 rad/s: 0.2 (0.01)^2 / 6; at the ends one-sided.
    np.testing.assert_allclose(data.dq[1:-1], DQ[1:-1], atol=1e-5)
    np.testing.assert_allclose(data.dq, DQ, atol=2e-3)
    with pytest.raises(DataError, match="expected columns for dq"):  # where the user says that they are there
        load_dataset(path, "panda", columns="t=timestamp q=observation.state dq=dq tau=observation.effort")
    # Independent noise of 10 urad at 1 kHz: its differences over 10 ms, 7000 of them, have sqrt(2) of it per 10 ms.
    q = 1e-5 * rng.standard_normal((1000, 7))
    np.savez(tmp_path / "log.npz", t=1e-3 * np.arange(1000), q=q, tau=np.ones((1000, 7)))
    with pytest.warns(RecordingWarning, match="there are no velocities"):
        data = load_dataset(tmp_path / "log.npz")
    assert data.dq[5:-5].std() == pytest.approx(np.sqrt(2.0) * 1e-3, rel=0.05)


def test_episodes_follow_each_other(tmp_path):
    path = lerobot(tmp_path / "log.parquet", 3)
    with pytest.warns(RecordingWarning, match="3 episodes follow each other with pauses of 1 s"):
        data = load_dataset(path, "panda")
    assert len(data.stamp) == 3 * COUNT
    np.testing.assert_allclose(data.dq, np.tile(DQ, (3, 1)), atol=2e-3)  # differences, as above; none between episodes
    np.testing.assert_allclose(stream_steps(data.stamp).pauses[:, 1], 1.0)
    np.testing.assert_allclose(data.stamp[COUNT : 2 * COUNT] - data.stamp[COUNT], 1e-3 * (MS - MS[0]))


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ("t=t q=q# dq=dq#", ArgumentError, "expected t=.. q=.. tau=.., each once"),
        ("t=t:min q=q# dq=dq# tau=tau#", ArgumentError, "t: expected one of s, ms, us, ns"),
        ("t='t q=q# dq=dq# tau=tau#", ArgumentError, "quotes in pairs"),
        ("t=time [s] q=q# dq=dq# tau=tau#", ArgumentError, "blanks quoted"),
        ("t= q=q# dq=dq# tau=tau#", ArgumentError, "t: expected the name of a column"),
        ("t=t q=q# dq=dq# tau=torque_#", DataError, "expected columns for tau=torque_#, got t, q#, dq#, tau#"),
        ("t=t q=q# dq=dq# tau=tau1", DataError, "7 of q, 7 of dq, 1 of tau"),
    ],
)
def test_a_map_that_does_not_fit_is_named(columns, error, words, tmp_path):
    path = write_csv(tmp_path / "log.csv", 1e-3 * MS, Q, DQ, TAU)
    with pytest.raises(error, match=words):
        load_dataset(path, columns=columns)


def test_arrays_that_run_code_are_refused(tmp_path):
    np.savez(tmp_path / "objects.npz", q=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="plain arrays"):
        load_dataset(tmp_path / "objects.npz")


@pytest.mark.parametrize("name", ["x.npz", "x.h5", "x.parquet"])
def test_what_is_no_such_file_is_refused(name, tmp_path):
    (tmp_path / name).write_bytes(b"no table" * 100)
    with pytest.raises((DataError, MissingDependencyError), match="expected"):
        load_dataset(tmp_path / name)
    with pytest.raises(PandaDynamicsError, match="got no such file"):
        load_dataset(tmp_path / f"absent{name}")


def test_a_dataset_of_another_file_is_not_followed(tmp_path):
    h5py = pytest.importorskip("h5py")
    droid(tmp_path)
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["observation"] = h5py.ExternalLink("trajectory.h5", "/observation")
    with pytest.raises(DataError, match="expected a header with t"):
        load_dataset(tmp_path / "links.h5")


def test_a_sample_that_jumps_as_no_arm_can_is_left_out_and_counted(tmp_path):
    """As a flipped bit leaves it in a file without checksums."""
    q = Q.copy()
    q[17, 2] += 1.0  # rad, within the joint's limits
    path = write_csv(tmp_path / "log.csv", 1e-3 * MS, q, DQ, TAU)
    data = load_dataset(path, "panda")
    assert data.rejected == {"position jump": 1}
    np.testing.assert_allclose(data.q, np.delete(Q, 17, axis=0), atol=1e-12)
    assert load_dataset(path).rejected == {}  # without an arm nobody knows


@pytest.mark.parametrize(
    ("time", "speed", "words"), [(1e9, 1.0, "22 stamp not in seconds.*expected s"), (1e-3, 1e3, "22 velocity.*rad/s")]
)
def test_a_few_samples_of_wrong_units_that_pass_are_no_recording(time, speed, words, tmp_path):
    """Stamps that begin at zero are few ns at first, and an arm at rest has no velocity in any unit."""
    first = np.arange(COUNT) < 18
    stamps, dq = np.where(first, 1e-3, time) * MS, np.where(first, 1.0, speed)[:, None] * DQ
    path = table(tmp_path / "log.csv", columns(), np.column_stack((stamps, Q, dq, TAU)))
    with pytest.raises(DataError, match=f"got 18 among 40 .{words}"):
        load_dataset(path, "panda")


def test_convert_writes_a_recording(tmp_path, capsys):
    words = ["convert", str(libfranka(tmp_path)), str(tmp_path / "bag")]
    assert main([*words, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["samples"] == COUNT
    assert "no external torques" in said.err
    data = load_dataset(tmp_path / "bag", "panda")
    assert_read(data)
    assert data.names[0] == "panda_joint1"
    assert main(words) == 2
    assert "or --overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0


def test_convert_keeps_the_names_of_a_bag_also_those_that_a_table_would_have(tmp_path):
    names = tuple(f"joint{i}" for i in range(1, 8))
    write_recording(tmp_path / "bag", names, 1e-3 * MS, Q, DQ, TAU)
    assert main(["convert", str(tmp_path / "bag"), str(tmp_path / "again")]) == 0
    assert load_dataset(tmp_path / "again").names == names
