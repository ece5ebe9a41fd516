# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics compare`: two results beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques, write_csv

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main

pytestmark = pytest.mark.usefixtures("not_drawn")


def test_two_results_are_compared(
    panda: pdr.RobotModel, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    motion = sinusoids(3.0, 200.0)
    log = write_csv(tmp_path / "log.csv", motion.stamp, motion.q, motion.dq, torques(panda, motion, PAYLOAD))
    found = []
    for name, options in (("one", []), ("other", ["--known-mass", "0.5"])):
        words = ["replay", str(log), "--output", str(tmp_path / name), "--bag-format", "none", "--json"]
        assert main([*words, *options]) == 0
        found.append(json.loads(capsys.readouterr().out))
        curves = np.genfromtxt(tmp_path / name / "payload.csv", delimiter=",", names=True)
        assert curves["mass"][-1] == pytest.approx(found[-1]["payload"]["mass"], rel=1e-4)  # six digits are written
    folders = [str(tmp_path / "one"), str(tmp_path / "other")]
    picture = tmp_path / "both.png"
    request.getfixturevalue("drawn")
    assert main(["compare", *folders, "--output", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert [f"{each['payload']['mass']:.3f} ±" in printed for each in found] == [True, True]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["compare", *folders, "--output", str(picture), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"first": found[0], "second": found[1], "files": [str(picture)]}
