# SPDX-License-Identifier: Apache-2.0
"""The page's server answers its own page and programs of this machine, and no web site that a browser visits."""

import http.client
import importlib
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from browser import chromium, open_page

from panda_dynamics_ros.reporting.web_server import is_own, serve

viser = pytest.importorskip("viser", reason="the live view needs viser")
msgspec = pytest.importorskip("msgspec")  # these come with viser
client = pytest.importorskip("websockets.sync.client")

SUBPROTOCOL = f"viser-v{viser.__version__}"


@pytest.fixture(scope="module")
def port():
    server = serve(18630)
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
    assert is_own(host, origin) is own


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
    ],
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
