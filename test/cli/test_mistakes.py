# SPDX-License-Identifier: Apache-2.0
"""What a user may mistake in a command is told in one line, before anything is read or written."""

import shlex
from pathlib import Path

import pytest
from franka_servers import host, needs

from panda_dynamics_ros.cli import main

MISTAKES = [
    ("", "panda-dynamics: error: "),
    ("juggle", "invalid choice: 'juggle'"),
    ("pose --juggle", "unrecognized arguments: --juggle"),
    ("pose --from", "expected one argument"),
    ("base-parameters ur5", "robot: expected one of"),
    ("base-parameters --tolerance small", "invalid float value: 'small'"),
    ("compare . .", "DIR: expected a folder that replay or demo has written"),
    ("excite --duration -1", "duration: expected a number in [2, 120]"),
    ("excite --table-height nan", "--table-height: expected"),
    ("export --output .", "--output: expected a file, got the folder '.'"),
    ("identify log.csv --output mine.txt", "--output: expected a name that ends in .yaml"),
    ("inertia --q 1 2", "--q: expected shape (7,), got (2,)"),
    ("inertia pandas", "robot: expected one of fr3, panda, panda_ledezma or a path to"),
    ("inertia --end-effector foot", "end_effector: expected one of none, hand or a path to"),
    ("pose", "expected either --from FORMAT VALUES or --q Q1 .. Q7, got neither"),
    ("pose --from matrix 1 --q 0", "got both"),
    ("pose 1 --q 0", "VALUES: expected none beside --q"),
    ("pose --from matrix", "VALUES: expected 16 numbers, row by row, got 0"),
    ("pose --from column-major 1 2 3", "VALUES: expected 16 numbers, column by column, got 3"),
    ("pose --from quaternion 1 2 3 4 5", "expected 4 numbers x y z w, or 7 with a translation before them, got 5"),
    ("pose --from measure-pose 1 2 x 4 5 6", "VALUES: expected numbers, got 'x'"),
    ("replay", "BAG: expected a recording or --example, got neither"),
    ("replay log.csv --example", "BAG: expected a recording or --example, got both"),
    ("replay log.csv --known-mass -1", "--known-mass: expected a number in [0, 100], got -1"),
    ("replay log.csv --shape 'ball 0.1'", 'shape: expected one of "box LX LY LZ"'),
    ("replay log.csv --rate 0", "--rate: expected"),
    ("replay --example --mounting 0 90 0", "are these degrees?"),
    ("replay ~nobody-of-this-name/x.csv", "~nobody-of-this-name/x.csv"),
    ("replay 'a\0b.csv'", "expected"),
    ("replay none.mcap", "none.mcap: expected"),
    ("replay empty.db3", "empty.db3: expected"),
    ("replay other.mcap", "other.mcap: expected"),
    ("simulate other.csv", "expected one period of a motion of 7 joints"),
    ("simulate none.csv", "expected an existing file"),
    ("weigh", "weigh: expected one of --simulate, --plan, or --loaded with --unloaded, got none"),
    ("weigh --simulate --plan", "got --simulate and --plan"),
    ("weigh --loaded x.csv", "--unloaded: expected one or more recordings beside the others, got none"),
    ("weigh --simulate --order AAA", "--order: expected letters A and B, each at least once, got 'AAA'"),
    ("weigh --simulate --check x.csv", "--check: expected no recording with --simulate"),
    ("weigh --plan --start 0 0", "--start: expected"),
    ("weigh --plan --start 0 -45", "are these degrees?"),
    ("weigh --plan --robot panda --table-height 3", "--table-height: expected"),
    ("live HOST", "the robot refuses connections: unlock the brakes, activate FCI"),
    ("live no-such-robot.invalid", "there is no such host: check the address"),
    ("live HOST --seconds 0", "--seconds: expected a number in"),
    ("live HOST --record run.mcap", "--record: expected the name of a new file that ends in .csv"),
    ("live HOST --binding libfranka", "invalid choice"),
]


@pytest.mark.parametrize(("command", "message"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_mistakes_are_told_in_one_line(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("summary.json").write_text("[]")
    Path("empty.db3").touch()
    Path("other.mcap").write_text(100 * "not a recording at all")
    Path("other.csv").write_text("t,a,b,c,d\n" + 20 * "0,0,0,0,0\n")
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
