# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics inertia`, `base-parameters` and `export` as a person and as a program use them."""

import re

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros import load_robot
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.codegen import generate

UPPER = np.triu_indices(3)
READY = [0.0, -0.785, -1e-3, -2.356, 0.0, 1.571, 0.785]


@pytest.mark.parametrize("name", ["panda", "panda_ledezma", "fr3"])
def test_inertia_as_json_has_every_digit(name, answer):
    robot = pdr.load_robot(name)
    found = answer("inertia", name, "--q", *READY)
    assert (found["robot"], found["q"]) == (name, READY)
    for i, link in enumerate(robot.links):
        joint, base, placed = found["joint"][i], found["base"][i], link.transformed(robot.pose(READY, f"joint{i + 1}"))
        assert [joint["mass"], *joint["first_moment"], *joint["inertia_about_origin"]] == link.vector.tolist()
        assert (joint["com"], joint["inertia_about_com"]) == (link.com.tolist(), link.inertia[UPPER].tolist())
        assert (base["mass"], base["com"]) == (link.mass, placed.com.tolist())
        assert base["inertia_about_com"] == placed.inertia[UPPER].tolist()


def test_with_the_hand(answer):
    found = answer("inertia", "--end-effector", "hand")
    assert found["robot"] == "panda+hand"
    assert found["joint"][6]["mass"] == pytest.approx(0.735522 + 0.76, abs=1e-12)


def numbers(line: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+\.\d+", line)]


def test_tables_for_a_person(capsys):
    """The table of document 000 as printed there, then about the CoM, then in base, six decimals each."""
    assert main(["inertia", "panda_ledezma"]) == 0
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if re.match(r" +[1-7] +\d", line)]
    assert len(rows) == 21
    printed = [3.2286, 0.0888, 0.1267, -0.2147, 0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182]
    assert numbers(rows[2]) == pytest.approx(printed, abs=1e-9)
    arm = pdr.load_robot("panda_ledezma")
    link = arm.links[2]
    assert numbers(rows[9]) == pytest.approx([link.mass, *link.com, *link.inertia[UPPER]], abs=5.1e-7)
    placed = link.transformed(arm.pose(np.zeros(7), "joint3"))
    assert numbers(rows[16]) == pytest.approx([link.mass, *placed.com, *placed.inertia[UPPER]], abs=5.1e-7)
    assert max(map(len, text.splitlines())) <= 118
    assert "in base {S} at q = 0 0 0 0 0 0 0" in text


def test_every_base_parameter_has_its_closed_form(panda, capsys):
    assert main(["base-parameters"]) == 0
    printed = capsys.readouterr().out
    assert "panda: 43 base parameters of 70 inertial parameters" in printed
    base = panda.base_parameters()
    rows = re.findall(r"^(\w+) +(\S+) (kg m(?:\^2)?) *(?:= (.*))?$", printed, re.MULTILINE)
    assert [row[0] for row in rows] == list(base.names)
    for (name, value, unit, form), exact, expression in zip(rows, base.values, base.expressions, strict=True):
        assert float(value) == pytest.approx(exact, rel=1e-5)  # six digits are printed
        assert expression == f"{name} = {form or name}"
        assert unit == ("kg m^2" if name[0] in "XYZ" else "kg m")
    assert "without effect on the torques: m1 mX1 mY1 mZ1 XX1 XY1 XZ1 YY1 YZ1 m2 mZ2" in printed


def test_base_parameters_as_json_are_complete(robot, answer):
    found = answer("base-parameters", robot.name)
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


FR3 = load_robot("fr3")


def test_source_with_its_counts_goes_to_standard_output(capsys):
    assert main(["export", "fr3"]) == 0
    printed = capsys.readouterr().out
    code = generate(FR3)
    assert printed == code.source
    for key, count in code.counts.items():
        assert re.search(rf"{key} +{count.multiplications} multiplications, +{count.additions} additions", printed)


def test_json_has_the_counts_and_the_source_or_where_it_is(tmp_path, answer):
    code = generate(FR3)
    counts = {key: count._asdict() for key, count in code.counts.items()}
    common = {"robot": "fr3", "language": "c", "name": "fr3", "functions": counts}
    assert answer("export", "fr3") == {**common, "source": code.source}
    file = tmp_path / "fr3.c"
    assert answer("export", "fr3", "--output", file) == {**common, "output": str(file)}
    assert file.read_text() == code.source
