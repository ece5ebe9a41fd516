# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/identify.md, in the order of the page, as a newcomer would type them."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from motion import write_csv

pytest.importorskip("mujoco", reason="the simulated Panda needs mujoco")
pytest.importorskip("rosbags", reason="recordings are written with rosbags")

from panda_dynamics_ros import RobotModel, load_robot
from panda_dynamics_ros.cli import main

pytestmark = [pytest.mark.usefixtures("not_drawn"), pytest.mark.slow]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "identify.md"
# What makes a command as quick as a test has to be; a newcomer waits for a better and longer motion.
SHORTER = {"excite": ["--trials", "60", "--duration", "6"], "simulate": ["--repeat", "1"]}


def commands() -> list[list[str]]:
    """Words of each indented line of the page that begins with the command's name."""
    lines = (line.removeprefix("    ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:4] == "    ")
    return [shlex.split(line)[1:] for line in lines if line.startswith("panda-dynamics ")]


def poses_file(robot: RobotModel, path: Path) -> None:
    """What the section on poses takes for granted: 30 poses of an arm at rest, one a second."""
    limits = robot.limits
    q = np.random.default_rng(0).uniform(0.6 * limits.lower, 0.6 * limits.upper, (30, 7))
    write_csv(path, np.arange(30.0), q, np.zeros_like(q), robot.gravity_torques(q))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all commands of the page have run."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("tutorial")
        patch.chdir(folder)
        poses_file(load_robot("panda"), folder / "poses.csv")
        for words in commands():
            assert main([*words, *SHORTER.get(words[0], [])]) == 0, words
        yield folder


def test_the_page_goes_all_the_way():
    """Each step for the first time after the one before it."""
    used = [words[0] for words in commands()]
    assert list(dict.fromkeys(used))[:4] == ["excite", "simulate", "identify", "replay"]


def test_the_files_that_the_page_promises_are_there(folder):
    for name in ("motion.csv", "motion.yaml", "motion.png", "identification/prediction_1.png"):
        assert (folder / name).is_file(), name


def test_the_identified_arm_finds_what_the_simulated_one_carries(folder):
    payload = json.loads((folder / "result" / "summary.json").read_text())["payload"]
    # 3 sigma: the loop is closed over real files, with one noise.
    assert abs(payload["mass"] - 1.0) < 3.0 * payload["std"][0]
    assert payload["std"][0] < 0.05
    # Of the CoM (20, -15, 60) mm, in mm: the moment's sigma is that of the CoM for 1 kg.
    error = np.array(payload["com"]) - [0.02, -0.015, 0.06]
    assert (np.abs(error) < 3.0 * np.array(payload["std"][1:4]) + 0.001).all()


def test_the_identified_arm_leaves_less_than_the_published_one(folder, answer):
    result = answer("identify", "recording", "--validate", "another", "--output", "again.yaml")
    rms = result["validation"][0]["torque_rms"]
    # Half is disturbance, which nothing predicts: 0.46 of the published model's was measured.
    assert np.linalg.norm(rms["identified"]) < 0.7 * np.linalg.norm(rms["panda"])
