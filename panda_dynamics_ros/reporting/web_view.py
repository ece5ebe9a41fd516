# SPDX-License-Identifier: Apache-2.0
"""A web page that shows a run or a replay: the arm in 3D beside the estimate over time. Served by viser."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.reporting.web_panel import WebPanel
from panda_dynamics_ros.reporting.web_scene import WebScene
from panda_dynamics_ros.reporting.web_server import serve
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset

PERIOD = 0.1  # s, between two calls of `show`: what a page can follow, and a small part of a core
LAYERS = {
    "arm": "arm",
    "com": "links' centres of mass",
    "gravity": "gravity torques",
    "payload": "payload",
    "contact": "contact",
}
GROUND, CELLS, SECTIONS = (244, 246, 249), (222, 226, 232), (190, 197, 207)
EYE, TARGET, FIELD_OF_VIEW = (1.5, -1.6, 1.05), (0.2, 0.0, 0.45), 0.68  # m, m, rad


class WebView:
    """A web page that shows a run while it goes on. Use with `with`, or close it.

    Parameters
    ----------
    robot: the arm to draw.
    title: what is seen.
    port: of the page on this machine; the next free one where it is taken.

    Raises
    ------
    ArgumentError: `port` is not one that a user may open.
    MissingDependencyError: viser is not installed.
    """

    def __init__(self, robot: RobotDescription, title: str, port: int) -> None:
        self._server = serve(port)
        self.url = f"http://localhost:{self._server.get_port()}"
        self.robot = robot
        self._maker, self._scene = ArmScene(robot), WebScene(self._server)
        _set_stage(self._server)
        self._panel = WebPanel(self._server.gui, robot, title)
        for layer, words in LAYERS.items():
            self._add_switch(layer, words)

    def __enter__(self) -> WebView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def show(
        self,
        time_s: float,
        q: ArrayLike,
        estimate: PayloadEstimate,
        events: Sequence[tuple[float, str]] = (),
        truth_mass: float | None = None,
        wrench: ArrayLike | None = None,
        remark: str = "",
    ) -> None:
        """Show the arm at joint positions q (n,), rad, and what is known `time_s` seconds after the start.

        Parameters
        ----------
        events: (seconds after the start, what happened), all so far.
        truth_mass: kg, where somebody knows it.
        wrench: (6,), N and N m, on the flange, in base axes, where it is known.
        remark: anything else worth a line.
        """
        with self._server.atomic():
            self._scene.show(self._maker.at(q, estimate, wrench))
            self._panel.show(time_s, q, estimate, events, truth_mass, remark)

    def wait_for_viewer(self) -> None:
        """Until somebody opens the page."""
        while not self._server.get_clients():
            time.sleep(PERIOD)

    def close(self) -> None:
        """Stop serving the page."""
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def _add_switch(self, layer: str, words: str) -> None:
        box = self._panel.add_switch(words)
        box.on_update(lambda _: self._scene.set_visible(layer, box.value))


def play_replay(data: JointDataset, result: Replay, view: WebView, rate: float = 1.0) -> None:
    """Show a replay at the pace of its recording, from the moment that somebody opens the page.

    Parameters
    ----------
    rate: speed, times real time.
    """
    view.wait_for_viewer()
    began, first = time.monotonic(), float(data.stamp[0])
    elapsed = 0.0
    while elapsed < data.duration_s:
        elapsed = min(rate * (time.monotonic() - began), data.duration_s)
        show_replay_at(first + elapsed, data, result, view, f"of {data.duration_s:.1f} s, {rate:g} times real time")
        time.sleep(PERIOD)


def show_replay_at(stamp: float, data: JointDataset, result: Replay, view: WebView, remark: str = "") -> None:
    """Show the recording at `stamp`, s, with the estimate that was known then. Nothing before the first estimate."""
    sample = int(np.searchsorted(data.stamp, stamp, side="right")) - 1
    known = int(np.searchsorted(result.published, sample, side="right")) - 1
    if known < 0:
        return
    first = data.stamp[0]
    events = [(event.stamp - first, f"detected {event.kind}") for event in result.events if event.stamp <= stamp]
    link, wrench = result.touched_link, None
    begins = np.flatnonzero((link[1 : sample + 1] > 0) & (link[:sample] == 0)) + 1
    events += [(data.stamp[k] - first, f"contact on link {link[k]}") for k in begins]
    if link[sample] > 0:
        remark, wrench = f"{remark}, touched at link {link[sample]}", result.contact_wrench[sample]
    view.show(stamp - first, data.q[sample], result.estimates[known], sorted(events), wrench=wrench, remark=remark)


def _set_stage(server: Any) -> None:
    """Floor, light and eye."""
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
    camera = server.initial_camera
    camera.position, camera.look_at, camera.fov = EYE, TARGET, FIELD_OF_VIEW
    server.scene.configure_environment_map("studio", environment_intensity=0.6)
    server.scene.add_grid(
        "/floor",
        width=3.0,
        height=3.0,
        cell_size=0.1,
        section_size=0.5,
        cell_color=CELLS,
        section_color=SECTIONS,
        plane_color=GROUND,
        plane_opacity=1.0,
        shadow_opacity=0.25,
        position=(0.0, 0.0, -0.002),
    )
