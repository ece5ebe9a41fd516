# SPDX-License-Identifier: Apache-2.0
"""The services of `payload_estimator`: reset, tare, save, apply_load, set_enabled."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from motion import PAYLOAD
from std_srvs.srv import SetBool, Trigger

from nodes.payload_stream import PayloadStream
from nodes.probe import Probe
from nodes.processes import Nodes
from nodes.robot_stream import Script
from panda_dynamics_ros import RobotModel

LEARNT = 3000
PIECE = 1000


class Bench:
    """A node that knows its payload, a script that goes on, and a file to save to."""

    def __init__(self, probe: Probe, nodes: Nodes, robot: RobotModel, folder: Path) -> None:
        self.saved = folder / "new" / "payload.yaml"
        self.script = Script(robot, 12.0, PAYLOAD)
        self.stream = PayloadStream(probe, nodes, save_path=self.saved)
        self._probe, self._next = probe, 0
        self.stream.greet(self.script)
        self.advance(LEARNT)

    def advance(self, count: int) -> None:
        self.stream.feed(self.script, self._next, self._next + count)
        self._next += count

    def trigger(self, name: str) -> Trigger.Response:
        return self._probe.call(Trigger, f"{self.stream.node}/{name}")

    def enable(self, wanted: bool) -> SetBool.Response:
        return self._probe.call(SetBool, f"{self.stream.node}/set_enabled", SetBool.Request(data=wanted))

    def skip(self, count: int) -> None:
        """Samples that are sent and not taken in."""
        for start in range(self._next, self._next + count, 40):
            self.stream.send([self.script.message(k) for k in range(start, min(start + 40, self._next + count))])
            self._probe.spin(0.1)
        self._next += count


@pytest.fixture(scope="module")
def bench(probe: Probe, nodes: Nodes, panda: RobotModel, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(probe, nodes, panda, tmp_path_factory.mktemp("saved"))


def test_save_writes_what_set_load_takes(bench: Bench) -> None:
    answer = bench.trigger("save")
    assert answer.success
    assert str(bench.saved) in answer.message
    saved = yaml.safe_load(bench.saved.read_text(encoding="utf-8"))
    load = saved["franka_set_load"]
    assert load["mass"] == pytest.approx(PAYLOAD.mass, abs=0.03)
    assert load["center_of_mass"] == pytest.approx(PAYLOAD.com.tolist(), abs=0.005)
    assert len(load["load_inertia"]) == 9


def test_save_says_why_not(bench: Bench) -> None:
    bench.saved.unlink()
    bench.saved.mkdir()
    answer = bench.trigger("save")
    assert not answer.success
    assert answer.message.startswith("not saved to ")


def test_disabled_means_that_nothing_is_taken_in(bench: Bench) -> None:
    used = bench.stream.values("estimate")["used"]
    assert bench.enable(False).success
    count = len(bench.stream.payloads)
    bench.skip(200)
    values = bench.stream.values("estimate")
    assert values["used"] == used
    assert len(bench.stream.payloads) == count
    assert bench.enable(True).success
    bench.advance(PIECE)
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)


def test_tare_takes_what_is_carried_for_nothing(bench: Bench) -> None:
    answer = bench.trigger("tare")
    assert answer.success
    assert float(answer.message.split(" kg ")[0]) == pytest.approx(PAYLOAD.mass, abs=0.03)
    bench.advance(PIECE)
    assert abs(bench.stream.body.mass) < 0.03


def test_reset_forgets_the_tare_and_the_payload(bench: Bench) -> None:
    assert bench.trigger("reset").success
    sigma = float(bench.stream.values("estimate")["mass_std_kg"])
    assert sigma == pytest.approx(1.5)  # the prior's
    bench.advance(LEARNT)
    assert bench.stream.body.mass == pytest.approx(PAYLOAD.mass, abs=0.03)
