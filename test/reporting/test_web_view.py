# SPDX-License-Identifier: Apache-2.0
"""The live page: what its server holds, what a person sees of it in a browser; and its server, which answers its own
page and programs of this machine, and no web site that a browser visits."""

import http.client
import importlib
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest
from browser import chromium, open_page
from matplotlib.image import imread
from motion import carried, sinusoids, write_csv

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.reporting import web_view
from panda_dynamics_ros.reporting.console import com_text, mass_text
from panda_dynamics_ros.reporting.replay import replay
from panda_dynamics_ros.reporting.scene import arm_scene

viser = pytest.importorskip("viser", reason="the live view needs viser")

Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])
PUSH = [0.0, 60.0, 0.0, 0.0, 0.0, 0.0]  # N, N m
PORT = 18230  # the next free one is taken


def estimate_of(mass: float, mass_std: float = 0.02) -> PayloadEstimate:
    body = pdr.InertialParameters(mass, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
    covariance = np.diag([mass_std**2, *[1e-6] * 9])
    return PayloadEstimate(0.0, body.vector, covariance, np.ones(10, dtype=bool), "estimating")


@pytest.fixture
def view(panda, capsys):
    with web_view.WebView(panda, "a run", PORT) as view:
        yield view
    assert capsys.readouterr().out == ""  # what is printed belongs to the command


def nodes_of(view: web_view.WebView) -> dict[str, Any]:
    """Everything in the server's scene, by path."""
    return dict(view._server.scene._handle_from_node_name)


def test_the_servers_scene_follows_the_arm(view, panda):
    """viser leaves an update out that is within 1e-5 and 1e-8 of what it has (numpy.allclose)."""
    for q in (Q, Q + 0.2):
        view.show(0.0, q, estimate_of(1.0), wrench=PUSH)
        nodes, scene = nodes_of(view), arm_scene(panda, q, estimate_of(1.0), PUSH)
        for primitive in scene.primitives:
            T, node = scene.place(primitive), nodes[f"/{primitive.name}"]
            np.testing.assert_allclose(node.position, T[:3, 3], atol=1e-6)
            w, x, y, z = node.wxyz
            np.testing.assert_allclose(pdr.pose.quaternion_to_matrix([x, y, z, w]), T[:3, :3], atol=1e-4)
        box = next(each for each in scene.primitives if each.name == "payload/box")
        np.testing.assert_allclose(nodes["/payload/box"].scale, box.size)


def test_what_is_put_down_is_gone(view):
    view.show(0.0, Q, estimate_of(1.0))
    assert "/payload/box" in nodes_of(view)
    view.show(1.0, Q, estimate_of(0.0))
    assert "/payload/box" not in nodes_of(view)
    assert "/arm/joint3" in nodes_of(view)


def test_two_views_have_two_addresses(view, panda):
    with web_view.WebView(panda, "another run", int(view.url.rpartition(":")[2])) as other:
        assert other.url != view.url


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_a_person_sees_the_arm_and_the_estimate(view, tmp_path):
    for k in range(50):
        converged = 1.0 + 0.5 * np.exp(-0.1 * k)
        view.show(0.5 * k, Q, estimate_of(converged), [(0.1, "detected pick")], PUSH, remark="1000 Hz")
    with open_page(view.url) as page:
        page.wait_for_text("1.004")
        page.wait_for_text("payload mass, kg (95 % band)")
        page.wait_for_text("centre of mass, mm")
        text = page.text()
        last = estimate_of(converged)
        for words in ("a run", mass_text(last), "estimating", "J7"):
            assert words in text
        assert " ".join(com_text(last).split()) in " ".join(text.split())
        for words in ("24.5 s", "1000 Hz", "0.10 s", "detected pick"):
            assert words in text

        def arm_and_push_are_drawn() -> bool:
            """The links' teal balls and the violet arrow, in the part of the page that is the scene."""
            red, green, blue = np.moveaxis(imread(page.screenshot(tmp_path / "page.png"))[:, :950, :3], -1, 0)
            teal, violet = (green > 1.3 * red) & (blue > 1.3 * red), (red > 1.3 * green) & (blue > 1.3 * green)
            return bool(teal.sum() > 1000 and violet.sum() > 500)

        page.wait_for(arm_and_push_are_drawn, "the arm, and the push on it")
        assert page.complaints == []
        # Another state reaches a page that is open.
        view.show(30.0, Q, estimate_of(0.0))
        page.wait_for_text("centre of mass: not known")


@pytest.mark.slow
def test_an_hour_fits_and_none_of_it_is_forgotten():
    points = [web_view.chart_point(0.2 * k, estimate_of(1.0, 0.01)) for k in range(18_000)]
    time_s = web_view.chart_columns(points)[0][0]
    assert web_view.MOST_POINTS / 2 <= len(time_s) <= web_view.MOST_POINTS
    np.testing.assert_allclose(np.diff(time_s), time_s[1])  # as dense at its beginning as at its end
    assert time_s[0] == 0.0
    assert time_s[-1] > 3600.0 - 2.0 * time_s[1]


def test_the_band_is_the_95_percent_interval_and_ends_within_the_chart():
    points = [web_view.chart_point(0.0, estimate_of(1.0, 0.1)), web_view.chart_point(1.0, estimate_of(0.0, 3.0))]
    (time_s, lower, upper, mass), com = web_view.chart_columns(points)
    np.testing.assert_allclose(time_s, [0.0, 1.0])
    np.testing.assert_allclose(mass, [1.0, 0.0])
    np.testing.assert_allclose((lower[0], upper[0]), (1.0 - 0.196, 1.0 + 0.196))
    assert -1.0 < lower[1] < 0.0 < 1.1 < upper[1] < 2.0
    # The second centre of mass is not known, and not drawn.
    np.testing.assert_allclose(np.transpose(com), [[0.0, 20.0, -15.0, 60.0]])


def test_what_was_known_then_is_shown(panda, tmp_path):
    motion = sinusoids(3.0, 200.0, start=1000.0)
    # Picked up in the middle: an event of which nothing is to be seen before it.
    tau = carried(panda, motion, 1001.5)
    data = pdr.load_dataset(write_csv(tmp_path / "log.csv", motion.stamp, motion.q, motion.dq, tau), panda)
    result = replay(data, panda)
    pick = next(event for event in result.events if event.kind == "pick")
    with web_view.WebView(panda, "a replay", 18530) as view:
        web_view.show_replay_at(data.stamp[0] - 1.0, data, result, view)
        nodes = view._server.scene._handle_from_node_name
        assert "/ee/z" not in nodes  # before the first sample
        for sample in (250, 599, 306):  # before the pick, long after it, and 30 ms after it
            stamp = data.stamp[sample] + 0.002  # between two samples the earlier one holds
            web_view.show_replay_at(stamp, data, result, view, "a remark")
            np.testing.assert_allclose(nodes["/ee/z"].position, panda.pose(data.q[sample])[:3, 3], atol=1e-6)
            words = view._words.content
            known = max(k for k, published in enumerate(result.published) if published <= sample)
            assert mass_text(result.estimates[known]) in words
            assert f"{stamp - data.stamp[0]:.1f} s" in words
            assert ("detected pick" in words) == (pick.stamp <= stamp)
        # A pick is a contact until the payload is known.
        assert "touched at link" in words
        assert any(name.startswith("/contact/") for name in nodes)


msgspec = pytest.importorskip("msgspec")  # these come with viser
client = pytest.importorskip("websockets.sync.client")

SUBPROTOCOL = f"viser-v{viser.__version__}"


@pytest.fixture(scope="module")
def port():
    server = web_view.serve(18630)
    yield server.get_port()
    server.stop()


@pytest.mark.parametrize(
    ("host", "origin", "own"),
    [
        ("localhost:8080", "http://localhost:8080", True),
        ("127.0.0.1:9000", "http://127.0.0.1:9000", True),  # a port that ssh forwards
        ("[::1]:8080", "http://[::1]:8080", True),
        ("localhost:8080", None, True),  # no browser
        ("localhost:8080", "http://localhost:3000", False),  # another server of this machine
        ("localhost:8080", "http://evil.example", False),
        ("localhost:8080", "null", False),  # a page without an origin, such as a sandboxed frame
        ("evil.example:8080", "http://evil.example:8080", False),  # DNS rebinding
        ("localhost.evil.example", None, False),
        ("localhost:99999", "http://localhost:99999", False),
        (None, None, False),
    ],
)
def test_only_the_own_page_is_answered(host, origin, own):
    assert web_view.is_own(host, origin) is own


@pytest.mark.parametrize(
    ("headers", "status"), [({}, 200), ({"Host": "evil.example"}, 403), ({"Origin": "http://evil.example"}, 403)]
)
def test_a_page_for_strangers_is_refused(port, headers, status):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120.0)
    connection.request("GET", "/", headers=headers)
    assert connection.getresponse().status == status


def test_a_socket_for_strangers_is_refused(port):
    with pytest.raises(Exception, match="HTTP 403"):
        client.connect(f"ws://127.0.0.1:{port}", origin="http://evil.example", subprotocols=[SUBPROTOCOL], proxy=None)
    with client.connect(f"ws://127.0.0.1:{port}", subprotocols=[SUBPROTOCOL], proxy=None) as socket:
        assert socket.recv(timeout=120.0)  # the scene


def test_nobody_makes_the_page_public(port, monkeypatch):
    """The request that viser's share button sends: without this server's answer it opens a tunnel."""
    tunnels: list[Any] = []

    class Tunnel:
        def __init__(self, *args: Any) -> None:
            tunnels.append(args)
            raise RuntimeError("a tunnel")

    monkeypatch.setattr(importlib.import_module("viser._viser"), "ViserTunnel", Tunnel)
    with client.connect(f"ws://127.0.0.1:{port}", subprotocols=[SUBPROTOCOL], proxy=None) as socket:
        socket.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
        socket.recv(timeout=120.0)
        time.sleep(1.0)  # a thread of its own answers
    assert tunnels == []


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_a_browser_on_another_site_cannot_read_the_scene(port, tmp_path):
    """The site is another server of this machine; for the browser that is another origin, as any site is."""
    script = f"""
        document.body.innerText = 'waiting';
        const socket = new WebSocket('ws://localhost:{port}', '{SUBPROTOCOL}');
        socket.onmessage = () => document.body.innerText = 'the scene was read';
        socket.onclose = () => {{ if (document.body.innerText == 'waiting') document.body.innerText = 'refused'; }};
    """
    (tmp_path / "index.html").write_text(f"<!doctype html><body><script>{script}</script></body>")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        with open_page(f"http://localhost:{site.server_port}/") as page:
            page.wait_for(lambda: page.text() in ("refused", "the scene was read"), "an answer")
            assert page.text() == "refused"
        site.shutdown()
