# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics base-parameters` as a person and as a program use it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.cli import main


def test_table_has_every_parameter_with_its_closed_form(panda: RobotModel, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["base-parameters"]) == 0
    printed = capsys.readouterr().out
    assert "panda: 43 base parameters of 70 inertial parameters" in printed
    base = panda.base_parameters()
    rows = [re.split(r" *│ *", line)[1:-1] for line in printed.splitlines() if line.startswith("│")]
    assert [row[0] for row in rows] == list(base.names)
    for (name, value, unit, form), exact, expression in zip(rows, base.values, base.expressions, strict=True):
        assert float(value) == pytest.approx(exact, rel=1e-5)  # six digits are printed
        assert expression == f"{name} = {form or name}"
        assert unit == ("kg m^2" if name[0] in "XYZ" else "kg m")
    assert "without effect on the torques: m1 mX1 mY1 mZ1 XX1 XY1 XZ1 YY1 YZ1 m2 mZ2" in printed


def test_json_is_complete(robot: RobotModel, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["base-parameters", robot.name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["robot"], found["count"], found["inertial_parameters"]) == (robot.name, 43, 70)
    values = [entry["value"] for entry in found["parameters"]]
    np.testing.assert_allclose(np.array(found["mapping"]) @ robot.inertial_vector, values, rtol=1e-12)
    columns = [entry["column"] for entry in found["parameters"]]
    state = np.linspace(-1.0, 1.0, 7)
    Y = robot.regressor(state, state, state)
    np.testing.assert_allclose(Y[:, columns] @ values, robot.inverse_dynamics(state, state, state), rtol=1e-11)
    assert {"name": "XXR7", "unit": "kg m^2", "expression": "XXR7 = XX7 - YY7"}.items() <= next(
        entry.items() for entry in found["parameters"] if entry["name"] == "XXR7"
    )
