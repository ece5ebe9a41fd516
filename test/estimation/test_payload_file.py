# SPDX-License-Identifier: Apache-2.0
"""A saved estimate comes back to the bit; what is no saved estimate is said to be so."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from motion import PAYLOAD, sinusoids, torques

from panda_dynamics_ros import PandaDynamicsError, RobotModel
from panda_dynamics_ros.estimation import PayloadEstimator
from panda_dynamics_ros.estimation.payload_file import load_estimate, save_estimate


@pytest.fixture(scope="module")
def estimator(panda: RobotModel) -> PayloadEstimator:
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
def saved(estimator: PayloadEstimator, tmp_path: Path) -> Path:
    return save_estimate(estimator.estimate, estimator.memory, tmp_path / "deep" / "payload.yaml")


def test_what_was_saved_is_loaded(estimator: PayloadEstimator, saved: Path) -> None:
    memory, loaded = estimator.memory, load_estimate(saved)
    assert memory.tare.any()
    for name in ("vector", "covariance", "tare"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(memory, name))


def test_what_was_learnt_about_the_arm_is_saved(estimator: PayloadEstimator, saved: Path) -> None:
    arm, loaded = estimator.memory.arm, load_estimate(saved).arm
    assert arm is not None
    assert loaded is not None
    for name in ("mean", "covariance", "noise_ratio"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(arm, name))


def test_a_file_of_before_the_arm_was_saved_will_do(saved: Path) -> None:
    saved.write_text(yaml.safe_dump(without(yaml.safe_load(saved.read_text()), "memory", "arm")))
    assert load_estimate(saved).arm is None


def test_a_person_can_read_it(estimator: PayloadEstimator, saved: Path) -> None:
    content = yaml.safe_load(saved.read_text())
    assert content["franka_set_load"]["mass"] == estimator.estimate.mass
    assert content["std"] == estimator.estimate.std.tolist()
    assert content["identifiable"] == estimator.estimate.identifiable.tolist()
    assert len(saved.read_text().splitlines()) < 100


def test_an_estimator_that_has_seen_nothing_can_be_saved(panda: RobotModel, tmp_path: Path) -> None:
    estimator = PayloadEstimator(panda)
    path = save_estimate(estimator.estimate, estimator.memory, tmp_path / "nothing.yaml")
    np.testing.assert_array_equal(load_estimate(path).covariance, estimator.memory.covariance)


def test_saving_replaces_the_file_as_a_whole(
    estimator: PayloadEstimator, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def without(content: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The content with the last of the keys gone."""
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return content


def with_memory(content: dict[str, Any], **values: object) -> dict[str, Any]:
    content["memory"].update(values)
    return content


def with_arm(content: dict[str, Any], **values: object) -> dict[str, Any]:
    content["memory"]["arm"].update(values)
    return content


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: without(content, "memory"), "without memory.vector, memory.covariance, memory.tare"),
        (lambda content: without(content, "memory", "tare"), "without memory.tare"),
        (lambda content: {**content, "memory": 7}, "without memory.vector"),
        (lambda content: [content], "without memory.vector"),
        (lambda content: None, "without memory.vector"),
        (lambda content: with_memory(content, vector=[1.0] * 9), r"memory.vector: expected shape \(10,\), got \(9,\)"),
        (lambda content: with_memory(content, tare=["a"] * 10), "memory.tare: expected an array of real numbers"),
        (lambda content: with_memory(content, vector=[float("nan")] * 10), "memory.vector: expected finite numbers"),
        (
            lambda content: with_memory(content, covariance=(-np.eye(10)).tolist()),
            "memory.covariance: expected positive eigenvalues, got -1",
        ),
        (lambda content: with_memory(content, arm=[1.0]), "memory.arm: expected mean, covariance, noise_ratio"),
        (lambda content: without(content, "memory", "arm", "mean"), "memory.arm: expected mean, covariance"),
        (lambda content: with_arm(content, mean="?"), "memory.arm.mean: expected numbers in base64"),
        (lambda content: with_arm(content, mean="AAAAAAAA8H8="), "memory.arm.mean: expected finite numbers"),
        (lambda content: with_arm(content, mean=""), "memory.arm.covariance: expected 0 numbers"),
    ],
)
def test_what_is_no_saved_payload_is_refused(change: Any, words: str, saved: Path) -> None:
    saved.write_text(yaml.safe_dump(change(yaml.safe_load(saved.read_text()))))
    with pytest.raises(PandaDynamicsError, match=words) as caught:
        load_estimate(saved)
    assert str(caught.value).startswith(f"{saved}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"a: [1\nb"])
def test_what_is_no_yaml_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(PandaDynamicsError, match=r"bad\.yaml: expected a saved payload") as caught:
        load_estimate(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="got no such file"):
        load_estimate(tmp_path / "nowhere.yaml")


def tampered(content: dict[str, Any], name: str, value: float) -> None:
    if name == "covariance":
        content["memory"][name] = (value * np.eye(10)).tolist()
    else:
        content["memory"][name][0] = value


@pytest.mark.parametrize(
    ("name", "value"), [("vector", 1e308), ("tare", -1e308), ("covariance", 1e-300), ("covariance", 1e300)]
)
def test_numbers_that_no_estimator_has_are_refused(
    name: str, value: float, estimator: PayloadEstimator, tmp_path: Path
) -> None:
    path = save_estimate(estimator.estimate, estimator.memory, tmp_path / "payload.yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    tampered(content, name, value)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(PandaDynamicsError, match=f"memory.{name}: expected"):
        load_estimate(path)


@pytest.mark.parametrize(
    "text", ["[" * 20_000, "a: 2024-13-45", "x" * 2_000_000, "\xff"], ids=["nested", "date", "long", "no text"]
)
def test_yaml_that_is_made_to_harm_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "payload.yaml").write_bytes(text.encode("latin-1"))
    with pytest.raises(PandaDynamicsError, match="expected a saved payload"):
        load_estimate(tmp_path / "payload.yaml")


@pytest.mark.parametrize("value", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("part", [slice(None), slice(10)], ids=["all", "payload"])
@pytest.mark.parametrize("name", ["mean", "covariance", "noise_ratio"])
def test_an_absurd_memory_of_the_arm_is_refused_or_harmless(
    name: str, part: slice, value: float, panda: RobotModel, estimator: PayloadEstimator, tmp_path: Path
) -> None:
    """Whoever restores it goes on with finite estimates, and in two seconds with those of the payload."""
    memory = estimator.memory
    assert memory.arm is not None
    path = save_estimate(estimator.estimate, memory, tmp_path / "payload.yaml")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    numbers = getattr(memory.arm, name).copy()
    numbers[part] = value
    if name == "covariance":
        numbers = np.diag(numbers.diagonal())
    content["memory"]["arm"][name] = base64.b64encode(numbers.astype("<f8").tobytes()).decode()
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    restored, motion = PayloadEstimator(panda), sinusoids(3.0, rate=200.0)
    try:
        loaded = load_estimate(path)
        restored.restore(loaded.vector, loaded.covariance, loaded.tare, loaded.arm)
    except PandaDynamicsError as error:
        assert f"arm.{name}: expected" in str(error)
        return
    for sample in zip(motion.stamp, motion.q, motion.dq, torques(panda, motion, PAYLOAD), strict=True):
        estimate = restored.update(*sample)
        assert np.isfinite([*estimate.vector, *estimate.std]).all()
    carried = estimate.mass + memory.tare[0]
    assert abs(carried - PAYLOAD.mass) < 3.0 * estimate.std[0] + 0.05
