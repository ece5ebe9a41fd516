# SPDX-License-Identifier: Apache-2.0
"""A command's result as one HTML file that needs no network: the tables that it prints, and its pictures."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from panda_dynamics_ros.reporting.console import Table
from panda_dynamics_ros.reporting.style import plain_text

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2em auto;padding:0 1em;color:#1c2430}"
    "td{padding:.2em .8em;border-bottom:1px solid #ddd;overflow-wrap:anywhere}img{max-width:100%}"
)


def write_page(path: Path, tables: Sequence[Table], pictures: Sequence[Path]) -> Path:
    """Write the page, with these PNG files inside, and return its path."""
    parts = []
    for title, rows in tables:
        body = "".join(f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in rows)
        parts.append(f"<h2>{_text(title)}</h2><table>{body}</table>")
    for picture in pictures:
        data = base64.b64encode(picture.read_bytes()).decode("ascii")
        parts.append(f'<p><img alt="{_text(picture.stem)}" src="data:image/png;base64,{data}"></p>')
    head = f'<meta charset="utf-8"><title>{_text(tables[0][0])}</title><style>{STYLE}</style>'
    page = f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
    path.write_text(page, encoding="utf-8")
    return path


def _text(words: str) -> str:
    """Words as they are to be read, whatever they contain."""
    return html.escape(plain_text(words))
