# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics export` as a person and as a program use it."""

import json
import shutil
import subprocess
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


def test_a_header_comes_with_a_c_file(tmp_path: Path) -> None:
    """A program that includes only the header links with the source, in C and in C++."""
    assert main(["export", "fr3", "--functions", "gravity_torques", "pose", "--output", str(tmp_path / "arm.c")]) == 0
    (tmp_path / "main.c").write_text('#include "arm.h"\nint main(void) { double q[7] = {0}, tau[7]; '
                                     "fr3_gravity_torques(q, tau); return tau[0] != 0.0; }\n")  # fmt: skip
    for compiler in ("cc", "c++"):
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler} on this machine")
        sources = [str(tmp_path / "main.c"), str(tmp_path / "arm.c")]
        subprocess.run([compiler, *sources, "-lm", "-o", str(tmp_path / "program")], check=True)
        assert subprocess.run([str(tmp_path / "program")], check=False).returncode == 0


def test_json_has_the_counts_and_the_source_or_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = generate(FR3)
    counts = {key: asdict(count) for key, count in code.counts.items()}
    common = {"robot": "fr3", "language": "c", "name": "fr3", "functions": counts}
    assert main(["export", "fr3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**common, "source": code.source}
    file = tmp_path / "fr3.c"
    assert main(["export", "fr3", "--json", "--output", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == {**common, "output": str(file), "header": str(tmp_path / "fr3.h")}
    assert file.read_text() == code.source
