# SPDX-License-Identifier: Apache-2.0
"""What a user may mistake in a command is told in one line, before anything is read or written; so are odd names, full
disks and missing users: a result, or one line and an exit code."""

import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from franka_servers import host, needs
from motion import sinusoids, torques, write_csv

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.recordings import JointStateSample

MISTAKES = [
    ("", "panda-dynamics: error: "),
    ("juggle", "invalid choice: 'juggle'"),
    ("inertia --juggle", "unrecognized arguments: --juggle (see panda-dynamics inertia --help)"),
    ("pose --from", "expected one argument"),
    ("excite --duration small", "invalid float value: 'small'"),
    ("pose --q 0 -45 0 -135 0 90 45", "--q: expected rad within a full turn of zero, got 0 -45 0 -135 0 90 45; are"),
    ("excite --duration -1", "duration: expected a number in [2, 120]"),
    ("excite --table-height nan", "table_height: expected"),
    ("excite --output mine.csv", "--output: expected a name beside which there is no mine.yaml, which is written, too"),
    ("export --output .", ".: expected a file to replace, got none"),
    ("identify log.csv --output mine.txt", "--output: expected a name that ends in .yaml"),
    ("identify log.csv ./log.csv --output mine.yaml", "DATA: expected each recording once, got log.csv ./log.csv"),
    ("inertia --q 1 2", "--q: expected shape (7,), got (2,)"),
    ("inertia --q 0 -45 0 -135 0 90 45", "--q: expected rad within a full turn of zero"),
    ("inertia pandas", "robot: expected one of fr3, panda, panda_ledezma or a path to"),
    ("pose", "one of the arguments --from --q is required"),
    ("pose --from matrix 1 --q 0", "argument --q: not allowed with argument --from"),
    ("pose 1 --q 0", "VALUES: expected none beside --q"),
    ("pose --from matrix", "VALUES: expected 16 numbers, row by row, got 0"),
    ("pose --from column-major 1 2 3", "VALUES: expected 16 numbers, column by column, got 3"),
    ("pose --from quaternion 1 2 3 4 5", "expected 4 numbers x y z w, or 7 with a translation before them, got 5"),
    ("pose --from measure-pose 1 2 x 4 5 6", "VALUES: expected numbers, got 'x'"),
    ("replay", "one of the arguments BAG --example is required"),
    ("replay log.csv --example", "argument --example: not allowed with argument BAG"),
    ("replay log.csv --known-mass -1", "--known-mass: expected a number in [0, 100], got -1"),
    ("replay log.csv --shape 'ball 0.1'", 'shape: expected one of "box LX LY LZ"'),
    ("replay log.csv --rate 0", "--rate: expected"),
    ("replay ~nobody-of-this-name/x.csv", "~nobody-of-this-name/x.csv"),
    ("replay 'a\0b.csv'", "expected"),
    ("replay payload.csv --output .", "where payload.csv holds something else"),
    ("replay none.mcap", "none.mcap: expected"),
    ("simulate other.csv", "expected one period of a motion of 7 joints"),
    ("simulate none.csv", "none.csv: expected a file, got none"),
    ("weigh", "one of the arguments --simulate --plan --loaded is required"),
    ("weigh --simulate --plan", "argument --plan: not allowed with argument --simulate"),
    ("weigh --loaded x.csv", "--unloaded: expected recordings beside those of --loaded, and only then, got none"),
    ("weigh --plan --unloaded x.csv", "beside those of --loaded, and only then, got some"),
    ("weigh --simulate --check x.csv", "--check: expected no recording with --simulate"),
    ("weigh --plan --start 0 0", "start: expected shape (7,), got (2,)"),
    ("weigh --simulate --payload-mass 11", "payload mass: expected a number in [0.001, 10], got 11"),
    ("weigh --plan --start 0 -45", "are these degrees?"),
    ("weigh --plan --robot panda --table-height 30", "table_height: expected"),
    ("live HOST", "the robot refuses connections: unlock the brakes, activate FCI"),
    ("live no-such-robot.invalid", "there is no such host: check the address"),
    ("live HOST --seconds 0", "--seconds: expected a number in"),
    ("live HOST --record run.mcap", "--record: expected the name of a new file that ends in .csv"),
    ("live HOST --binding libfranka", "invalid choice"),
]


@pytest.mark.parametrize(("command", "message"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_mistakes_are_told_in_one_line(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("other.csv", "payload.csv", "mine.yaml"):
        Path(name).write_text("t,a,b,c,d\n" + 20 * "0,0,0,0,0\n")
    if command.startswith("live"):
        needs("panda_py")
    elif command.startswith("simulate"):
        pytest.importorskip("mujoco", reason="the simulated Panda needs mujoco")
    files = sorted(tmp_path.iterdir())
    assert main(shlex.split(command.replace("HOST", host(1)))) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = (line for line in printed.err.splitlines() if "compiling" not in line)
    assert line.startswith("panda-dynamics")
    assert ": error: " in line
    assert message in line
    assert sorted(tmp_path.iterdir()) == files


pytestmark = pytest.mark.usefixtures("not_drawn")
ROOT = Path(__file__).resolve().parents[2]
COMMAND = "import sys; from panda_dynamics_ros.cli import main; sys.exit(main(sys.argv[1:]))"


def write_log(path: Path, robot: pdr.RobotModel) -> Path:
    """Two seconds at 100 Hz."""
    motion = sinusoids(2.0, 100.0)
    return write_csv(path, motion.stamp, motion.q, motion.dq, torques(robot, motion))


def test_a_recording_of_any_name_is_replayed(drawn, panda, tmp_path, capsys):
    """Which would be a formula, a style, a home folder or other lines; and fonts have no sign for it."""
    folder = tmp_path / "~" / os.fsdecode("cost $x$ $ [/b] [red] line\nbreak 测试 not ".encode() + b"\xff text")
    folder.mkdir(parents=True)
    log = write_log(folder / f"{folder.name}.csv", panda)
    assert main(["replay", str(log), "--output", str(folder / "out")]) == 0
    printed = capsys.readouterr()
    assert "payload mass" in printed.out
    assert "Glyph" not in printed.err
    assert (folder / "out" / "payload.png").stat().st_size > 10_000
    assert len(pdr.load_dataset(folder / "out" / "results").stamp) == 200


def test_a_name_that_is_no_text_is_printed(panda, tmp_path):
    """By a process of its own: pytest's own streams take any bytes."""
    log = write_log(tmp_path / os.fsdecode(b"\xff.csv"), panda)
    command = [sys.executable, "-c", COMMAND, "replay", str(log), "--output", str(tmp_path / "out")]
    done = subprocess.run([*command, "--bag-format", "none"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_is_one_line(panda, tmp_path):
    """No file may grow beyond 30 kB: as a disk that fills while results are written."""
    log = write_log(tmp_path / "log.csv", panda)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, {resource.RLIM_INFINITY})); "
    command = [sys.executable, "-c", limit + COMMAND, "replay", str(log), "--output", str(tmp_path / "out"), "--json"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_of_two_arms_is_chosen(panda, tmp_path, capsys):
    """Two topics are told apart by --topic, two arms on one topic by --arm-prefix; the errors ask for them."""
    bag_files = pytest.importorskip("bag_files", reason="bags of several topics are written with rosbags")
    data = pdr.load_dataset(write_log(tmp_path / "log.csv", panda))
    left, right = ([f"{side}_panda_joint{i + 1}" for i in range(7)] for side in ("left", "right"))
    arms: dict[str, list[JointStateSample]] = {"left": [], "right": [], "both": []}
    for stamp, *row in zip(data.stamp, data.q, data.dq, data.tau, strict=True):
        q, dq, tau = (np.concatenate((each, 0.9 * each)) for each in row)
        arms["both"].append(JointStateSample(stamp, (*left, *right), q, dq, tau))
        arms["left"].append(JointStateSample(stamp, tuple(left), q[:7], dq[:7], tau[:7]))
        arms["right"].append(JointStateSample(stamp, tuple(right), q[7:], dq[7:], tau[7:]))
    bag_files.write_bag(tmp_path / "topics", {f"/{side}/joint_states": arms[side] for side in ("left", "right")})
    bag_files.write_bag(tmp_path / "mixed", {"/joint_states": arms["both"]})
    for name, asked, choice in (
        ("topics", "topic: expected", ["--topic", "/left/joint_states"]),
        ("mixed", "arm_prefix: expected", ["--arm-prefix", "left"]),
    ):
        words = ["replay", str(tmp_path / name), "--output", str(tmp_path / "out")]
        assert main(words) == 2
        assert asked in capsys.readouterr().err
        assert main([*words, *choice]) == 0
        np.testing.assert_array_equal(pdr.load_dataset(tmp_path / "out" / "results").q, data.q)


def test_a_recording_is_not_replaced_by_what_is_made_of_it(panda, tmp_path, capsys):
    log, bag = write_log(tmp_path / "log.csv", panda), tmp_path / "session" / "results"
    assert main(["convert", str(log), str(bag)]) == 0
    (storage,) = bag.glob("*.mcap")
    before, link = storage.read_bytes(), tmp_path / "link"
    link.symlink_to(bag.parent)
    for words in (
        ["replay", str(bag), "--output", str(bag.parent)],
        ["replay", str(storage), "--output", str(link)],
        ["convert", str(bag), str(bag), "--overwrite"],
        ["convert", str(storage), str(link / "results"), "--overwrite"],
    ):
        capsys.readouterr()
        assert main(words) == 2
        assert "expected another place than that of the recording" in capsys.readouterr().err
    assert storage.read_bytes() == before
