# SPDX-License-Identifier: Apache-2.0
"""Sphinx: the pages of this folder and the API reference from the docstrings. `make docs` builds it."""

from __future__ import annotations

import inspect
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
myst_heading_anchors = 3  # other pages link to sections
smartquotes_action = "qe"  # options keep their two dashes
html_theme = "furo"
html_title = f"Panda dynamics {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]

# Docstrings: `name` is code; `as_numpydoc` says how parameters, results and errors are written.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
# What a function returns is plain text (numpydoc takes what comes before a colon for a type); attributes look like
# parameters.
napoleon_custom_sections = ["Returns", ("Attributes", "params_style")]
napoleon_attr_annotations = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "FloatArray": "FloatArray"}
autodoc_default_options = {"members": True, "imported-members": True, "inherited-members": False}

SECTION = re.compile(r"(Parameters|Attributes|Raises)$")
ARRAY = r"~?(?:numpy\.)?ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?(?:numpy\.)?dtype\[~?(?:\w+\.)?\w+\]\]"
TYPES = re.compile(rf"TypeAliasForwardRef\('(\w+)'\)|{ARRAY}")
UNIT = re.compile(r"^(\w)\.(?= |$)")  # "s." is no item of a list
HIDDEN = "\ue000"
ENTRY = re.compile(r"([*\w][\w, *]*): (.+)")
RESULT = re.compile(r"(Returns|Raises|Warns|Reference:) (.+)")
SECTIONS = {"Reference:": "References"}


def attributes_of(what: str, obj: Any) -> set[str]:
    """What a class and its instances have."""
    if what != "class":
        return set()
    set_by_constructor = obj.__init__.__code__.co_names if inspect.isfunction(obj.__init__) else ()
    return {*dir(obj), *(name for each in obj.__mro__ for name in inspect.get_annotations(each)), *set_by_constructor}


def parameters_of(what: str, obj: Any) -> set[str]:
    """Of a function, or of the constructor of a class; a dataclass and a named tuple have attributes only."""
    if what == "class" and hasattr(obj, "__match_args__"):
        return set()
    try:
        return set(inspect.signature(obj.__init__ if what == "class" else obj).parameters)
    except (TypeError, ValueError):  # it is none of Python's
        return set()


def as_numpydoc(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The compact form of this package's docstrings as sections of numpydoc; types are in the signature. In place.

    "name: text" is a parameter of the function or an attribute of the class, wherever such a name begins a line;
    "Returns text", "Raises Error: text" and "Reference: text" say what they are. Further lines of an entry are
    indented. A property's colon is hidden from napoleon, which would take what comes before it for a type.
    """
    known = {"Parameters": parameters_of(what, obj), "Attributes": attributes_of(what, obj)}
    section, new = "", list[str]()

    def begin(title: str) -> None:
        nonlocal section
        if title != section:
            new.extend(["", title, "-" * len(title)])
        section = title

    def titles(names: str) -> list[str]:
        return [title for title, those in known.items() if {each.strip("* ") for each in names.split(",")} <= those]

    for line in lines:
        entry, result = ENTRY.fullmatch(line), RESULT.fullmatch(line)
        if SECTION.match(line):
            section = line
            new.append(line)
        elif result is not None:
            begin(SECTIONS.get(result[1], result[1]))
            kind, _, text = result[2].partition(": ")
            new += [kind, "    " + text] if result[1] in ("Raises", "Warns") else [result[2]]
        elif entry is not None and (section or titles(entry[1])):
            fitting = titles(entry[1]) or [section]
            begin(section if section in fitting else fitting[0])
            new += [entry[1], "    " + UNIT.sub(r"\\\1.", entry[2])]
        elif section == "Returns" and line.startswith(" "):
            new.append(line.strip())
        else:
            section = section if not line or line.startswith((" ", "-")) else ""
            new.append(line)
    lines[:] = [line.replace(":", HIDDEN) if what == "property" else line for line in new]


def show_colons(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo what `as_numpydoc` has hidden. In place."""
    lines[:] = [line.replace(HIDDEN, ":") for line in lines]


def without_fields(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which the docstring of the class describes."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def plain_types(app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returned: str) -> Any:
    """Type aliases by their names."""
    return tuple(text and TYPES.sub(lambda found: found[1] or "NDArray", text) for text in (signature, returned))


def setup(app: Any) -> None:
    """Sphinx calls this; before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", as_numpydoc, priority=400)
    app.connect("autodoc-process-docstring", show_colons, priority=600)
    app.connect("autodoc-process-signature", plain_types)
    app.connect("autodoc-skip-member", without_fields)
