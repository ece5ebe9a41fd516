# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics excite`: one motion in its files; `identify`: from a recording to a robot file."""

import json

import numpy as np
import pytest
import yaml
from motion import PAYLOAD, sinusoids, torques, write_csv

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.cli import main


@pytest.fixture
def recording(panda, tmp_path):
    motion = sinusoids(10.0, 100.0)
    return write_csv(tmp_path / "motion.csv", motion.stamp, motion.q, motion.dq, torques(panda, motion))


def test_validation_counts_with_what_the_efforts_are(panda, tmp_path, answer):
    """Currents of motors of 2 N m/A whose rotors have 0.2 kg m^2: their torques would be 0.6 N m."""
    motion = sinusoids(10.0, 100.0)
    currents = 0.5 * (torques(panda, motion) + 0.2 * motion.ddq)
    path = write_csv(tmp_path / "motion.csv", motion.stamp, motion.q, motion.dq, currents)
    motors = ["--effort", "current", "--motor-constants", *7 * [2], "--rotor-inertia", *7 * [0.2]]
    result = answer("identify", path, "--validate", path, "--output", tmp_path / "mine.yaml", *motors)
    assert max(result["validation"][0]["torque_rms"]["identified"]) < 0.05


def test_file_to_robot_and_report(recording, tmp_path, answer):
    out, report = tmp_path / "mine.yaml", tmp_path / "report"
    result = answer("identify", recording, "--validate", recording, "--output", out, "--report", report)
    # The truth is the prior itself; what is left is the filter's.
    assert max(result["torque_rms"]) < 0.05
    assert len(result["base_parameters"]) == 43
    assert max(result["validation"][0]["torque_rms"]["identified"]) < 0.05
    assert load_robot(out).n == 7
    assert sorted(file.name for file in report.iterdir()) == ["prediction_1.png"]


def test_an_implausible_result_is_written_by_force_only(panda, tmp_path, capsys):
    motion = sinusoids(10.0, 100.0)
    tau, out = torques(panda, motion, PAYLOAD), tmp_path / "mine.yaml"
    path = write_csv(tmp_path / "loaded.csv", motion.stamp, motion.q, motion.dq, tau)
    assert main(["identify", str(path), "--output", str(out)]) != 0
    error = capsys.readouterr().err
    assert "the arm carries about" in error
    assert len(error.strip().splitlines()) == 1
    assert not out.exists()
    assert main(["identify", str(path), "--output", str(out), "--force", "--json"]) == 0
    assert "carries about" in json.loads(capsys.readouterr().out)["problems"][0]
    assert out.is_file()


def test_files_hold_one_motion(tmp_path, answer):
    path = tmp_path / "motion.csv"
    assert 1.0 < answer("excite", "--duration", 6, "--trials", 200, "--output", path)["condition_number"] < 1000.0
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert (table.dtype.names or ())[:2] == ("t", "q1")
    assert table["t"][-1] == pytest.approx(6.0)
    trajectory = yaml.safe_load(path.with_suffix(".yaml").read_text())
    assert trajectory["joint_names"][0] == "panda_joint1"
    last = trajectory["points"][-1]
    assert last["time_from_start"] == {"sec": 6, "nanosec": 0}
    # Nine digits are written.
    assert last["positions"][0] == pytest.approx(table["q1"][-1], abs=1e-8)
    assert path.with_suffix(".png").stat().st_size > 10_000
