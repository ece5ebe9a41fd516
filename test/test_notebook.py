# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/ runs from its first cell to its last, and its results show themselves."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "recording.ipynb"


def test_the_cells_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """As Jupyter does: statements are executed, and the value of a last expression is shown."""
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # what is stored would be of another day
        tree = ast.parse("".join(cell["source"]))
        *statements, last = tree.body
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
    data, result = shown[:2]
    assert len(repr(data)) < 500  # not its arrays
    assert len(repr(result)) < 500
    assert "data:image/png;base64," in result._repr_html_()
    mass = float(capsys.readouterr().out.split()[0])
    assert mass == pytest.approx(1.0, abs=0.15)  # what the simulated arm carries, within three sigma
