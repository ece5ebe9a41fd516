# SPDX-License-Identifier: Apache-2.0
"""Options of the arm's description, which all commands about an arm have."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import urdf_texts

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.cli.options import add_robot_option, load_arm


def arm(*words: str) -> pdr.RobotModel:
    parser = argparse.ArgumentParser()
    add_robot_option(parser)
    return load_arm(parser.parse_args(words))


def test_each_option_is_that_of_load_robot(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(urdf_texts.with_slide_and_fixed_joints())
    turned = ("--mounting", "0.1", "-0.2", "0.3", "--gravity", "0", "-0.5", "-9.7")
    robot = arm("--robot", str(file), "--base", "carriage", "--tip", "fork", "--friction", "none", *turned)
    wanted = pdr.load_robot(file, base="carriage", tip="fork", mounting=(0.1, -0.2, 0.3), gravity=(0.0, -0.5, -9.7))
    assert np.array_equal(robot.table, wanted.table)
    assert not robot.friction.table[:, :3].any()
    assert arm("--end-effector", "hand").name == "panda+hand"


@pytest.mark.parametrize(
    "command",
    ["base-parameters", "convert", "excite", "export", "identify", "inertia", "pose", "replay", "simulate"],
)
def test_every_command_about_an_arm_has_them(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    words = capsys.readouterr().out
    for option in ("--end-effector", "--base", "--tip", "--friction", "--mounting", "--gravity", "--effort"):
        assert f"  {option} " in words


def test_a_command_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(urdf_texts.with_slide_and_fixed_joints())
    assert main(["inertia", str(file), "--base", "carriage", "--tip", "wrist", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["joint"]) == 3
