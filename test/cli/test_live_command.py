# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics live`: a Panda's payload by its IP address, recording, Ctrl-C, errors."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from franka_servers import HAND, LOAD, PAYLOAD, host, needs, panda, panda_with_hand
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.reporting.summary import franka_loads

HOST = host(0)
COMMAND = (sys.executable, "-m", "panda_dynamics_ros.cli", "live", "--binding", "panda-python")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    needs("panda_py")
    with panda(HOST, tmp_path_factory.mktemp("panda")):
        yield HOST


@pytest.fixture(scope="module")
def run(robot, tmp_path_factory):
    """The summary of 8 s, and the recording."""
    file = tmp_path_factory.mktemp("live") / "run.csv"
    words = [*COMMAND, robot, "--seconds", "8", "--record", file, "--json"]
    return json.loads(ran(words, timeout=300).stdout), file


def test_the_payload_is_found(run):
    """Torques are exact but for the friction that the published model knows, so the mass is within its interval."""
    summary, _ = run
    payload = summary["payload"]
    assert abs(payload["mass"] - PAYLOAD.mass) < 1.96 * payload["std"][0]
    assert payload["std"][0] < 0.15
    np.testing.assert_allclose(payload["com"], PAYLOAD.com, atol=0.03)


def test_what_the_robot_says_of_itself(run):
    summary, _ = run
    assert (summary["binding"], summary["robot"]) == ("panda-python", "panda+ee")
    assert (summary["mode"], len(summary["errors"])) == ("user_stopped", 1)
    for entry, body in ((summary["end_effector"], HAND), (summary["franka_load"], LOAD)):
        assert entry["mass"] == pytest.approx(body.mass)
        np.testing.assert_allclose(entry["com"], body.com)
    assert summary["pose_error_m"] < 1e-9
    period = 1000.0 / summary["rate_hz"]
    assert period == pytest.approx(max(1, round(period)))  # ms: of a busy machine every other state, or third, comes


def test_the_recording_has_all_that_replay_reads(run):
    summary, file = run
    data = pdr.load_dataset(file, "panda")
    assert len(data.stamp) == summary["samples"]
    assert data.tau_ext is not None
    arm = panda_with_hand()
    (load,) = franka_loads(data, arm, pdr.replay(data, arm))
    # Exact but where states are missing, of which a busy machine loses most; the deviations grow with the gaps.
    assert load["mass"] == pytest.approx(LOAD.mass, abs=2.0 * load["mass_std"])
    assert (np.abs(load["com"] - LOAD.com) < 2.0 * np.array(load["com_std"])).all()
    assert load["mass_std"] < 0.05
    assert load["stale"]  # 1.2 kg are carried


def test_ctrl_c_ends_it_with_its_table(robot, tmp_path):
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen([*COMMAND, robot], stdout=out, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("payload mass"):  # states come
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    text = (tmp_path / "out").read_text()
    assert "load that Franka has" in text
    assert "0.500 kg at 10.0  20.0  30.0 mm" in text
    assert "user_stopped" in text


def test_a_connection_that_fails_leaves_no_recording(tmp_path):
    """The same command is right once the robot answers."""
    assert main(["live", "127.0.0.99", "--record", str(tmp_path / "run.csv")]) != 0
    assert not list(tmp_path.iterdir())


def test_the_help_names_the_defaults_of_a_connected_robot(capsys):
    """`live` asks the robot what it is, and what is mounted; other commands take a panda without a hand."""
    helps = {}
    for command in ("live", "replay"):
        assert main([command, "--help"]) == 0
        helps[command] = " ".join(capsys.readouterr().out.split())
    assert "(default: the connected one)" in helps["live"]
    assert "(default: panda)" not in helps["live"]
    assert "(default: panda)" in helps["replay"]
