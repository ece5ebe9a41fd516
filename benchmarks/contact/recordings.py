# SPDX-License-Identifier: Apache-2.0
"""Simulated arms that are pushed or left alone, and the models identified from their unloaded motion."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.payload import recordings
from benchmarks.payload.arms import published, simulated_own
from benchmarks.payload.learnt import PERIOD as CYCLE
from benchmarks.payload.learnt import START, repeating_arm
from benchmarks.payload.samples import Samples, body
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray

LINKS = range(2, 8)  # a force on the centre of mass of link 1 has next to no lever
WEAKEST, STRONGEST = 5.0, 10.0  # sigmas of the identified residual, of the joint that is loaded most
MOST_FORCE = 150.0  # N; a push that would need more is drawn anew
LIGHT = (1.0, 5.0)  # sigmas of the published model's residual, of pushes on a motion that is repeated
ROUNDS = 3  # of it, that are learnt from
DURATION, PERIOD = 0.3, 3.0  # s, of a push and between pushes


@dataclass(frozen=True)
class Push:
    """A step of force (3,), N, base axes, on the centre of mass of `link`, from `at` s for `duration` s.

    `sigmas`: of the joint that it loads most.
    """

    at: float
    link: int
    force: FloatArray
    sigmas: float
    duration: float = DURATION


def free(seed: int, mass: float, duration: float) -> Samples:
    """`duration` s of motion that nothing touches, from 1 s on."""
    return recordings.steady(seed, mass, duration)


def postures(seed: int) -> FloatArray:
    """q (k, n) along the test's motion, which is periodic, ten a second."""
    excitation = recordings.arm(seed, 0).excitation
    q, _, _ = excitation(excitation.settled + np.arange(0.0, excitation.period, 0.1))
    return q


def sigmas_per_newton(robot: RobotModel, q: FloatArray, link: int) -> FloatArray:
    """(..., n, 3): joint torques, in sigmas of the residual, of a force on the centre of mass of `link`."""
    J = robot.com_jacobian(q, link)[..., :3, :]
    return np.swapaxes(J, -1, -2) / robot.residual.std[:, None]


def pushed(seed: int, mass: float, count: int) -> tuple[Samples, list[Push]]:
    """The arm in motion and `count` pushes on it, the payload being carried from the start."""
    robot, rng = simulated_own(seed), np.random.default_rng([seed, round(1e3 * mass), 11])
    plan = [(int(rng.choice(LINKS)), rng.uniform(WEAKEST, STRONGEST), int(rng.integers(2**31))) for _ in range(count)]

    def make() -> Samples:
        plant = recordings.arm(seed, 0)
        if mass > 0.0:
            plant.attach(body(mass, seed))
        recordings.run(plant, recordings.SKIPPED)
        parts = [recordings.run(plant, PERIOD)]
        for link, sigmas, number in plan:
            push = _push(robot, plant.time, parts[-1].q[-1], link, sigmas, number)
            plant.apply_push(push.link, push.force, DURATION)
            parts.append(recordings.run(plant, PERIOD))
        return recordings.joined(parts)

    data = recordings.cached(f"contacts_{seed}_{mass:g}_{count}_{_fingerprint(robot)}", make)
    first = recordings.SKIPPED + PERIOD
    before = np.searchsorted(data.stamp, first + PERIOD * np.arange(count) - 1e-6) - 1
    return data, [
        _push(robot, first + PERIOD * k, data.q[row], *each)
        for k, (row, each) in enumerate(zip(before, plan, strict=True))
    ]


def firmly_pushed(seed: int, mass: float, count: int) -> tuple[Samples, list[Push]]:
    """The payload benchmark's pushes: 20 to 60 N for 50 to 250 ms, in any direction, every 4 s."""
    data, rng, pushes = recordings.pushed(seed, mass, count), np.random.default_rng([seed, 7]), []
    for k in range(count):
        at = recordings.SKIPPED + 4.0 * (k + 1)
        link, force, duration = recordings.push(rng)
        q = data.q[np.searchsorted(data.stamp, at - 1e-6)]
        sigmas = float(np.abs(sigmas_per_newton(simulated_own(seed), q, link) @ force).max())
        pushes.append(Push(at, link, force, sigmas, duration))
    return data, pushes


def repeated(seed: int, count: int) -> tuple[Samples, Samples, list[Push]]:
    """An arm that repeats a cycle: `ROUNDS` of them untouched, and `count` pushes on the rounds after these."""
    rng, plant = np.random.default_rng([seed, 13]), repeating_arm(seed)
    recordings.run(plant, START)
    untouched, pushes, parts = recordings.run(plant, ROUNDS * CYCLE), [], []
    parts.append(recordings.run(plant, PERIOD))
    for _ in range(count):
        sigmas, link, number = rng.uniform(*LIGHT), int(rng.choice(LINKS)), int(rng.integers(2**31))
        pushes.append(_push(published(), plant.time, parts[-1].q[-1], link, sigmas, number))
        plant.apply_push(link, pushes[-1].force, DURATION)
        parts.append(recordings.run(plant, PERIOD))
    return untouched, recordings.joined(parts), pushes


def _push(robot: RobotModel, at: float, q: FloatArray, link: int, sigmas: float, number: int) -> Push:
    """A push in a direction of its own, as strong as asked for."""
    gain = sigmas_per_newton(robot, q, link)
    for direction in _directions(np.random.default_rng(number)):
        force = sigmas / np.abs(gain @ direction).max() * direction
        if np.linalg.norm(force) <= MOST_FORCE:
            return Push(at, link, force, sigmas)
    raise AssertionError("directions never end")


def _directions(rng: np.random.Generator) -> Iterator[FloatArray]:
    while True:
        direction = rng.standard_normal(3)
        yield direction / np.linalg.norm(direction)


def _fingerprint(robot: RobotModel) -> str:
    """Of what pushes depend on beside the simulation: this file and the identified residual."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    digest.update(robot.residual.std.round(6).tobytes())
    digest.update(robot.inertial_vector.round(6).tobytes())
    return digest.hexdigest()[:12]
