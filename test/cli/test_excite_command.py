# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics excite`: the files that it writes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from panda_dynamics_ros.cli import main


def test_files_hold_one_motion(tmp_path, capsys):
    path = tmp_path / "motion.csv"
    assert main(["excite", "--duration", "6", "--trials", "200", "--output", str(path), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert 1.0 < summary["condition_number"] < 1000.0
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
