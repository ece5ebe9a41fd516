# SPDX-License-Identifier: Apache-2.0
"""What a payload estimator is told by its services, what it keeps in its file, and what it knows when started again."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from motion import PAYLOAD
from std_srvs.srv import SetBool, Trigger

from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import PayloadStream, Script
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.estimation.hypotheses import change_probability
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.runner import CANNOT_START

LEARNT, PIECE = 3000, 1000


class Bench:
    """A node that saves by itself five times a second and restores; it has learnt its payload. The script goes on."""

    def __init__(self, probe: Probe, nodes: Nodes, robot: RobotModel, path: Path) -> None:
        self.nodes, self.probe, self.path, self._next = nodes, probe, path, 0
        self.script = Script(robot, 12.0, PAYLOAD)
        self.parameters = {"save_path": path, "autosave_period_s": 0.2, "restore": True}
        self.stream = PayloadStream(probe, nodes, **self.parameters)
        self.stream.greet(self.script)
        self.advance(LEARNT)

    def advance(self, count: int) -> None:
        self.stream.feed(self.script, self._next, self._next + count)
        self._next += count

    def skip(self, count: int) -> None:
        """Samples that are sent and not taken in."""
        for start in range(self._next, self._next + count, 40):
            self.stream.send([self.script.message(k) for k in range(start, min(start + 40, self._next + count))])
            self.probe.spin(0.1)
        self._next += count

    def trigger(self, name: str) -> Any:
        return self.probe.call(Trigger, f"{self.stream.node}/{name}")

    def enable(self, wanted: bool) -> Any:
        return self.probe.call(SetBool, f"{self.stream.node}/set_enabled", SetBool.Request(data=wanted)).success

    def saved(self) -> Any:
        """What is in the file."""
        return yaml.safe_load(self.path.read_text(encoding="utf-8"))

    def restart(self) -> None:
        """Start the node that has ended, and hear its first answers."""
        self.nodes.start("payload_estimator", **self.parameters)
        self.stream.payloads.clear()
        self.probe.until(lambda: self.stream.publisher.get_subscription_count(), "the node to be back")
        self.stream.greet(self.script, self._next * 1_000_000 - 500_000)


@pytest.fixture(scope="module")
def bench(probe, nodes, panda, tmp_path_factory):
    return Bench(probe, nodes, panda, tmp_path_factory.mktemp("saved") / "new" / "payload.yaml")


def test_a_first_start_has_nothing_to_restore(bench):
    assert "nothing is restored" in bench.nodes.log("payload_estimator")
    assert "got no such file" in bench.nodes.log("payload_estimator")
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)


def test_save_writes_what_set_load_takes(bench):
    answer = bench.trigger("save")
    assert answer.success
    assert str(bench.path) in answer.message
    load = bench.saved()["franka_set_load"]
    assert load["mass"] == pytest.approx(PAYLOAD.mass, abs=0.03)
    assert load["center_of_mass"] == pytest.approx(PAYLOAD.com.tolist(), abs=0.005)
    assert len(load["load_inertia"]) == 9


def test_what_was_known_survives_kill_9(bench):
    """What it saves by itself. The consistent body is iterated anew from that: to a tenth of a sigma."""
    bench.advance(PIECE)
    values = bench.stream.values("estimate")
    sigma = float(values["mass_std_kg"])
    latest = bench.stream.payloads[-1].header.stamp
    bench.probe.until(lambda: bench.saved()["stamp"] >= latest.sec + 1e-9 * latest.nanosec, "the end to be saved")
    before, saved = bench.stream.body, bench.saved()["stamp"]
    bench.nodes.kill("payload_estimator")
    bench.restart()
    after = bench.stream.body
    assert after.mass == pytest.approx(before.mass, abs=0.1 * sigma)
    assert after.com == pytest.approx(before.com, abs=1e-3)
    again = bench.stream.values("estimate")
    assert again["identifiable"] == values["identifiable"]
    meanwhile = change_probability(conversions.seconds(bench.stream.payloads[-1].header.stamp) - saved)
    assert float(again["mass_std_kg"]) == pytest.approx(math.hypot(sigma, 1.5 * math.sqrt(meanwhile)), rel=0.01)
    restored = f"restored a payload of {bench.saved()['franka_set_load']['mass']:.3f} kg"
    assert restored in bench.nodes.log("payload_estimator")


def test_disabled_means_that_nothing_is_taken_in(bench):
    used = bench.stream.values("estimate")["used"]
    assert bench.enable(False)
    count = len(bench.stream.payloads)
    bench.skip(200)
    assert bench.stream.values("estimate")["used"] == used
    assert len(bench.stream.payloads) == count
    assert bench.enable(True)
    bench.advance(PIECE)
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)


def test_tare_takes_what_is_carried_for_nothing(bench):
    answer = bench.trigger("tare")
    assert answer.success
    assert float(answer.message.split(" kg ")[0]) == pytest.approx(PAYLOAD.mass, abs=0.03)
    bench.probe.until(lambda: abs(bench.stream.body.mass) < 0.03, "it, although no sample has come since")
    bench.advance(PIECE)
    assert abs(bench.stream.body.mass) < 0.03


def test_reset_forgets_the_tare_and_the_payload(bench):
    assert bench.trigger("reset").success
    assert float(bench.stream.values("estimate")["mass_std_kg"]) == pytest.approx(1.5)  # the prior's
    bench.advance(LEARNT)
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)


def test_it_saves_at_the_end(bench):
    bench.path.unlink()
    assert bench.nodes.stop() == {"payload_estimator": 0}
    assert bench.saved()["franka_set_load"]["mass"] == pytest.approx(bench.stream.body.mass, abs=0.005)


def test_without_being_asked_it_starts_anew_and_replaces_nothing(bench):
    content = bench.path.read_bytes()
    bench.nodes.start("payload_estimator", save_path=bench.path)
    assert float(bench.stream.values("estimate", used=0)["mass_std_kg"]) == pytest.approx(1.5)
    assert bench.nodes.stop() == {"payload_estimator": 0}
    assert bench.path.read_bytes() == content


def test_save_says_why_not(bench):
    bench.nodes.start("payload_estimator", save_path=bench.path / "below a file")
    answer = bench.probe.call(Trigger, f"{bench.stream.node}/save", again=1.0)  # of a node that is just starting
    assert not answer.success
    assert answer.message.startswith("not saved to ")
    bench.nodes.stop()


def test_save_tells_the_whole_path(bench):
    """A relative one is that of the node's working folder, which the caller does not know."""
    bench.nodes.start("payload_estimator", save_path="relative.yaml")
    answer = bench.probe.call(Trigger, f"{bench.stream.node}/save", again=1.0)
    assert answer.success
    path = Path(answer.message.removeprefix("saved to "))
    assert path.is_absolute()
    assert path.is_file()
    bench.nodes.stop()


def test_a_file_that_is_no_good_is_an_error(bench):
    """Not a start from nothing, which could pass for an empty gripper."""

    def refusal(**others: Any) -> str:
        bench.nodes.start("payload_estimator", **bench.parameters, **others)
        assert bench.nodes.wait("payload_estimator") == CANNOT_START
        return str(bench.nodes.log("payload_estimator").splitlines()[-1])

    assert refusal(mounting=[3.14, 0.0, 0.0]).endswith("it was saved with another robot or mounting")
    bench.path.write_text("memory: {vector: [1.0]}")
    last = refusal()
    assert last.startswith(f"error: {bench.path}: expected a saved payload")
    assert "without memory.covariance, memory.tare" in last
