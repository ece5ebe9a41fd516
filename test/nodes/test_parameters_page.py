# SPDX-License-Identifier: Apache-2.0
"""docs/parameters.md is what the nodes declare."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def printed() -> str:
    """By a process of its own: the nodes' names and parameters are those of a user."""
    pytest.importorskip("mujoco", reason="the simulated Panda declares its parameters only with MuJoCo")
    command = [sys.executable, str(ROOT / "docs" / "parameters_page.py")]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_is_what_the_nodes_declare(printed: str) -> None:
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert page.splitlines() == printed.splitlines(), (
        "write it anew: python docs/parameters_page.py > docs/parameters.md"
    )


@pytest.mark.parametrize(
    "row",
    [
        "| `publish_period_s` | double | 0.02 | 0.001 .. 10 | s | at run time |",
        "| `F_T_EE` | double array | identity |  | m, column-major | read-only |",
        "| `seed` | integer | 0 | 0 .. 2147483648 |  | read-only |",
        "| `bag` | string | empty |  |  | read-only |",
    ],
)
def test_a_row_says_all_of_a_parameter(row: str, printed: str) -> None:
    assert f"\n{row} " in printed
