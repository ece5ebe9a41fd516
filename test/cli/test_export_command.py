# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics export` as a person and as a program use it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.codegen import generate

FR3 = load_robot("fr3")


def test_source_goes_to_standard_output_and_counts_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "fr3"]) == 0
    printed = capsys.readouterr()
    code = generate(FR3)
    assert printed.out == code.source
    heading, *rows = printed.err.splitlines()
    assert heading.split() == ["function", "multiplications", "additions", "sin,", "cos"]
    assert [row.split() for row in rows] == [
        [key, str(count.multiplications), str(count.additions), str(count.trigonometric)]
        for key, count in code.counts.items()
    ]


@pytest.mark.parametrize("language", ["c", "python"])
def test_source_goes_to_a_file(language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "arm.txt"
    arguments = ["--language", language, "--output", str(file), "--name", "my_arm", "--functions", "pose"]
    assert main(["export", "fr3", *arguments]) == 0
    assert file.read_text() == generate(FR3, language, ["pose"], "my_arm").source
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"written: {file}\n")


def test_json_has_the_counts_and_the_source_or_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = generate(FR3)
    counts = {key: asdict(count) for key, count in code.counts.items()}
    common = {"robot": "fr3", "language": "c", "name": "fr3", "functions": counts}
    assert main(["export", "fr3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**common, "source": code.source}
    file = tmp_path / "fr3.c"
    assert main(["export", "fr3", "--json", "--output", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == {**common, "output": str(file)}
    assert file.read_text() == code.source


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ur5"], "robot: expected one of"),
        (["--language", "rust"], "invalid choice: 'rust'"),
        (["--functions", "jump"], "invalid choice: 'jump'"),
        (["--name", "my arm"], "name: expected an identifier, got 'my arm'"),
        (["--output", "."], "--output: expected a file, got the folder '.'"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.count("\n") == 1
