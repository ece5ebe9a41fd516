# SPDX-License-Identifier: Apache-2.0
"""Sphinx: the pages of this folder and the API reference from the docstrings. `make docs` builds it."""

from __future__ import annotations

import re
from typing import Any

import panda_dynamics_ros

project = "panda_dynamics_ros"
author = "panda_dynamics_ros maintainers"
copyright = "2026, panda_dynamics_ros maintainers, Apache-2.0"
version = release = panda_dynamics_ros.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
suppress_warnings = ["ref.python"]  # a name in "Returns" that several classes have is no link
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Panda dynamics {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]

# Docstrings: `name` is code; sections are numpydoc's, with "name: what it is" (see `as_numpydoc`).
default_role = "code"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Returns"]  # plain text: numpydoc takes what comes before a colon for a type
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "FloatArray": "FloatArray"}
autodoc_default_options = {"members": True, "imported-members": True, "inherited-members": False}

SECTION = re.compile(r"(Parameters|Attributes|Raises)$")
ENTRY = re.compile(r"([*\w][\w, ]*): (.+)")


def as_numpydoc(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Entries as numpydoc has them: the name in a line of its own; types are in the signature. In place."""
    within, new = False, list[str]()
    for line in lines:
        entry = ENTRY.fullmatch(line) if within else None
        if line.startswith("Reference: "):
            new += ["References", "----------", line.removeprefix("Reference: ")]
            within = False
        elif entry is not None:
            new += [entry[1], f"    {entry[2]}"]
        else:
            within = bool(SECTION.match(line)) or (within and (not line or line.startswith((" ", "-"))))
            new.append(line)
    lines[:] = new


def setup(app: Any) -> None:
    """Sphinx calls this; before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", as_numpydoc, priority=400)
