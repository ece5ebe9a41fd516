# SPDX-License-Identifier: Apache-2.0
"""Recordings of simulated arms, made once and kept in a temporary folder.

The arm of a seed is one arm in all its recordings: its errors are drawn for one motion, on which they have the
real arm's level, and it is then calibrated on other motions and tested on one more, each with noise of its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.payload.samples import Samples, body
from panda_dynamics_ros.simulation import SimulatedPanda, exciting_motion

TRAINING_MOTIONS, TRAINING_TIME = 6, 31.5  # s each: three minutes of motion
BRISK = 0.85  # share of the velocity limits that the authors of the public 1 kHz log went to
SKIPPED = 6.0  # s at the start of a test, until the arm has its full speed
LEAD, CARRIED, REST = 6.0, 22.0, 2.0  # s before the pick, with the payload, after it was put down


SOURCES = ("robot", "dynamics", "simulation")
"""Rooms of the package that make a recording."""


@cache
def fingerprint(package: Path = Path(pdr.__file__).parent) -> str:
    """Of everything that recordings depend on: code, arms, the versions of NumPy and MuJoCo."""
    rooms = [file for room in SOURCES for file in (package / room).rglob("*") if file.suffix in (".py", ".yaml")]
    digest = hashlib.sha256(f"{np.__version__} {version('mujoco')}".encode())
    for file in [*sorted(rooms), Path(__file__), Path(__file__).with_name("samples.py")]:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def cached(name: str, make: Callable[[], Samples]) -> Samples:
    """The recording `name`, from the folder or made now."""
    folder = Path(tempfile.gettempdir()) / "panda_payload_benchmark" / fingerprint()
    path = folder / f"{name}.npz"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        made = make()
        unfinished = folder / f"{name}.{os.getpid()}.npz"  # another process may be at the same one
        np.savez(unfinished, stamp=made.stamp, q=made.q, dq=made.dq, tau=made.tau)
        unfinished.replace(path)
    with np.load(path) as file:
        return Samples(*(file[field] for field in ("stamp", "q", "dq", "tau")))


def arm(seed: int, motion: int, pauses: tuple[tuple[float, float], ...] = ()) -> SimulatedPanda:
    """The arm of `seed` at the start of its motion 0 (test) or 1.. (training)."""
    robot = pdr.load_robot("panda")
    # As brisk as the real log, whose figures are those to compare with: a slow motion shows less of a payload.
    excitation = exciting_motion(robot, 2000 + 10 * seed + motion, velocity_share=BRISK)
    return SimulatedPanda(
        robot,
        seed=seed,
        noise_seed=2000 + 10 * seed + motion,
        excitation=replace(excitation, pauses=pauses),
        arm_excitation=exciting_motion(robot, 1000 + seed, velocity_share=BRISK),
    )


def run(plant: SimulatedPanda, duration: float) -> Samples:
    """The next `duration` s."""
    rows = [plant.step() for _ in range(round(duration / plant.timestep))]
    return Samples(*(np.array(column) for column in zip(*rows, strict=True)))


def joined(parts: list[Samples]) -> Samples:
    """One after the other."""
    return Samples(*(np.concatenate([getattr(part, field) for part in parts]) for field in ("stamp", "q", "dq", "tau")))


def training(seed: int, motion: int) -> Samples:
    """Unloaded motion 1.. of an arm, from when it moves."""
    return cached(f"training_{seed}_{motion}", lambda: run(arm(seed, motion), TRAINING_TIME)).between(1.5, np.inf)


def carrying(seed: int, mass: float) -> Samples:
    """Motion 0: `LEAD` s without, `CARRIED` s with the payload, `REST` s without. Stamps start at `SKIPPED`."""

    def make() -> Samples:
        plant = arm(seed, 0)
        run(plant, SKIPPED)
        parts = [run(plant, LEAD)]
        if mass > 0.0:
            plant.attach(body(mass, seed))
        parts.append(run(plant, CARRIED))
        plant.release()
        return joined([*parts, run(plant, REST)])

    return cached(f"carrying_{seed}_{mass:g}", make)


def picking(seed: int, mass: float, times: int, period: float = 4.0) -> Samples:
    """Motion 0: the payload picked up `period` s after `SKIPPED`, put down a period later, and so on."""

    def make() -> Samples:
        plant = arm(seed, 0)
        run(plant, SKIPPED)
        parts = [run(plant, period)]
        for _ in range(times):
            plant.attach(body(mass, seed))
            parts.append(run(plant, period))
            plant.release()
            parts.append(run(plant, period))
        return joined(parts)

    return cached(f"picking_{seed}_{mass:g}_{times}_{period:g}", make)


def steady(seed: int, mass: float, duration: float) -> Samples:
    """Motion 0 with the same payload all the time, from 1 s on."""

    def make() -> Samples:
        plant = arm(seed, 0)
        if mass > 0.0:
            plant.attach(body(mass, seed))
        return run(plant, duration)

    return cached(f"steady_{seed}_{mass:g}_{duration:g}", make).between(1.0, np.inf)


def pushed(seed: int, mass: float, pushes: int, period: float = 4.0) -> Samples:
    """Motion 0 with a push on one link (2..7) every `period` s after `SKIPPED`: 20-60 N for 50-250 ms."""

    def make() -> Samples:
        plant, rng = arm(seed, 0), np.random.default_rng([seed, 7])
        if mass > 0.0:
            plant.attach(body(mass, seed))
        run(plant, SKIPPED)
        parts = [run(plant, period)]
        for _ in range(pushes):
            plant.apply_push(*push(rng))
            parts.append(run(plant, period))
        return joined(parts)

    return cached(f"pushed_{seed}_{mass:g}_{pushes}_{period:g}", make)


def push(rng: np.random.Generator) -> tuple[int, np.ndarray, float]:
    """Link 2..7, force (3,) N of 20-60 N in any direction, duration 50-250 ms."""
    direction = rng.standard_normal(3)
    force = rng.uniform(20.0, 60.0) * direction / np.linalg.norm(direction)
    return int(rng.integers(2, 8)), force, float(rng.uniform(0.05, 0.25))
