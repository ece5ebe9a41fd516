# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics weigh`: on the simulated arm, on recordings, and what it says of runs that cannot be compared."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from motion import PAYLOAD, sinusoids, torques, write_recording

import panda_dynamics_ros as pdr
from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.cli import main

pytestmark = pytest.mark.usefixtures("not_drawn")
ROBOT = pdr.load_robot("panda")


def recorded(path: Path, payload: InertialParameters | None, begin: float, seed: int) -> str:
    """Ten seconds at 200 Hz of an arm with an offset of 0.4 N m in each joint that its model does not know."""
    motion, rng = sinusoids(10.0, rate=200.0), np.random.default_rng(seed)
    tau = torques(ROBOT, motion, payload) + 0.4 + 0.02 * rng.normal(size=(len(motion.stamp), 7))
    return str(write_recording(path, ROBOT.joint_names, 1000.0 + begin + motion.stamp, motion.q, motion.dq, tau))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {
        "A1": recorded(folder / "A1", None, 0.0, 1),
        "A2": recorded(folder / "A2", None, 30.0, 6),
        "B1": recorded(folder / "B1", PAYLOAD, 60.0, 2),
        "B2": recorded(folder / "B2", PAYLOAD, 120.0, 3),
        "C": recorded(folder / "C", InertialParameters(0.08, PAYLOAD.com, 1e-4 * np.eye(3)), 90.0, 4),
    }


@pytest.mark.slow
def test_the_simulated_arm_weighs_with_one_command(tmp_path, answer):
    options = ("--trials", "60", "--payload-mass", "0.8", "--seed", "3")
    summary = answer("weigh", "--simulate", *options, "--output", tmp_path)
    assert summary["runs"] == ["run 1 (unloaded)", "run 2 (loaded)", "run 3 (loaded)", "run 4 (unloaded)"]
    assert summary["truth"]["mass"] == 0.8
    assert abs(summary["mass"] - 0.8) < 4.0 * summary["std"][0]
    assert summary["std"][0] < 0.01  # the smoother with the published model: tens of grams
    np.testing.assert_array_less(np.abs(np.subtract(summary["com"], summary["truth"]["com"])), 0.005)
    assert summary["rest"]["within_noise"] is True
    assert summary["rest"]["pauses"] >= 6
    assert json.loads((tmp_path / "summary.json").read_text())["mass"] == summary["mass"]


@pytest.mark.parametrize("loaded", [["B1", "B2"], ["C"]])
def test_the_result_is_printed_with_intervals_and_calls(loaded, runs, tmp_path, capsys):
    words = ["weigh", "--unloaded", runs["A1"], "--loaded", *(runs[name] for name in loaded), "--output", str(tmp_path)]
    assert main(words) == 0
    printed = "".join(line.strip("│ ") + " " for line in capsys.readouterr().out.splitlines())
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert f"{summary['mass']:.4f} ± {1.96 * summary['std'][0]:.4f} kg (95 %)" in printed
    assert f"{1e3 * summary['com'][0]:.1f} ± {1.96e3 * summary['com_std'][0]:.1f}, " in printed
    # The call can be copied: mass, centre of mass and inertia (column-major) are those of the summary.
    (call,) = re.findall(r"robot\.setLoad\((.*)\);", printed)
    numbers = [float(number) for number in re.findall(r"-?\d[\d.e-]*", call)]
    xx, xy, xz, yy, yz, zz = summary["inertia"]
    expected = [summary["mass"], *summary["com"], xx, xy, xz, xy, yy, yz, xz, yz, zz]
    np.testing.assert_allclose(numbers, expected, rtol=1e-5, atol=1e-9)
    assert summary["runs"] == ["A1.mcap (unloaded)", *(f"{name}.mcap (loaded)" for name in loaded)]


def test_recordings_are_weighed_against_what_repeats(runs, tmp_path, answer):
    """0.4 N m in each joint look like 80 g to an estimator that knows only the model."""
    summary = answer(
        "weigh", "--unloaded", runs["A1"], "--loaded", runs["B1"], "--check", runs["B2"], "--output", tmp_path
    )
    assert summary["mass"] == pytest.approx(PAYLOAD.mass, abs=0.005)
    np.testing.assert_allclose(summary["com"], PAYLOAD.com, atol=0.002)
    assert summary["rest"] == {**summary["rest"], "pauses": 0, "within_noise": None}  # this motion has no pause


def test_where_nothing_was_found_there_is_nothing_to_declare(runs, tmp_path, capsys):
    assert main(["weigh", "--unloaded", runs["A1"], "--loaded", runs["A2"], "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "none found" in printed
    assert "setLoad" not in printed


@pytest.mark.slow
def test_a_plan_is_a_trajectory_that_a_controller_takes(tmp_path, answer):
    start = [0.1, -0.6, 0.0, -2.2, 0.0, 1.6, 0.7]
    summary = answer("weigh", "--plan", "--start", *start, "--trials", 60, "--output", tmp_path)
    trajectory = yaml.safe_load((tmp_path / "trajectory.yaml").read_text())
    assert trajectory["joint_names"] == list(ROBOT.joint_names)
    first, last = trajectory["points"][0], trajectory["points"][-1]
    for point in (first, last):
        np.testing.assert_allclose(point["positions"], start, atol=1e-6)
        np.testing.assert_allclose(point["velocities"], 0.0, atol=1e-6)
    assert last["time_from_start"]["sec"] == int(summary["duration_s"])
    assert summary["start"] == start  # as it was stated, without what sums of sines round to (-2.8e-17)
    assert max(summary["velocity_share"]) < 0.7


def test_runs_that_cannot_be_compared_get_one_line(runs, tmp_path, capsys):
    """Other reasons: test_paired_runs.py."""
    words = ["weigh", "--unloaded", runs["A1"], "--loaded", runs["B1"], runs["B1"], "--output", str(tmp_path)]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(r"expected another recording for each run, got the same samples in .*B1\S* and .*B1", error)
