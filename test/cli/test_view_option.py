# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics replay --view`, as a user starts it, opens the page and ends it."""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from browser import chromium, open_page
from motion import PAYLOAD, sinusoids, torques, write_csv

pytestmark = pytest.mark.usefixtures("not_drawn")
ROOT = Path(__file__).resolve().parents[2]
COMMAND = "from panda_dynamics_ros.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def log(tmp_path_factory, panda):
    """A CSV of four seconds at 200 Hz with a payload."""
    motion = sinusoids(4.0, 200.0)
    tau = torques(panda, motion, PAYLOAD)
    return write_csv(tmp_path_factory.mktemp("log") / "carried.csv", motion.stamp, motion.q, motion.dq, tau)


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_a_replay_plays_once_the_page_is_open_and_ends_with_ctrl_c(log, tmp_path):
    pytest.importorskip("viser", reason="the live view needs viser")
    # A shell's background job ignores Ctrl-C, and so would its children.
    code = f"import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); {COMMAND}"
    arguments = ("replay", log, "--view", "--rate", "4", "--json", "--output", tmp_path, "--port", "18330")
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            url = re.fullmatch(r"live view: (http://localhost:\d+)\n", process.stderr.readline())
            assert url is not None
            summary = json.loads(process.stdout.readline())
            assert "stays open" in process.stderr.readline()
            # Browsers open some in advance.
            socket.create_connection(("localhost", int(url[1].rpartition(":")[2])), timeout=120.0).close()
            with open_page(url[1]) as page:
                page.wait_for_text("of 4.0 s, 4 times real time")
                page.wait_for_text(f"{summary['payload']['mass']:.3f}")  # the last estimate
                assert "panda-dynamics replay: carried.csv" in page.text()
            process.send_signal(signal.SIGINT)
            assert process.wait(120.0) == 0
            assert process.stdout.read() == ""
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
    assert (tmp_path / "payload.png").read_bytes().startswith(b"\x89PNG")
