# SPDX-License-Identifier: Apache-2.0
"""A known payload on one arm, and what becomes of an answer about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from benchmarks.payload.arms import ARMS
from benchmarks.payload.methods import Answer
from panda_dynamics_ros import InertialParameters

Z95 = 1.96
SomeTrial = TypeVar("SomeTrial", bound="Trial")


@dataclass(frozen=True)
class Outcome:
    """One method's answer, `time` s after the payload came on.

    `start` is "cold" (the estimator starts with the payload attached) or "pick" (in motion). Errors: mass in kg,
    com in m (a distance), inertia in kg m^2 (Frobenius norm, about the CoM; nan without a payload). mass_held and
    com_held (three coordinates) say whether the 95 % intervals hold the truth; physical, whether the body can exist.
    """

    source: str
    arm: str
    start: str
    mass: float
    time: float
    method: str
    mass_error: float
    com_error: float
    inertia_error: float
    mass_held: bool
    com_held: tuple[bool, ...]
    physical: bool


def judged(
    source: str, arm: str, start: str, time: float, method: str, payload: InertialParameters, answer: Answer
) -> Outcome:
    """The outcome of one answer."""
    mass_error, com_error = answer.mass - payload.mass, answer.com - payload.com
    nothing = payload.mass == 0.0
    return Outcome(
        source, arm, start, payload.mass, time, method,
        mass_error=mass_error,
        com_error=np.nan if nothing else float(np.linalg.norm(com_error)),
        inertia_error=np.nan if nothing else float(np.linalg.norm(answer.body.inertia - payload.inertia)),
        mass_held=bool(abs(mass_error) <= Z95 * np.sqrt(answer.covariance[0, 0])),
        com_held=() if nothing else tuple((np.abs(com_error) <= Z95 * answer.com_std).tolist()),
        physical=answer.body.is_physical(),
    )  # fmt: skip


@dataclass(frozen=True)
class Trial(ABC):
    """One payload on one arm: a job for one process. `seed` is None for the real log."""

    arm: str
    mass: float
    seed: int | None = None

    @classmethod
    def all(cls: type[SomeTrial], masses: Sequence[float], seeds: int, real: bool) -> list[SomeTrial]:
        """Each mass on each arm: the simulated ones, which take long, first."""
        seeds_of_arms = [*range(seeds), *([None] if real else [])]
        return [cls(arm, mass, seed) for seed in seeds_of_arms for mass in masses for arm in ARMS]

    def run(self) -> list[Outcome]:
        """All its outcomes."""
        return list(self._real() if self.seed is None else self._simulated(self.seed))

    @abstractmethod
    def _simulated(self, seed: int) -> Iterator[Outcome]:
        """Its outcomes on the simulated arm of that seed."""

    @abstractmethod
    def _real(self) -> Iterator[Outcome]:
        """Its outcomes on the public log."""
