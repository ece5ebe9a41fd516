# SPDX-License-Identifier: Apache-2.0
"""Which binding connects, what each failure says, and connections that are lost."""

import itertools
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from franka_servers import fr3, host, needs, panda
from waiting import PATIENCE

import panda_dynamics_ros as pdr
from panda_dynamics_ros import live as module
from panda_dynamics_ros.errors import ConnectionFailedError, MissingDependencyError
from panda_dynamics_ros.live import FrankaConnection, FrankaStream, RobotClock, explained

HOST = host(1)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
# What the bindings say (libfranka 0.9.2 and 0.21.3, panda-python 1.1), and the kind of problem.
SAID = {
    "libfranka: Incompatible library version (server version: 5, library version: 10).": "wrong version",
    "libfranka: Connection to FCI refused. Please install FCI feature or enable FCI mode in Desk.": "refused",
    "[Errno 111] Connection refused": "refused",
    "libfranka: Connection error: Host not found": "no such host",
    'libfranka: Move command aborted: motion aborted by reflex! ["cartesian_reflex"]': "reflex",
    "libfranka: Set Load command rejected due to activated safety function!": "locked",
    "libfranka: UDP receive: Timeout": "no states",
    "libfranka: server closed connection": "another client",
    "timed out": "timed out",
    "libfranka: Connection timeout. Please check your network connection or settings.": "timed out",
    "something new": "failed",
}


@pytest.mark.parametrize("said", SAID)
def test_every_error_is_one_sentence_with_a_remedy(said):
    error = explained(said, "172.16.0.2", "pylibfranka", connected=False)
    assert error.kind == SAID[said]
    quoted = f" ({said.rstrip('.')})"
    assert str(error).startswith("172.16.0.2: ")
    assert str(error).endswith(quoted)
    sentence = str(error).removeprefix("172.16.0.2: ").removesuffix(quoted)
    assert "{" not in sentence
    assert ": " in sentence or error.kind == "failed"  # the cause, and what to do
    if error.kind != "failed":
        assert sentence.replace("pylibfranka does", "{binding} does") in " ".join(PAGE.read_text().split())


def test_a_binding_of_the_other_robot_says_which_to_install(tmp_path):
    needs("pylibfranka", "panda_py")
    words = r"pylibfranka does not speak this robot's version .* panda-python for a Panda .*library version: 10"
    with panda(HOST, tmp_path), pytest.raises(ConnectionFailedError, match=words) as caught:
        FrankaConnection(HOST, "pylibfranka")
    assert caught.value.kind == "wrong version"
    with fr3(HOST), pytest.raises(ConnectionFailedError, match="panda-python does not speak this robot's version"):
        FrankaConnection(HOST, "panda-python")


def test_the_binding_that_fits_is_found(tmp_path):
    needs("pylibfranka", "panda_py")
    with panda(HOST, tmp_path):
        found = FrankaConnection(HOST)
        assert (found.binding, found.robot) == ("panda-python", "panda")
    with fr3(HOST):
        found = FrankaConnection(HOST)
        assert (found.binding, found.robot) == ("pylibfranka", "fr3")


def test_states_that_do_not_arrive(tmp_path):
    """A robot that accepts the client and sends nothing: as behind a firewall."""
    needs("panda_py")
    with panda(HOST, tmp_path, silent=True), pytest.raises(ConnectionFailedError, match="allow UDP") as caught:
        FrankaConnection(HOST, "panda-python")
    assert caught.value.kind == "no states"


@pytest.mark.parametrize(
    ("address", "kind"),
    [(HOST, "refused"), ("no-such-robot.invalid", "no such host"), ("a" * 64 + ".b", "no such host")],
    ids=["no server", "no host", "no name"],  # addresses differ from process to process
)
def test_a_robot_that_is_not_there(address, kind, monkeypatch):
    monkeypatch.setattr(module, "_candidates", lambda binding: ["pylibfranka"])  # none is needed to find that out
    with pytest.raises(ConnectionFailedError) as caught:
        FrankaConnection(address)
    assert caught.value.kind == kind


def test_a_robot_that_does_not_answer(monkeypatch):
    """As a listening port whose queue is full. The system says so: libfranka would wait for one that is off."""
    monkeypatch.setattr(module, "_candidates", lambda binding: ["pylibfranka"])
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((HOST, module.PORT))
        server.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex((HOST, module.PORT))
        with pytest.raises(ConnectionFailedError, match=r"the robot does not answer.* \(timed out\)$") as caught:
            FrankaConnection(HOST)
        for each in waiting:
            each.close()
    assert caught.value.kind == "timed out"


def test_without_any_binding(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'panda_dynamics_ros\[fr3\]'"):
        FrankaConnection(HOST)
    with pytest.raises(MissingDependencyError, match=r"\(that is panda-python\)"):
        FrankaConnection(HOST, "panda-python")


def test_a_binding_that_cannot_be_loaded(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("raise ImportError('libfranka.so is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(module.BINDINGS, "broken", "broken")
    words = "broken: expected a binding that loads, got: libfranka.so is missing"
    with socket.create_server((HOST, module.PORT)), pytest.raises(MissingDependencyError, match=words):
        FrankaConnection(HOST, "broken")


def test_ctrl_c_ends_a_program_that_waits_for_the_robot():
    """One that takes the connection and says nothing: Python's own handlers would not run before it does."""
    needs("pylibfranka")
    program = "import sys; from panda_dynamics_ros.live import FrankaConnection; FrankaConnection(*sys.argv[1:])"
    with socket.create_server((HOST, module.PORT)) as server:
        server.settimeout(PATIENCE)
        process = subprocess.Popen([sys.executable, "-c", program, HOST, "pylibfranka"])
        try:
            server.accept()[0].close()  # whether there is a robot
            robot, _ = server.accept()
            robot.recv(1)  # the binding's question
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == -signal.SIGINT
            robot.close()
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize(("address", "binding"), [("", "auto"), ("127.0.0.1", "libfranka")])
def test_bad_arguments(address, binding):
    with pytest.raises(pdr.PandaDynamicsError, match="expected"):
        FrankaConnection(address, binding)


def test_a_lost_connection_comes_back(tmp_path):
    needs("panda_py")
    said: list[str] = []
    with panda(HOST, tmp_path):
        stream = FrankaStream(FrankaConnection(HOST, "panda-python"), said.append)
        assert stream.next() is not None
    assert next(state for state in iter(stream.next, "never") if state is None) is None
    assert stream.problem.endswith("(libfranka: UDP receive: Timeout)")
    assert "connection is lost" in said[0]
    stream.next()
    assert "refuses connections" in stream.problem
    with panda(HOST, tmp_path):
        state = next(state for state in iter(stream.next, "never") if state is not None)
        assert state.sample.stamp < 5.0  # of the new server
    assert (stream.reconnections, stream.problem) == (1, "")
    assert said[1:] == [f"{HOST}: connected again"]


def test_stamps_follow_the_shortest_delay():
    """The first state comes 30 ms late; the clocks differ by 1000 s, and delays are 1 to 6 ms."""
    clock = RobotClock()
    assert clock.at(10.0, 1010.030) == pytest.approx(1010.030)
    stamps = [clock.at(t := 10.0 + 1e-3 * k, 1000.0 + t + 0.001 * (1 + k % 6)) for k in range(1, 60_000)]
    assert stamps[-1] == pytest.approx(1000.0 + t + 0.001, abs=1e-9)
    steps = [after - before for before, after in itertools.pairwise(stamps)]
    # On its way it moves by a thousandth of a second a second, so that no step differs by more from the robot's.
    assert min(steps) == pytest.approx(0.999e-3, abs=1e-9)
    assert max(steps) == pytest.approx(1e-3, abs=1e-9)
    # A clock that was set, then a robot that was started anew.
    for k in range(3000):
        last = clock.at(t + 1e-3 * k, 2000.0 + t + 1e-3 * k)
    assert last == pytest.approx(2000.0 + t + 2.999)
    assert clock.at(0.0, 600.0) == pytest.approx(600.0)
