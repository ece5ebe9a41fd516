# SPDX-License-Identifier: Apache-2.0
"""Pages that need no network: one HTML file with its style and its pictures inside."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path

from matplotlib.figure import Figure

from panda_dynamics_ros.reporting.plots import plain_text

STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}"
    "table.small{font-size:12px;line-height:1.2}table.small td:nth-child(odd){text-align:left}"
    "td:first-child,th:first-child{text-align:left}img{max-width:100%}"
)


def write_html(path: Path, title: str, body: str, style: str = STYLE) -> Path:
    """Write a page with this body (HTML), and return its path."""
    head = f'<meta charset="utf-8"><title>{html.escape(plain_text(title))}</title><style>{style}</style>'
    page = f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'
    path.write_text(page, encoding="utf-8")
    return path


def embedded(picture: Figure | Path, name: str) -> str:
    """A picture, or the PNG file of one, as an element of a page."""
    if isinstance(picture, Path):
        content = picture.read_bytes()
    else:
        buffer = io.BytesIO()
        picture.savefig(buffer, dpi=100, format="png")
        content = buffer.getvalue()
    data = base64.b64encode(content).decode("ascii")
    return f'<p><img alt="{html.escape(plain_text(name))}" src="data:image/png;base64,{data}"></p>'
