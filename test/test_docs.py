# SPDX-License-Identifier: Apache-2.0
"""The documentation builds without a warning, its API reference has every public name, its notebook runs."""

import ast
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from launched import module_of
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros import estimation, identification

NAME = "panda_dynamics_ros"
ROOT = Path(__file__).resolve().parents[1]
figures = module_of(ROOT / "docs" / "figures.py")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """All pages as one text."""
    for library in ("sphinx", "myst_parser", "furo", "sympy"):
        pytest.importorskip(library, reason="the documentation is built with sphinx, myst-parser, furo and sympy")
    folder = tmp_path_factory.mktemp("documentation")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "text", ROOT / "docs", folder]
    ran(command, env={**os.environ, "PYTHONPATH": path})
    return (folder / "api.txt").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(reference):
    words = set(reference.replace("(", " ").replace(".", " ").split())
    exported = {name for name, value in vars(estimation).items() if callable(value)}
    names = {*pdr.__all__, *exported, *identification.__all__} - {"pose"}
    assert names <= words
    assert "panda_dynamics_ros.pose.to_column_major" in reference
    head = reference.partition("Conventions")[0]
    assert [name for name in pdr.__all__ if f'"{name}"' not in head] == []


def test_every_page_is_reached_from_the_index():
    index = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "docs" / "api.rst"]:
        assert f"   {page.stem}\n" in index


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_pages_show_what_the_code_prints(page):
    """Outputs of commands that take seconds; `make figures` makes all anew."""
    text = page.read_text(encoding="utf-8")
    with figures.workshop():
        assert figures.differences(text, figures.renewed(text, quick=True)) == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_outside_the_documentation_lead_somewhere(page):
    """Those within docs/ are checked by Sphinx."""
    links = re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if ":" not in link and not (ROOT / link).exists()] == []


def test_the_map_shows_the_house_as_it_is():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (drawn,) = re.findall(r"## Map\n((?:    .+\n)+)", text)
    shown = {name for line in drawn.splitlines() for name in re.findall(r"[\w.]+(?:/|\.py)", line[:22])}
    package = ROOT / NAME
    rooms = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    within = {f"{path.parent.name}/" for path in package.glob("*/*/__init__.py")}
    files = {name for name in shown if name.endswith(".py")}
    assert rooms <= shown - files <= rooms | within
    assert [name for name in files if not (package / name).is_file()] == []
    for file in re.findall(r"^\| `(\S+)` \|", text, re.MULTILINE):
        assert (package / file).is_file(), file


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == pdr.__version__
    assert citation["license"] == "Apache-2.0"


NOTEBOOK = ROOT / "examples" / "recording.ipynb"


def test_the_cells_run_in_order(capsys):
    """As Jupyter does: statements are executed, and the value of a last expression is shown."""
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # what is stored would be of another day
        *statements, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
    data, result = shown[:2]
    assert len(repr(data)) < 500  # not its arrays
    assert len(repr(result)) < 500
    mass = float(capsys.readouterr().out.split()[0])
    assert mass == pytest.approx(1.0, abs=0.15)  # what the simulated arm carries, within three sigma
