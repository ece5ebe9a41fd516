# SPDX-License-Identifier: Apache-2.0
"""Pages that need no network: one HTML file with its style and its pictures inside."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from panda_dynamics_ros.reporting.style import Figure, plain_text

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2em auto;padding:0 1em;color:#1c2430}"
    "table{border-collapse:collapse;margin:1em 0;font-variant-numeric:tabular-nums}"
    "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}td:first-child{text-align:left}"
    "pre{background:#f0f2f5;border-radius:6px;padding:.7em .9em;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".large{font-size:2.2em;font-weight:650;margin:0}.good{color:#1c7a45}.bad{color:#b3261e}img{max-width:100%}"
)


def write_html(path: Path, title: str, parts: Iterable[str]) -> Path:
    """Write a page with these parts (HTML), and return its path."""
    head = f'<meta charset="utf-8"><title>{text(title)}</title><style>{STYLE}</style>'
    page = f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'
    path.write_text(page, encoding="utf-8")
    return path


def text(words: str) -> str:
    """Words as they are to be read, whatever they contain."""
    return html.escape(plain_text(words))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; no row of heads where there are none."""
    head = f"<tr>{''.join(f'<th>{text(each)}</th>' for each in heads)}</tr>" if heads else ""
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def embedded(picture: Figure | Path, name: str) -> str:
    """A picture, or the PNG file of one, as an element of a page."""
    if isinstance(picture, Path):
        content = picture.read_bytes()
    else:
        buffer = io.BytesIO()
        picture.savefig(buffer, dpi=100, format="png")
        content = buffer.getvalue()
    data = base64.b64encode(content).decode("ascii")
    return f'<p><img alt="{text(name)}" src="data:image/png;base64,{data}"></p>'
