# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests of web pages and for the documentation's picture of one."""

import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import waiting
from waiting import FIRST_START, PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--hide-scrollbars",
)  # fmt: skip


def chromium() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """A page in a headless Chromium, spoken to over the Chrome DevTools Protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._calls = socket, 0
        self.complaints: list[str] = []
        for domain in ("Runtime", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer of one method of the protocol."""
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=FIRST_START))  # a processor draws the scene
            if message.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(str(message["params"]["exceptionDetails"]))
            if message.get("id") == self._calls:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def text(self) -> str:
        """What a person can read."""
        return str(self.evaluate("document.body.innerText"))

    def wait_for_text(self, words: str, patience: float = PATIENCE) -> None:
        """Until the words are there to read."""
        self.wait_for(lambda: words in self.text(), repr(words), patience)

    def wait_for(self, condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Until the condition holds; fails with `what` was waited for, and what was there to read."""
        waiting.until(condition, lambda: f"{what} in: {self.text()!r}", patience)

    def screenshot(self, path: Path) -> Path:
        """What a person sees, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path


@contextlib.contextmanager
def open_page(url: str, width: int = 1400, height: int = 860) -> Iterator[Page]:
    """A page of this size, px."""
    from websockets.sync.client import connect

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [str(chromium()), *OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        browser = subprocess.Popen([*command, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(_debugger(Path(profile)), max_size=None, proxy=None) as socket:
                page = Page(socket)
                size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
                page.call("Emulation.setDeviceMetricsOverride", **size)
                page.call("Page.navigate", url=url)
                yield page
        finally:
            browser.kill()  # its profile is thrown away; asked to end, it was seen to take longer than ten seconds
            browser.wait()


def _debugger(profile: Path) -> str:
    """The address of the first page's debugger; Chromium writes its port into its profile."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError, IndexError, ValueError):
            port = int((profile / "DevToolsActivePort").read_text().splitlines()[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=5.0) as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise TimeoutError(f"Chromium did not open its debugger within {PATIENCE:.0f} s")
