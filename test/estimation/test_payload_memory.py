# SPDX-License-Identifier: Apache-2.0
"""An estimator goes on where another one stopped; a saved estimate comes back to the bit; anything else is refused."""

import base64
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import some
from motion import PAYLOAD, coloured, fed, kinds, sinusoids, standing, torques

from panda_dynamics_ros import InertialParameters, PandaDynamicsError, RobotModel, load_robot
from panda_dynamics_ros.estimation import PayloadEstimate, PayloadEstimator
from panda_dynamics_ros.estimation.estimate import ArmMemory, PayloadMemory
from panda_dynamics_ros.estimation.payload_file import load_estimate, save_estimate

TOOL = InertialParameters(0.7, np.array([0.0, 0.01, 0.05]), np.diag([0.003, 0.004, 0.003]))


def feed(
    estimator: PayloadEstimator, robot: RobotModel, payload: InertialParameters | None, start: float, duration: float
) -> list[PayloadEstimate]:
    """Motion at 200 Hz with the residual that the robot's model expects; the estimate after each sample."""
    motion = sinusoids(duration, rate=200.0, start=start)
    tau = torques(robot, motion, payload) + coloured(robot, motion.stamp, np.random.default_rng(7))
    return fed(estimator, motion, tau)


def continued(robot: RobotModel, memory: PayloadMemory, arm: ArmMemory | None = None) -> PayloadEstimator:
    """Another estimator that goes on from this memory of the payload."""
    restored = PayloadEstimator(robot)
    restored.restore(replace(memory, arm=arm))
    return restored


def assert_same(found: PayloadMemory | ArmMemory | None, expected: PayloadMemory | ArmMemory | None) -> None:
    """All arrays, to the bit."""
    for name in vars(expected).keys() - {"arm"}:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.fixture
def tared(panda):
    """Carries a payload below a tool that was tared."""
    estimator = PayloadEstimator(panda)
    feed(estimator, panda, TOOL, 0.0, 4.0)
    estimator.tare()
    feed(estimator, panda, TOOL + PAYLOAD, 4.0, 4.0)
    return estimator


def test_the_estimate_is_what_it_was(tared, panda):
    """Vector and covariance to rounding (their sum with the tare is kept), the body to where its iteration stops."""
    before, memory = tared.estimate, tared.memory
    assert before.mass > 0.8
    restored = continued(panda, memory)
    after = restored.estimate
    np.testing.assert_allclose(restored.memory.vector, memory.vector, atol=1e-14)
    np.testing.assert_allclose(restored.memory.covariance, memory.covariance, rtol=1e-12, atol=0.0)
    assert (np.abs(after.vector - before.vector) < 0.1 * before.std).all()
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=1e-12, atol=0.0)
    np.testing.assert_array_equal(after.identifiable, before.identifiable)
    assert after.status == "waiting for samples"


def test_it_goes_on_as_if_nothing_had_been(tared, panda):
    """Two seconds later: without the tare the tool would count as 0.7 kg, ten sigma."""
    restored = continued(panda, tared.memory)
    then, now = (feed(each, panda, TOOL + PAYLOAD, 100.0, 2.0) for each in (tared, restored))
    assert not [estimate.event for estimate in now if estimate.event]
    # The one that stopped knew arm and disturbance, too: with 1.5 times its deviation they differ by 1.1 sigma.
    assert abs(now[-1].mass - then[-1].mass) < 1.1 * then[-1].std[0]
    assert now[-1].std[0] < 1.5 * then[-1].std[0]


def test_what_was_learnt_about_the_arm_comes_back(tared, panda):
    """With the arm's errors an interval goes on; without them it is the first one's, on an arm like any other."""
    restored = continued(panda, tared.memory, tared.memory.arm)
    assert_same(restored.memory.arm, tared.memory.arm)
    # The scales' posterior is worked out ten times a second: the last time was up to that long ago.
    np.testing.assert_allclose(restored.arm_errors.offset, tared.arm_errors.offset, atol=0.02)
    assert restored.arm_errors.offset.any()
    unlearnt = PayloadEstimator(panda).arm_errors.offset_std
    assert restored.arm_errors.offset_std.mean() < 0.8 * unlearnt.mean()  # one joint's scale may have grown


def test_the_memory_of_another_arm_is_refused(tared):
    with pytest.raises(PandaDynamicsError, match=r"^memory.arm: expected \d+ entries .* another robot"):
        continued(load_robot("fr3"), tared.memory, tared.memory.arm)


def test_a_tare_before_the_first_sample_is_remembered(panda):
    """Its mean is zero, as without a tare."""
    estimator = PayloadEstimator(panda)
    estimator.tare()
    assert_same(continued(panda, estimator.memory, estimator.memory.arm).memory.arm, estimator.memory.arm)


def test_what_is_remembered_stays_as_it_was(tared, panda):
    memory, vector = tared.memory, tared.memory.vector.copy()
    feed(tared, panda, TOOL, 8.0, 1.0)
    np.testing.assert_array_equal(memory.vector, vector)
    assert not np.array_equal(tared.memory.vector, vector)


def test_a_payload_that_was_put_down_meanwhile_is_noticed(tared, panda):
    estimates = feed(continued(panda, tared.memory), panda, TOOL, 100.0, 4.0)
    assert "release" in kinds(estimates)
    assert all(abs(estimate.mass) < 3.0 * estimate.std[0] for estimate in estimates), "nobody knows until it is seen"


@pytest.fixture(scope="module")
def estimator(panda):
    """Two seconds of a payload on top of a tare."""
    estimator = PayloadEstimator(panda)
    motion = sinusoids(4.0, rate=200.0)
    tau = torques(panda, motion, PAYLOAD)
    for k in range(len(tau)):
        estimator.update(motion.stamp[k], motion.q[k], motion.dq[k], tau[k])
        if k == 400:
            estimator.tare()
    return estimator


@pytest.fixture
def saved(estimator, tmp_path):
    return save_estimate(estimator.estimate, estimator.memory, tmp_path / "deep" / "payload.yaml", estimator.robot)


def test_what_was_saved_is_loaded(estimator, saved):
    memory, loaded = estimator.memory, load_estimate(saved)
    assert memory.tare.any()
    assert_same(loaded, memory)
    assert_same(loaded.arm, memory.arm)


def test_a_file_of_before_the_arm_or_its_mounting_was_saved_will_do(panda, saved):
    change_entry(saved, "memory.arm", ABSENT)
    change_entry(saved, "memory.gravity", ABSENT)
    assert load_estimate(saved, panda.mounted((np.pi, 0.0, 0.0))).arm is None


def test_the_memory_of_another_mounting_is_refused(panda, saved):
    """Which a turn about the vertical is not."""
    assert_same(load_estimate(saved, panda.mounted((0.0, 0.0, 1.0))), load_estimate(saved))
    with pytest.raises(PandaDynamicsError, match=r"payload.yaml: memory.gravity: expected .* robot or mounting"):
        load_estimate(saved, panda.mounted((np.pi, 0.0, 0.0)))


def test_a_person_can_read_it(estimator, saved):
    content = yaml.safe_load(saved.read_text())
    assert content["franka_set_load"]["mass"] == estimator.estimate.mass
    assert content["std"] == estimator.estimate.std.tolist()
    assert content["identifiable"] == estimator.estimate.identifiable.tolist()
    assert len(saved.read_text().splitlines()) < 100


def test_an_estimator_that_has_seen_nothing_can_be_saved(panda, tmp_path):
    estimator = PayloadEstimator(panda)
    path = save_estimate(estimator.estimate, estimator.memory, tmp_path / "nothing.yaml")
    np.testing.assert_array_equal(load_estimate(path).covariance, estimator.memory.covariance)


def test_saving_replaces_the_file_as_a_whole(estimator, saved, monkeypatch):
    """Who fails in the middle leaves the old file and no other."""
    before = saved.read_bytes()

    def full_disk(self: Path, text: str, encoding: str) -> int:
        self.write_bytes(text.encode(encoding)[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_estimate(estimator.estimate, estimator.memory, saved)
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == ["payload.yaml"]


ABSENT = object()
NOT_SAVED = [  # entry of the file, what it becomes, and what is said
    ("memory", ABSENT, "without memory.vector, memory.covariance, memory.tare"),
    ("memory.tare", ABSENT, "without memory.tare"),
    ("memory", 7, "without memory.vector"),
    ("", [{}], "without memory.vector"),
    ("", None, "without memory.vector"),
    ("memory.vector", [1.0] * 9, r"memory.vector: expected shape \(10,\), got \(9,\)"),
    ("memory.tare", ["a"] * 10, "memory.tare: expected an array of real numbers"),
    ("memory.vector", [float("nan")] * 10, "memory.vector: expected finite numbers"),
    ("memory.covariance", (-np.eye(10)).tolist(), "positive eigenvalues, got -1"),
    ("memory.covariance", (np.eye(10) + np.eye(10, k=1)).tolist(), "memory.covariance: expected"),
    ("memory.gravity", ["down"], "memory.gravity: expected"),
    ("stamp", "noon", "stamp: expected"),
    ("memory.tare", [0.0] * 4, r"memory.tare: expected shape \(10,\), got \(4,\)"),
    ("memory.vector", [1e308] * 10, "memory.vector: expected"),
    ("memory.tare", [-1e308] * 10, "memory.tare: expected"),
    ("memory.covariance", (1e-300 * np.eye(10)).tolist(), "memory.covariance: expected"),
    ("memory.covariance", (1e300 * np.eye(10)).tolist(), "memory.covariance: expected"),
    ("memory.arm", [1.0], "memory.arm: expected mean, covariance, noise_ratio"),
    ("memory.arm.mean", ABSENT, "memory.arm: expected mean, covariance"),
    ("memory.arm.mean", "?", "memory.arm.mean: expected numbers in base64"),
    ("memory.arm.mean", "AAAAAAAA8H8=", "memory.arm.mean: expected finite numbers"),
    ("memory.arm.mean", "", "memory.arm.covariance: expected 0 numbers"),
]


def change_entry(saved: Path, entry: str, value: object) -> None:
    """Give an entry of a saved payload, such as "memory.tare", another value; "" is the whole content."""
    content: Any = {"": yaml.safe_load(saved.read_text(encoding="utf-8"))}
    *keys, last = [*([""] if entry else []), *entry.split(".")]
    inner = reduce(getitem, keys, content)
    inner[last] = value
    if value is ABSENT:
        del inner[last]
    saved.write_text(yaml.safe_dump(content[""]), encoding="utf-8")


@pytest.mark.parametrize(("entry", "value", "words"), NOT_SAVED)
def test_what_is_no_saved_payload_is_refused(entry, value, words, panda, saved):
    change_entry(saved, entry, value)
    with pytest.raises(PandaDynamicsError, match=words) as caught:
        load_estimate(saved, panda)
    assert str(caught.value).startswith(f"{saved}: ")
    assert "\n" not in str(caught.value)


def test_a_saved_payload_with_an_empty_memory_of_the_arm_is_refused(panda, saved):
    change_entry(saved, "memory.arm", {"mean": "", "covariance": "", "noise_ratio": ""})
    with pytest.raises(PandaDynamicsError, match=r"^memory.arm: expected \d+ entries .* got 0 for \d"):
        PayloadEstimator(panda).restore(load_estimate(saved))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b"a: [1\nb", b"[" * 20_000, b"a: 2024-13-45", b"x" * 2_000_000]
)
def test_what_is_no_saved_payload_at_all_is_refused_in_one_line(content, tmp_path):
    (tmp_path / "bad.yaml").write_bytes(content)
    with pytest.raises(PandaDynamicsError, match=r"bad\.yaml: expected a saved payload") as caught:
        load_estimate(tmp_path / "bad.yaml")
    assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="got no such file"):
        load_estimate(tmp_path / "nowhere.yaml")


@some("value", [1e-300, 1e300, 1e-12, 1e12], 2)
@pytest.mark.parametrize("part", [slice(None), slice(10)], ids=["all", "payload"])
@pytest.mark.parametrize("name", ["mean", "covariance", "noise_ratio"])
def test_an_absurd_memory_of_the_arm_is_refused_or_harmless(name, part, value, panda, estimator, saved):
    """Whoever restores it goes on with finite estimates, and in two seconds with those of the payload."""
    numbers = getattr(estimator.memory.arm, name).copy()
    numbers[part] = value
    if name == "covariance":
        numbers = np.diag(numbers.diagonal())
    change_entry(saved, f"memory.arm.{name}", base64.b64encode(numbers.astype("<f8").tobytes()).decode())
    motion = sinusoids(3.0, rate=200.0)
    try:
        loaded = load_estimate(saved)
        restored = continued(panda, loaded, loaded.arm)
    except PandaDynamicsError as error:
        assert f"arm.{name}: expected" in str(error)
        return
    for sample in zip(motion.stamp, motion.q, motion.dq, torques(panda, motion, PAYLOAD), strict=True):
        estimate = restored.update(*sample)
        assert np.isfinite([*estimate.vector, *estimate.std]).all()
    assert abs(estimate.mass + loaded.tare[0] - PAYLOAD.mass) < 3.0 * estimate.std[0] + 0.05


@pytest.mark.parametrize("believed", [1.3, 1.5, 1.6])
def test_a_release_is_one_although_the_mass_was_believed_to_be_less(panda, believed):
    """Of 2 kg that count as less by several sigmas: the torques that go are those of a weight, if not of this one.
    What is off by 13 of them, at 1.3 kg, is a load that has come meanwhile."""
    still, body = standing(6.0, rate=200.0), InertialParameters(2.0, [0.0, 0.01, 0.08], 0.008 * np.eye(3))
    vector = body.vector * (believed / 2.0)
    estimator = PayloadEstimator(panda)
    estimator.restore(PayloadMemory(vector, np.diag((0.04 * np.maximum(np.abs(vector), 0.01)) ** 2), np.zeros(10)))
    tau = np.where((still.stamp < 3.0)[:, None], torques(panda, still, body), torques(panda, still))
    estimates = fed(estimator, still, tau)
    assert kinds(estimates) == (["load"] if believed == 1.3 else []) + ["release"]
    if believed == 1.3:
        assert estimates[500].mass == pytest.approx(2.0, abs=0.1), "2.5 s after the start"
    assert estimates[-1].mass < 0.05
