# SPDX-License-Identifier: Apache-2.0
"""The panel beside a live scene: the estimate in words and over time, joint torques, events."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import gravity_torques
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.reporting.console import com_text, mass_text
from panda_dynamics_ros.reporting.scene.forces import share_colour
from panda_dynamics_ros.robot import RobotDescription

TEXT_PERIOD = 0.2  # s, between two texts
POINT_PERIOD = 0.2  # s, between two points of the charts at first
MOST_POINTS = 800  # beyond, every other one is dropped and the period doubled
COLUMNS = 8  # of a row: time, lower and upper edge of the mass's band, mass, true mass, CoM
BLUE, RED, GREEN, BAND = "#1f5fa8", "#c0392b", "#2e8b57", "rgba(31, 95, 168, 0.18)"
LAST = 1e9  # in the order of the panel
PADDING = (10, 24, 0, 0)  # px: the uppermost number of an axis needs room
TEXT = "font-size:0.85em;padding:0 1.6em 0 0.9em"
HEADING = "margin-top:0.5em;font-weight:600"


class WebPanel:
    """The panel on the right-hand side of a viser page."""

    def __init__(self, gui: Any, robot: RobotDescription, title: str) -> None:
        self._gui, self._robot = gui, robot
        self._history, self._text_time = History(), -math.inf
        gui.set_panel_label(title)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(430)
        self._words = gui.add_html("")
        self._mass: Any = None
        self._com: Any = None
        self._layers = gui.add_folder("Show", expand_by_default=False, order=LAST)

    def add_switch(self, words: str) -> Any:
        """A checkbox, on at first."""
        with self._layers:
            return self._gui.add_checkbox(words, True)

    def show(
        self,
        time_s: float,
        q: ArrayLike,
        estimate: PayloadEstimate,
        events: Sequence[tuple[float, str]],
        truth_mass: float | None,
        remark: str,
    ) -> None:
        """Show what is known `time_s` seconds after the start (see `WebView.show`)."""
        if not 0.0 <= time_s - self._text_time < TEXT_PERIOD:
            self._text_time = time_s
            parts = (
                _headline(estimate, truth_mass),
                _torque_bars(gravity_torques(self._robot, q), self._robot.limits.effort),
                _event_list(time_s, events, remark),
            )
            self._words.content = f'<div style="{TEXT}">{"".join(parts)}</div>'
        if self._history.add(time_s, estimate, truth_mass):
            self._mass = self._drawn(self._mass, self._mass_chart, self._history.mass_columns())
            self._com = self._drawn(self._com, self._com_chart, self._history.com_columns())

    def _drawn(self, chart: Any, make: Callable[[tuple[FloatArray, ...]], Any], columns: tuple[FloatArray, ...]) -> Any:
        """The chart with these columns; made when there is something to draw: one that began with nan stays empty."""
        if chart is None:
            return make(columns) if len(columns[0]) > 0 else None
        chart.data = columns
        return chart

    def _mass_chart(self, columns: tuple[FloatArray, ...]) -> Any:
        curves = (
            {"stroke": BAND, "width": 1},
            {"stroke": BAND, "width": 1},
            {"stroke": BLUE, "width": 2},
            {"stroke": RED, "width": 1.5, "dash": [6, 4]},
        )[: len(columns) - 1]
        truth = "; truth dashed" if len(columns) == 5 else ""
        band = {"series": (2, 1), "fill": BAND}
        return self._chart(columns, f"payload mass, kg (95 % band{truth})", curves, 200, bands=(band,))

    def _com_chart(self, columns: tuple[FloatArray, ...]) -> Any:
        curves = tuple({"stroke": colour, "width": 2} for colour in (RED, GREEN, BLUE))
        return self._chart(columns, "centre of mass, mm (x red, y green, z blue)", curves, 170)

    def _chart(
        self, columns: tuple[FloatArray, ...], title: str, curves: tuple[dict[str, Any], ...], height: int, **more: Any
    ) -> Any:
        """A chart over time. Its options stay: a chart that is made anew forgets what it showed."""
        series = ({}, *({**curve, "points": {"show": False}} for curve in curves))
        x = {"x": {"time": False}}
        legend = {"show": False}
        return self._gui.add_uplot(
            columns, series, title=title, scales=x, legend=legend, height=height, padding=PADDING, **more
        )


class History:
    """Points of the estimate over time for the charts: some hundreds, however long a run takes."""

    def __init__(self) -> None:
        self._period = POINT_PERIOD
        self._rows: list[tuple[float, ...]] = []

    def add(self, time_s: float, estimate: PayloadEstimate, truth_mass: float | None) -> bool:
        """Add a point unless the last one is too recent; returns whether it was added.

        Time that steps back starts a new history.
        """
        if self._rows and time_s < self._rows[-1][0]:
            self._period, self._rows = POINT_PERIOD, []
        if self._rows and time_s - self._rows[-1][0] < self._period:
            return False
        truth = np.nan if truth_mass is None else truth_mass
        com = 1e3 * estimate.com if estimate.com_is_known else np.full(3, np.nan)
        band = estimate.mass_margin
        self._rows.append((time_s, estimate.mass - band, estimate.mass + band, estimate.mass, truth, *com))
        if len(self._rows) > MOST_POINTS:
            self._rows = self._rows[::2]
            self._period *= 2.0
        return True

    def com_columns(self) -> tuple[FloatArray, ...]:
        """Time, s, and the centre of mass, mm, where it is known."""
        known = [(row[0], *row[-3:]) for row in self._rows if np.isfinite(row[-1])]
        return tuple(np.array(known).reshape(-1, 4).T.copy())

    def mass_columns(self) -> tuple[FloatArray, ...]:
        """Time, s; both edges of the 95 % band, the estimate and, where it is known, the truth, kg.

        After a change the band is that of the prior, wider than any payload. It is cut off well above the heaviest
        mass, since the chart's scale follows the numbers that it gets.
        """
        time_s, lower, upper, mass, truth = np.array(self._rows).reshape(-1, COLUMNS)[:, :5].T.copy()
        known = [mass] if np.isnan(truth).all() else [mass, truth]
        top = 1.3 * max(0.5, float(np.nanmax(known, initial=0.0)))
        return time_s, np.maximum(lower, -0.25 * top), np.minimum(upper, top), *known


def _headline(estimate: PayloadEstimate, truth_mass: float | None) -> str:
    truth = "" if truth_mass is None else f' <span style="color:{RED}">truly {truth_mass:.3f} kg</span>'
    problem = f'<div style="color:{RED}">{html.escape(estimate.problem)}</div>' if estimate.problem else ""
    return (
        f'<div style="font-size:1.5em;font-weight:600;color:{BLUE}">{mass_text(estimate)}</div>'
        f"<div>centre of mass: {com_text(estimate)}</div><div>{html.escape(estimate.status)}{truth}</div>{problem}"
    )


def _torque_bars(torques: FloatArray, limits: FloatArray) -> str:
    """One bar per joint: gravity torque as a share of the limit, to the right where positive."""
    rows = []
    for joint, (torque, limit) in enumerate(zip(torques, limits, strict=True), start=1):
        share = float(np.clip(torque / limit, -1.0, 1.0))
        colour = "#" + "".join(f"{round(255 * channel):02x}" for channel in share_colour(abs(share))[:3])
        left, width = 50.0 + 50.0 * min(share, 0.0), 50.0 * abs(share)
        rows.append(
            f'<div style="display:flex;align-items:center;gap:0.5em;line-height:1.3">'
            f'<span style="width:1.6em">J{joint}</span>'
            f'<span style="flex:1;height:0.55em;background:#eceff3;position:relative">'
            f'<span style="position:absolute;left:{left:.1f}%;width:{width:.1f}%;height:100%;'
            f'background:{colour}"></span>'
            f'<span style="position:absolute;left:50%;width:1px;height:100%;background:#98a1ad"></span></span>'
            f'<span style="width:5.2em;text-align:right">{round(torque, 1) + 0.0:.1f} N m</span></div>'
        )
    return f'<div style="{HEADING}">Gravity torques within the limits of the joints</div>{"".join(rows)}'


def _event_list(time_s: float, events: Sequence[tuple[float, str]], remark: str) -> str:
    lines = "".join(f"<div>{stamp:7.2f} s&ensp;{html.escape(what)}</div>" for stamp, what in events[-6:])
    return (
        f'<div style="{HEADING}">{time_s:.1f} s&ensp;'
        f'<span style="font-weight:400">{html.escape(remark)}</span></div>{lines}'
    )
