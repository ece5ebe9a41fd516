# SPDX-License-Identifier: Apache-2.0
"""The `panda-dynamics` command itself: help, errors, interruptions, what it does not load; options of the arm."""

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import urdf_texts
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros import cli
from panda_dynamics_ros.cli import main, pose
from panda_dynamics_ros.cli.options import ARM, ROBOT, add, load_arm
from panda_dynamics_ros.errors import DataError

ROOT = Path(__file__).parents[2]
IDENTITY = ["pose", "--from", "quaternion", "0", "0", "0", "1"]


def run_instead(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """`pose` meets with `error` from now on."""

    def fail(_: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(pose, "run", fail)


def test_help_offers_the_commands_that_are_there(capsys):
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, summary in cli.COMMANDS.items():
        assert f"{name} {summary}" in " ".join(printed.split())


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys):
    assert main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"usage: panda-dynamics {name}" in printed
    assert f"examples:\n  panda-dynamics {name} " in printed


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (PermissionError(13, "Permission denied", "/output"), 2, "error: /output: Permission denied"),
        (OSError(28, "No space left on device"), 2, "error: No space left on device"),
        (DataError("bag.mcap: expected states,\n  got none"), 2, "error: bag.mcap: expected states, got none"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_ends_a_command_is_one_line(error, code, words, monkeypatch, capsys):
    run_instead(monkeypatch, error)
    assert main(IDENTITY) == code
    assert capsys.readouterr().err == f"panda-dynamics: {words}\n"


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), ValueError("bug"), OSError("bug")])
def test_an_unknown_error_surfaces(monkeypatch, error):
    run_instead(monkeypatch, error)
    with pytest.raises(type(error), match="bug"):
        main(IDENTITY)


def test_warnings_are_one_line(monkeypatch, capsys):
    def warn(_: argparse.Namespace) -> int:
        warnings.warn("bag.mcap: not\nwhole", stacklevel=1)
        return 0

    monkeypatch.setattr(pose, "run", warn)
    assert main(IDENTITY) == 0
    assert capsys.readouterr().err == "panda-dynamics: warning: bag.mcap: not whole\n"


def test_a_reader_that_went_away_leaves_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "panda_dynamics_ros.cli", *IDENTITY]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_command_loads_no_other():
    code = "from panda_dynamics_ros.cli import main; main({!r}); import sys; print(*sys.modules)"
    for arguments in (["--help"], ["pose", "--help"], IDENTITY):
        loaded = set(ran([sys.executable, "-c", code.format(arguments)], cwd=ROOT).stdout.splitlines()[-1].split())
        assert "panda_dynamics_ros.cli" in loaded
        assert not loaded & {"panda_dynamics_ros.cli.replay", "matplotlib", "rich", "rosbags", "mujoco", "rclpy"}


def arm(*words: str) -> pdr.RobotModel:
    parser = argparse.ArgumentParser()
    add(parser, ROBOT)
    return load_arm(parser.parse_args(words))


def test_each_option_is_that_of_load_robot(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(urdf_texts.with_slide_and_fixed_joints())
    turned = ("--mounting", "0.1", "-0.2", "0.3", "--gravity", "0", "-0.5", "-9.7")
    robot = arm("--robot", str(file), "--base", "carriage", "--tip", "fork", "--friction", "none", *turned)
    wanted = pdr.load_robot(file, base="carriage", tip="fork", mounting=(0.1, -0.2, 0.3), gravity=(0.0, -0.5, -9.7))
    assert np.array_equal(robot.table, wanted.table)
    assert not robot.friction.table[:, :3].any()
    assert arm("--end-effector", "hand").name == "panda+hand"


@pytest.mark.parametrize(
    "command", ["base-parameters", "excite", "export", "identify", "inertia", "pose", "replay", "simulate"]
)
def test_every_command_about_an_arm_has_them(command, capsys):
    assert main([command, "--help"]) == 0
    words = capsys.readouterr().out
    for option in ("--end-effector", "--base", "--tip", "--friction", "--mounting", "--gravity", "--effort"):
        assert f"  {option} " in words


def test_convert_has_those_that_choose_joints(capsys):
    assert main(["convert", "--help"]) == 0
    words = capsys.readouterr().out
    assert [name for name, _ in ARM if f"  {name} " in words] == ["--base", "--tip"]
