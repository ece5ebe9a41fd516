# SPDX-License-Identifier: Apache-2.0
"""A payload estimator that is killed and started again knows what it knew, if it was told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from motion import PAYLOAD

from nodes.payload_stream import PayloadStream
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.nodes.runner import CANNOT_START

LEARNT, MORE = 3000, 1000


class Bench:
    """A node that saves by itself five times a second and restores; it has learnt its payload."""

    def __init__(self, probe: Probe, nodes: Nodes, robot: RobotModel, path: Path) -> None:
        self.nodes, self.probe, self.path = nodes, probe, path
        self.script = Script(robot, 6.0, PAYLOAD)
        self.parameters = {"save_path": path, "autosave_period_s": 0.2, "restore": True}
        self.stream = PayloadStream(probe, nodes, **self.parameters)
        self.stream.greet(self.script)
        self.stream.feed(self.script, 0, LEARNT)

    def saved(self) -> dict[str, Any]:
        """What is in the file."""
        content: dict[str, Any] = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        return content

    def restart(self) -> None:
        """Start the node that has ended, and hear its first answers."""
        self.nodes.start("payload_estimator", **self.parameters)
        self.stream.payloads.clear()
        self.probe.until(lambda: self.stream.publisher.get_subscription_count(), "the node to be back")
        self.stream.greet(self.script)


@pytest.fixture(scope="module")
def bench(probe: Probe, nodes: Nodes, panda: RobotModel, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(probe, nodes, panda, tmp_path_factory.mktemp("saved") / "payload.yaml")


def test_a_first_start_has_nothing_to_restore(bench: Bench) -> None:
    assert "nothing is restored" in bench.nodes.log("payload_estimator")
    assert "got no such file" in bench.nodes.log("payload_estimator")
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)


def test_what_was_known_survives_kill_9(bench: Bench) -> None:
    """The consistent body is iterated anew from what was saved: to a tenth of a sigma."""
    values = bench.stream.values("estimate")
    sigma = float(values["mass_std_kg"])
    latest = bench.stream.payloads[-1].header.stamp
    bench.probe.until(lambda: bench.saved()["stamp"] >= latest.sec + 1e-9 * latest.nanosec, "the end to be saved")
    before = bench.stream.body
    bench.nodes.kill("payload_estimator")
    bench.restart()
    after = bench.stream.body
    assert after.mass == pytest.approx(before.mass, abs=0.1 * sigma)
    assert after.com == pytest.approx(before.com, abs=1e-3)
    again = bench.stream.values("estimate")
    assert again["identifiable"] == values["identifiable"]
    assert float(again["mass_std_kg"]) == pytest.approx(sigma, rel=0.01)
    assert f"restored a payload of {bench.saved()['franka_set_load']['mass']:.3f} kg" in bench.nodes.log(
        "payload_estimator"
    )


def test_it_saves_at_the_end(bench: Bench) -> None:
    bench.path.unlink()
    assert bench.nodes.stop() == {"payload_estimator": 0}
    assert bench.saved()["franka_set_load"]["mass"] == pytest.approx(bench.stream.body.mass, abs=0.005)


def test_without_being_asked_it_starts_anew(bench: Bench) -> None:
    content = bench.path.read_bytes()
    bench.nodes.start("payload_estimator", save_path=bench.path)
    values = bench.stream.values("estimate", used=0)
    assert float(values["mass_std_kg"]) == pytest.approx(1.5)  # the prior's
    assert bench.nodes.stop() == {"payload_estimator": 0}
    assert bench.path.read_bytes() == content


def test_a_file_that_is_no_good_is_an_error(bench: Bench) -> None:
    """Not a start from nothing, which could pass for an empty gripper."""
    bench.path.write_text("memory: {vector: [1.0]}")
    bench.nodes.start("payload_estimator", **bench.parameters)
    assert bench.nodes.wait("payload_estimator") == CANNOT_START
    last = bench.nodes.log("payload_estimator").splitlines()[-1]
    assert last.startswith(f"error: {bench.path}: expected a saved payload")
    assert "without memory.covariance, memory.tare" in last
