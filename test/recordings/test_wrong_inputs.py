# SPDX-License-Identifier: Apache-2.0
"""`replay` on wrong input: its sentence is in the summary, whether samples reach the estimator or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from wrong_inputs import REFUSED, WRONG, Recording, recording

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.recordings.replay import replay


@pytest.fixture(scope="module")
def good(panda: pdr.RobotModel) -> Recording:
    return recording(panda)


def problem_of(robot: pdr.RobotModel, r: Recording, path: Path) -> str:
    """By way of a file, since samples are left out as it is read."""
    header = ",".join(["t", *(f"{name}{i}" for name in ("q", "dq", "tau") for i in range(1, 8))])
    table = np.column_stack((r.motion.stamp, r.motion.q, r.motion.dq, r.tau))
    np.savetxt(path, table, delimiter=",", header=header, comments="")
    return replay(pdr.load_dataset(path, robot), robot).problem


def test_a_good_recording_has_none(panda: pdr.RobotModel, good: Recording, tmp_path: Path) -> None:
    assert problem_of(panda, good, tmp_path / "log.csv") == ""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_named(name: str, panda: pdr.RobotModel, good: Recording, tmp_path: Path) -> None:
    change, words = WRONG[name]
    assert words in problem_of(panda, change(good), tmp_path / "log.csv")


@pytest.mark.parametrize("name", REFUSED)
def test_samples_that_are_left_out_are_named(name: str, panda: pdr.RobotModel, good: Recording, tmp_path: Path) -> None:
    change, _, reason = REFUSED[name]
    try:
        said = problem_of(panda, change(good), tmp_path / "log.csv")
    except DataError as error:  # nothing is left
        said = str(error)
    assert reason in said


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_too_short_a_recording_is_named(seconds: float, panda: pdr.RobotModel, tmp_path: Path) -> None:
    assert "too few for the filters to settle" in problem_of(panda, recording(panda, seconds), tmp_path / "log.csv")
