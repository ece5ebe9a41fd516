# SPDX-License-Identifier: Apache-2.0
"""A web page that shows a run or a replay: the arm in 3D beside the estimate over time. Served by viser.

The server is for this machine only, and closed to the web sites that its user visits: a page from anywhere can ask the
user's browser to connect to localhost. The browser says where such a page comes from (`Origin`) and which server it
believes to talk to (`Host`); requests in which they are not this server's are refused, as is the request to publish the
page through viser's public tunnel.
"""

import contextlib
import html
import io
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import gravity_torques
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.reporting.console import com_text, fixed, mass_text
from panda_dynamics_ros.reporting.plots import BLUE, GREEN, RED
from panda_dynamics_ros.reporting.replay import Replay
from panda_dynamics_ros.reporting.scene import ARROW, BOX, CYLINDER, LABEL, Primitive, Scene, arm_scene
from panda_dynamics_ros.reporting.summary import EVENT_WORDS
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.untrusted import import_optional

PERIOD = 0.1  # s, between two calls of `show`: what a page can follow, and a small part of a core
TEXT_PERIOD = 0.2  # s, between two texts, and between two points of the charts
UNSEEN = 0.003  # m, by which an arrow may have another length than it has
MOST_POINTS = 800  # in the charts
FLOOR_COLORS = {"cell_color": (222, 226, 232), "section_color": (190, 197, 207), "plane_color": (244, 246, 249)}
FLOOR = {"width": 3.0, "height": 3.0, "cell_size": 0.1, "section_size": 0.5, "shadow_opacity": 0.25}
EYE, TARGET, FIELD_OF_VIEW = (1.5, -1.6, 1.05), (0.2, 0.0, 0.45), 0.68  # m, m, rad
BAND = "rgba(31, 95, 168, 0.18)"
HEADING = '<div style="margin-top:0.5em;font-weight:600">'
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_STARTING = threading.Lock()
_LOGGER = logging.getLogger(__name__)
# A browser opens connections in advance and closes them unused; websockets would print a traceback for each.
_LOGGER.addFilter(lambda record: record.msg != "opening handshake failed")


class WebView(contextlib.AbstractContextManager["WebView"]):
    """A web page that shows a run of an arm while it goes on. Use with `with`.

    `title` says what is seen; `port` is of the page on this machine, the next free one where it is taken; see `serve`.
    """

    def __init__(self, robot: RobotDescription, title: str, port: int) -> None:
        self._server = serve(port)
        self.url = f"http://localhost:{self._server.get_port()}"
        self.robot = robot
        self._text_time, self._points = -math.inf, list[tuple[float, ...]]()
        self._nodes: dict[tuple[str, int], Any] = {}  # viser's, by `_key`
        self._charts: dict[str, Any] = {}
        scene, gui, camera = self._server.scene, self._server.gui, self._server.initial_camera
        camera.position, camera.look_at, camera.fov = EYE, TARGET, FIELD_OF_VIEW
        scene.configure_environment_map("studio", environment_intensity=0.6)
        scene.add_grid("/floor", **FLOOR, **FLOOR_COLORS, plane_opacity=1.0, position=(0.0, 0.0, -0.002))
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="large")
        gui.set_panel_label(title)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(430)
        self._words = gui.add_html("")

    def __exit__(self, *_: object) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def show(
        self,
        time_s: float,
        q: ArrayLike,
        estimate: PayloadEstimate,
        events: Sequence[tuple[float, str]] = (),
        wrench: ArrayLike | None = None,
        remark: str = "",
    ) -> None:
        """Show the arm at joint positions q (n,), rad, and what is known `time_s` seconds after the start.

        `events` are all so far, (seconds after the start, what happened); `wrench` (6,), N and N m, on the flange, in
        base axes, where it is known; `remark` anything else worth a line.
        """
        with self._server.atomic():
            self._show_scene(arm_scene(self.robot, q, estimate, wrench))
            if 0.0 <= time_s - self._text_time < TEXT_PERIOD:
                return
            self._text_time = time_s
            torques = gravity_torques(self.robot, q)
            lines = [f"{stamp:7.2f} s&ensp;{html.escape(what)}" for stamp, what in events[-6:]]
            self._words.content = (
                f'<div style="font-size:0.85em;padding:0 1.6em 0 0.9em">{_headline(estimate)}'
                f"{HEADING}Gravity torques, share of the limit</div>{_bars(torques / self.robot.limits.effort)}"
                f"{HEADING}{time_s:.1f} s&ensp;{html.escape(remark)}</div>{'<br>'.join(lines)}</div>"
            )
            self._points.append(chart_point(time_s, estimate))
            mass, com = chart_columns(self._points)
            curves, band = [(BAND, 1), (BAND, 1), (BLUE, 2)], {"series": (2, 1), "fill": BAND}
            self._draw("payload mass, kg (95 % band)", mass, curves, bands=(band,))
            self._draw("centre of mass, mm (x red, y green, z blue)", com, [(RED, 0), (GREEN, 0), (BLUE, 0)])

    def wait_for_viewer(self) -> None:
        """Until somebody opens the page."""
        while not self._server.get_clients():
            time.sleep(PERIOD)

    def _draw(self, title: str, columns: Sequence[FloatArray], curves: list[tuple[str, int]], **more: Any) -> None:
        """Columns over time. A chart is made when there is something to draw: one that began with nan stays empty."""
        if title in self._charts:
            self._charts[title].data = columns
        elif len(columns[0]) > 0:
            dots = [{"show": not width, "size": 5, "fill": colour} for colour, width in curves]  # lines join over gaps
            series = ({}, *({"stroke": c, "width": w, "points": p} for (c, w), p in zip(curves, dots, strict=True)))
            more |= {"scales": {"x": {"time": False}}, "legend": {"show": False}, "padding": (10, 24, 0, 0)}
            self._charts[title] = self._server.gui.add_uplot(columns, series, title=title, height=190, **more)

    def _show_scene(self, scene: Scene) -> None:
        """Send new primitives, and of those that are there what has changed: one sent anew would stay where it was."""
        shown = {_key(primitive): primitive for primitive in scene.primitives}
        for key in self._nodes.keys() - shown.keys():
            self._nodes.pop(key).remove()
        for key, primitive in shown.items():
            if key not in self._nodes:
                self._nodes[key] = self._add(primitive)
            node, T, (rgb, opacity) = self._nodes[key], scene.place(primitive), _colour(primitive)
            node.position, node.wxyz = T[:3, 3], np.roll(matrix_to_quaternion(T[:3, :3]), 1)
            if primitive.shape == LABEL:
                node.text = primitive.text
            elif primitive.shape != ARROW:  # a solid of size 1, which the page scales
                node.scale, node.color, node.opacity = tuple(primitive.size.tolist()), rgb, opacity

    def _add(self, primitive: Primitive) -> Any:
        """What viser cannot change later; a solid of size 1."""
        scene, name, (rgb, opacity) = self._server.scene, f"/{primitive.name}", _colour(primitive)
        x, _, z = primitive.size.tolist()
        if primitive.shape == LABEL:
            return scene.add_label(name, primitive.text, anchor="center-center")
        if primitive.shape == ARROW:
            (head, length), ends = primitive.head, np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, z]]])
            return scene.add_arrows(name, ends, rgb, shaft_radius=0.5 * x, head_radius=0.5 * head, head_length=length)
        if primitive.shape == BOX:
            return scene.add_box(name, dimensions=(1.0, 1.0, 1.0), cast_shadow=opacity is None)
        if primitive.shape == CYLINDER:
            return scene.add_cylinder(name, 0.5, 1.0, cast_shadow=opacity is None)
        return scene.add_icosphere(name, 0.5, cast_shadow=opacity is None)


def _key(primitive: Primitive) -> tuple[str, int]:
    """The name, and the length of an arrow, which viser cannot change."""
    return primitive.name, round(primitive.size[2] / UNSEEN) if primitive.shape == ARROW else 0


def _colour(primitive: Primitive) -> tuple[tuple[int, ...], float | None]:
    """Red, green and blue up to 255; the opacity, None where nothing shines through."""
    *rgb, opacity = primitive.colour
    return tuple(round(255.0 * channel) for channel in rgb), None if opacity == 1.0 else opacity


def chart_point(time_s: float, estimate: PayloadEstimate) -> tuple[float, ...]:
    """Of both charts: time, s, mass and half its interval, kg, centre of mass, mm, nan where it is not known."""
    com = 1e3 * estimate.com if estimate.com_is_known else np.full(3, np.nan)
    return time_s, estimate.mass, estimate.mass_margin, *com


def chart_columns(points: Sequence[tuple[float, ...]]) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
    """Columns of the charts, of some hundreds of the points however long a run takes.

    Of the mass time, s, both edges of the 95 % band and the estimate, kg; of the centre of mass time, s, and x, y, z,
    mm, where it is known. After a change the band is that of the prior, wider than any payload. It is cut off well
    above the heaviest mass, since the chart's scale follows the numbers that it gets.
    """
    columns = np.array(points[:: 1 + len(points) // MOST_POINTS]).T.copy()  # every point, or every second, third ..
    time_s, mass, margin = columns[:3]
    top = 1.3 * max(0.5, float(mass.max()))
    known = columns[[0, 3, 4, 5]][:, np.isfinite(columns[-1])]
    return (time_s, np.maximum(mass - margin, -0.25 * top), np.minimum(mass + margin, top), mass), tuple(known)


def play_replay(data: JointDataset, result: Replay, view: WebView, rate: float = 1.0) -> None:
    """Show a replay at `rate` times the pace of its recording, from the moment that somebody opens the page."""
    view.wait_for_viewer()
    began, elapsed = time.monotonic(), 0.0
    while elapsed < data.duration_s:
        elapsed = min(rate * (time.monotonic() - began), data.duration_s)
        remark = f"of {data.duration_s:.1f} s, {rate:g} times real time"
        show_replay_at(float(data.stamp[0]) + elapsed, data, result, view, remark)
        time.sleep(PERIOD)


def show_replay_at(stamp: float, data: JointDataset, result: Replay, view: WebView, remark: str = "") -> None:
    """Show the recording at `stamp`, s, with the estimate that was known then. Nothing before the first estimate."""
    sample = int(np.searchsorted(data.stamp, stamp, side="right")) - 1
    if (known := int(np.searchsorted(result.published, sample, side="right")) - 1) < 0:
        return
    first, link, wrench = data.stamp[0], result.touched_link, None
    events = [
        (e.stamp - first, f"detected {EVENT_WORDS[e.kind]}" + (f" on link {e.link}" if e.link else ""))
        for e in result.events
        if e.stamp <= stamp
    ]
    if link[sample] > 0:
        remark, wrench = f"{remark}, touched at link {link[sample]}", result.contact_wrench[sample]
    view.show(stamp - first, data.q[sample], result.estimates[known], events, wrench=wrench, remark=remark)


def _headline(estimate: PayloadEstimate) -> str:
    problem = f'<div style="color:{RED}">{html.escape(estimate.problem)}</div>' if estimate.problem else ""
    return (
        f'<div style="font-size:1.5em;font-weight:600;color:{BLUE}">{mass_text(estimate)}</div>'
        f"<div>centre of mass: {com_text(estimate)}</div><div>{html.escape(estimate.status)}</div>{problem}"
    )


def _bars(shares: FloatArray) -> str:
    """A bar for each joint, from 0 to 1 in amount."""
    return "".join(
        f'<div style="display:flex;gap:0.5em;line-height:1.3">J{joint}<meter value="{abs(share):.3f}" style="flex:1">'
        f'</meter><span style="width:3em;text-align:right">{fixed(100 * share, 0)} %</span></div>'
        for joint, share in enumerate(shares.tolist(), start=1)
    )


def serve(port: int) -> Any:
    """A `viser.ViserServer` on the loopback interface, which prints nothing and rejects requests of other origins.

    `port` is taken, or the next free one. ArgumentError: it is not in 1024..65535, which a user may open.
    MissingDependencyError: viser is not installed, or its requests cannot be checked.
    """
    if not 1024 <= port <= 65535:
        raise ArgumentError(f"port: expected 1024..65535, got {port}")
    viser, websockets_server = (import_optional(name, "viser") for name in ("viser", "websockets.asyncio.server"))

    class Server(viser.ViserServer):  # type: ignore[name-defined]
        def request_share_url(self, verbose: bool = True) -> str | None:
            """None: the page is never published. Clients can send this request, too."""
            return None

    def guarded(*args: Any, process_request: Callable[[Any, Any], Any] | None = None, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
            if len(hosts) != 1 or len(origins) > 1 or not is_own(hosts[0], next(iter(origins), None)):
                return connection.respond(HTTPStatus.FORBIDDEN, "This page is for its own machine only.\n")
            return process_request(connection, request) if process_request is not None else None

        calls.append(args)
        return start(*args, process_request=process, logger=_LOGGER, **options)

    # viser has no option for it: its call of `serve` is given another `process_request`.
    start, calls = websockets_server.serve, list[Any]()
    with _STARTING, contextlib.redirect_stdout(io.StringIO()):
        websockets_server.serve = guarded
        try:
            server = Server(host="127.0.0.1", port=port, label="panda-dynamics", verbose=False)
        finally:
            websockets_server.serve = start
        if not calls:
            server.stop()
            version = getattr(viser, "__version__", "unknown")
            raise MissingDependencyError(f"viser: expected a version whose requests can be checked, got {version}")
    return server


def is_own(host: str | None, origin: str | None) -> bool:
    """Whether a request with these headers is for this server and from a page of its own, or from no browser.

    A `Host` other than the loopback interface means that a stranger's name was made to point to this machine ("DNS
    rebinding"); a browser adds `Origin` to each connection that a page opens.
    """
    try:
        to, by = urlsplit(f"//{host or ''}"), urlsplit(origin or f"http://{host}")
        same = (by.hostname, by.port) == (to.hostname, to.port)
    except ValueError:  # a port that is no number
        return False
    return to.hostname in LOOPBACK and by.scheme == "http" and same
