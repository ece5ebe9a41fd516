# SPDX-License-Identifier: Apache-2.0
"""The documentation builds without a warning, and its API reference has every public name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros import estimation, identification

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All pages as one text."""
    for library in ("sphinx", "myst_parser", "furo", "sympy"):
        pytest.importorskip(library, reason="the documentation is built with sphinx, myst-parser, furo and sympy")
    folder = tmp_path_factory.mktemp("documentation")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "text", ROOT / "docs", folder],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "api.txt").read_text(encoding="utf-8")


def test_every_public_name_is_in_the_reference(reference: str) -> None:
    words = set(reference.replace("(", " ").replace(".", " ").split())
    names = {*pdr.__all__, *estimation.__all__, *identification.__all__} - {"pose"}
    assert names <= words
    assert "panda_dynamics_ros.pose.to_column_major" in reference


def test_parameters_are_named_beside_what_they_are(reference: str) -> None:
    """That the sections of docstrings are understood, not printed as they stand."""
    assert "* **frame** -- base, joint1 .. jointn, flange or ee." in reference
    assert not re.search(r"(Parameters|Raises|Returns)\n *---", reference)


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "docs" / "api.rst"]:
        assert f"   {page.stem}\n" in index
