# SPDX-License-Identifier: Apache-2.0
import inspect
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from motion import sinusoids, torques, write_csv, write_recording

from panda_dynamics_ros import InertialParameters, load_dataset, load_robot
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.estimation.believed_load import BelievedLoad
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.reporting.summary import event_entries, franka_loads, summary_of

pytestmark = pytest.mark.usefixtures("not_drawn")
PAYLOAD = InertialParameters(0.8, np.array([0.01, 0.02, 0.05]), np.diag([0.003, 0.003, 0.002]))
SUMMARY_KEYS = {
    "samples", "dropped", "lost", "duration_s", "rate_hz", "torque_residual_rms", "problem", "joint_offsets",
    "joint_offsets_std", "payload", "truth", "events",
}  # fmt: skip


@pytest.fixture
def replayed(answer):
    """Call it with a recording, a folder for the results, and options: the summary."""
    return lambda path, output, *options: answer("replay", path, "--output", output, *options)


def recorded(robot, path):
    """Six seconds at 200 Hz of the robot that carries 0.8 kg, fingers mixed in."""
    motion = sinusoids(6.0, 200.0)
    tau = torques(robot, motion, PAYLOAD)
    names = ("panda_finger_joint1", *robot.joint_names)
    columns = (np.column_stack((np.zeros(len(tau)), each)) for each in (motion.q, motion.dq, tau))
    write_recording(path, names, 100.0 + motion.stamp, *columns)
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return recorded(load_robot("panda"), tmp_path_factory.mktemp("bag") / "carried")


def test_summary_of_a_recording_with_a_payload(recording, tmp_path, replayed):
    summary = replayed(recording, tmp_path / "out")
    assert set(summary) == SUMMARY_KEYS
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["samples"] == 1200
    assert summary["dropped"] == 0
    assert summary["rate_hz"] == pytest.approx(200.0, rel=1e-3)
    assert summary["truth"] is None
    # A perfect arm: what is left is the leak toward the prior (see the estimator's tests).
    assert summary["payload"]["mass"] == pytest.approx(PAYLOAD.mass, abs=0.02)
    np.testing.assert_allclose(summary["payload"]["com"], PAYLOAD.com, atol=0.006)
    assert [len(summary["payload"][key]) for key in ("inertia", "std", "identifiable")] == [6, 10, 10]
    assert max(summary["torque_residual_rms"]) < 0.2
    curves = np.genfromtxt(tmp_path / "out" / "payload.csv", delimiter=",", names=True)
    assert curves["mass"][-1] == pytest.approx(summary["payload"]["mass"], rel=1e-4)  # six digits are written


def test_the_example_has_a_pick_a_push_and_a_release(tmp_path, answer):
    """It comes with the package: neither a download nor rosbags is needed."""
    summary = answer("replay", "--example", "--output", tmp_path, "--bag-format", "none")
    pick, *contacts, release = ((event["kind"], event["stamp"]) for event in summary["events"])
    assert (pick[0], release[0]) == ("detected_pick", "detected_release")
    # The push lasts 0.7 s; its end may count as a contact, too.
    assert {kind for kind, _ in contacts} == {"detected_contact"}
    assert all(11.9 < stamp < 13.0 for _, stamp in contacts)
    np.testing.assert_allclose([pick[1], release[1]], [6.0, 18.0], atol=0.2)
    assert summary["payload"]["mass"] == pytest.approx(1.0, abs=3.0 * summary["payload"]["std"][0])
    assert [len(summary["payload"][key]) for key in ("com_std", "inertia_std")] == [3, 6]
    assert summary["payload"]["problem"] == ""


def test_smooth_adds_the_payloads_of_the_whole_recording(drawn, recording, tmp_path, capsys):
    assert main(["replay", str(recording), "--output", str(tmp_path), "--smooth", "--bag-format", "none"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "smoothed" in line)
    for word in ("0.00", "6.00", "kg", "mm"):
        assert word in row
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert set(summary) == {*SUMMARY_KEYS, "segments"}
    (segment,) = summary["segments"]
    assert (segment["start"], segment["end"]) == pytest.approx((100.0, 105.995))
    assert segment["status"] == "smoothed"
    assert segment["mass"] == pytest.approx(PAYLOAD.mass, abs=0.02)  # the prior's pull, as above
    np.testing.assert_allclose(segment["com"], PAYLOAD.com, atol=0.006)
    assert max(segment["com_std"]) < 0.02
    assert segment["physical"] is True
    for picture in ("payload.png", "torques.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_page_has_every_key_of_the_summary(recording, tmp_path, replayed):
    """And no other. Of Franka's load, which this recording does not have, the keys stand in the code."""
    summary = replayed(recording, tmp_path, "--smooth", "--bag-format", "none")
    page = (Path(__file__).resolve().parents[2] / "docs" / "bags.md").read_text(encoding="utf-8")
    table = page.partition("## The summary for programs\n`summary.json`")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    keys = {key for cell in cells for key in re.findall(r"`(.+?)`", cell)}
    load = {key for key in keys if key.startswith("franka_load")}
    code = inspect.getsource(summary_of) + inspect.getsource(franka_loads) + json.dumps(BelievedLoad._fields)
    assert [key for key in load if f'"{key.rpartition(".")[2]}"' not in code] == []
    event = event_entries([(0.0, "picked")], np.zeros(1), np.zeros(1), np.zeros((1, 3)))[0]
    parts = {"payload": summary["payload"], "segments": summary["segments"][0], "events": event}
    own = {f"{part}.{key}" for part, values in parts.items() for key in values}
    assert keys - load == {*summary, *own} - {f"segments.{key}" for key in summary["payload"]}


def test_an_end_effector_is_no_payload(tmp_path, replayed):
    recording = recorded(load_robot("panda", end_effector="hand"), tmp_path / "with_hand")
    options = ("--end-effector", "hand", "--smooth", "--bag-format", "none")
    summary = replayed(recording, tmp_path / "out", *options)
    for found in (summary["payload"], summary["segments"][0]):
        assert found["mass"] == pytest.approx(PAYLOAD.mass, abs=0.02)  # the prior's pull, as above
        np.testing.assert_allclose(found["com"], PAYLOAD.com, atol=0.006)


def test_what_is_known_of_the_payload_counts(recording, tmp_path, replayed):
    """In the estimate and in the segments: a wrong mass shows that it is taken, a shape gives the inertia."""
    options = ("--known-mass", "0.85", "--shape", "sphere 0.05", "--smooth", "--bag-format", "none")
    summary = replayed(recording, tmp_path, *options)
    for found in (summary["payload"], summary["segments"][0]):
        assert found["mass"] == pytest.approx(0.85, abs=0.005)  # kitchen scale
        moment = 0.4 * found["mass"] * 0.05**2
        np.testing.assert_allclose(found["inertia"], [moment, 0.0, 0.0, moment, 0.0, moment], atol=1e-9)
    summary = replayed(recording, tmp_path, "--max-mass", "0.5", "--smooth", "--bag-format", "none")
    assert summary["payload"]["mass"] == pytest.approx(0.5)
    assert summary["segments"][0]["mass"] == pytest.approx(0.5)


def test_the_real_30_hz_bag(panda_30hz_bag, tmp_path, replayed):
    summary = replayed(panda_30hz_bag, tmp_path)
    assert summary["samples"] == 727
    assert summary["rate_hz"] == pytest.approx(30.0, abs=0.1)
    assert abs(summary["payload"]["mass"]) < 0.15  # nothing was carried; a null fit gives 0.10 kg
    assert not [event for event in summary["events"] if event["kind"] != "detected_contact"]


def test_the_real_1_khz_log(panda_1khz_log, tmp_path, replayed):
    summary = replayed(panda_1khz_log, tmp_path)
    assert abs(summary["payload"]["mass"]) < 0.10  # nothing was carried; a null fit gives 0.02 to 0.03 kg
    assert not summary["events"]
    # Published for this log, without the low-pass filter of the momentum form; half of it to one and a half.
    ratio = np.array(summary["torque_residual_rms"]) / [0.26, 0.58, 0.24, 0.29, 0.15, 0.10, 0.07]
    assert (ratio > 0.4).all()
    assert (ratio < 1.5).all()


def test_results_are_written_as_a_bag(recording, tmp_path, replayed):
    """A second run replaces it."""
    replayed(recording, tmp_path)
    assert (tmp_path / "results" / "results.mcap").is_file()
    assert (tmp_path / "results" / "metadata.yaml").is_file()
    assert len(load_dataset(tmp_path / "results").stamp) == 1200
    (tmp_path / "results" / "results_1.mcap").touch()
    replayed(recording, tmp_path)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["metadata.yaml", "results.mcap"]
    replayed(recording, tmp_path / "without", "--bag-format", "none")
    assert not (tmp_path / "without" / "results").exists()


def test_what_is_no_bag_is_not_replaced(recording, tmp_path, capsys):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.tex").write_text("years of work")
    assert main(["replay", str(recording), "--output", str(tmp_path), "--json"]) == 2
    assert "results holds something else" in capsys.readouterr().err
    assert (tmp_path / "results" / "thesis.tex").read_text() == "years of work"


def test_a_csv_is_replayed_without_rosbags(tmp_path, monkeypatch):
    motion = sinusoids(0.6, 100.0)
    log = write_csv(tmp_path / "log.csv", motion.stamp, motion.q, motion.dq, torques(load_robot("panda"), motion))
    for name in ("rosbags", "rosbags.typesys", "rosbags.rosbag2"):
        monkeypatch.setitem(sys.modules, name, None)
    rosbag2.typestore.cache_clear()
    assert main(["replay", str(log), "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "summary.json").is_file()
    assert not (tmp_path / "out" / "results").exists()


def test_what_one_sample_does_not_tell_is_null(tmp_path, capsys):
    """JSON has no NaN, which Python's own reader takes."""
    path = write_csv(tmp_path / "log.csv", np.ones(1), *3 * [np.array([[0.0, 0.0, 0.0, -2.0, 0.0, 2.0, 0.1]])])
    for words in (["replay", str(path), "--output", str(tmp_path)], ["convert", str(path), str(tmp_path / "bag")]):
        assert main([*words, "--json"]) == 0
        assert "NaN" not in capsys.readouterr().out
    assert json.loads((tmp_path / "summary.json").read_text())["rate_hz"] is None


def test_a_problem_is_stated_and_ends_a_strict_replay(tmp_path, capsys):
    """The sign of all torques is wrong: exit code 3 with --strict, and 0 with the right sign."""
    path, robot = tmp_path / "log.csv", load_robot("panda")
    motion = sinusoids(4.0, rate=200.0)
    options = ["--output", str(tmp_path / "out"), "--bag-format", "none", "--strict"]
    for sign, code in ((-1.0, 3), (1.0, 0)):
        write_csv(path, motion.stamp, motion.q, motion.dq, sign * torques(robot, motion))
        assert main(["replay", str(path), *options]) == code
        stated = json.loads((tmp_path / "out" / "summary.json").read_text())["problem"]
        assert ("opposite sign" in stated) == (code == 3)
        assert ("opposite sign" in " ".join(capsys.readouterr().out.split())) == (code == 3)
