# SPDX-License-Identifier: Apache-2.0
"""Pictures look the same in every folder and for every user: settings of matplotlib in a folder are not theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRAW = """
import sys
{before}
from panda_dynamics_ros.reporting.style import Figure, styled

@styled
def draw():
    figure = Figure(figsize=(2.0, 2.0))
    figure.subplots().set_title("torque")
    figure.savefig(sys.argv[1])

draw()
"""


def drawn(folder: Path, before: str = "") -> bytes:
    """A picture by a process that works in the folder."""
    code, picture = DRAW.format(before=before), folder / "picture.png"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(picture)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return picture.read_bytes()


@pytest.mark.parametrize("content", [b"text.usetex: True\nfont.size: 4000\n", b"axes.facecolor: \xff\xfe\n"])
def test_a_folders_settings_change_no_picture(content: bytes, tmp_path: Path) -> None:
    expected = drawn(tmp_path)
    (tmp_path / "matplotlibrc").write_bytes(content)
    assert drawn(tmp_path) == expected


def test_what_a_program_has_set_before_changes_no_picture(tmp_path: Path) -> None:
    """As a notebook does, which imports matplotlib first."""
    expected = drawn(tmp_path)
    before = "import matplotlib; matplotlib.rcParams.update({'font.size': 40, 'axes.facecolor': 'red'})"
    assert drawn(tmp_path, before) == expected
