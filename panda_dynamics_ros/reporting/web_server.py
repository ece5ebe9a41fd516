# SPDX-License-Identifier: Apache-2.0
"""A viser server for this machine only, closed to the web sites that its user visits.

A page from anywhere can ask the user's browser to connect to localhost. The browser says where such a page comes from
(`Origin`) and which server it believes to talk to (`Host`); requests in which they are not this server's are refused,
as is the request to publish the page through viser's public tunnel.
"""

import contextlib
import io
import logging
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.untrusted import import_optional

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_STARTING = threading.Lock()
_LOGGER = logging.getLogger(__name__)
# A browser opens connections in advance and closes them unused; websockets would print a traceback for each.
_LOGGER.addFilter(lambda record: record.msg != "opening handshake failed")


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
