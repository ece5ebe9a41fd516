# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of the simulated arm, as fast as they go: for tests and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.simulation.plant import SimulatedPanda


@dataclass(frozen=True, eq=False)
class Scenario:
    """What happens to the arm. Times are in s from the beginning of the run.

    Attributes
    ----------
    duration: of the run, s.
    pick_at, release_at: when `payload` is picked up and put down; None for never.
    payload: in flange axes; needed with `pick_at`.

    Raises
    ------
    ArgumentError: a time is outside the run, out of order, or there is nothing to pick.
    """

    duration: float
    pick_at: float | None = None
    release_at: float | None = None
    payload: InertialParameters | None = None

    def __post_init__(self) -> None:
        checks.number(self.duration, "duration", minimum=0.0)
        if self.pick_at is not None:
            checks.number(self.pick_at, "pick_at", minimum=0.0, maximum=self.duration)
            if self.payload is None:
                raise ArgumentError("payload: expected InertialParameters with pick_at, got None")
        if self.release_at is not None:
            earliest = 0.0 if self.pick_at is None else self.pick_at
            checks.number(self.release_at, "release_at", minimum=earliest, maximum=self.duration)


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of a run: stamp (k,); q, dq, tau (k, n) as measured; truth (k, 10), the payload's inertial vector."""

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    tau: FloatArray
    truth: FloatArray

    @property
    def truth_mass(self) -> FloatArray:
        """Mass that was carried, (k,), kg."""
        return self.truth[:, 0]


def run_scenario(plant: SimulatedPanda, scenario: Scenario) -> Recording:
    """Run the plant through the scenario from its present time on, and record every sample."""
    count = round(scenario.duration / plant.timestep)
    pick, release = (
        None if at is None else round(at / plant.timestep) for at in (scenario.pick_at, scenario.release_at)
    )
    n = plant.robot.n
    stamp, q, dq, tau = np.empty(count), *(np.empty((count, n)) for _ in range(3))
    truth = np.empty((count, 10))
    carried = plant.truth.vector
    for k in range(count):
        if k == pick and scenario.payload is not None:
            plant.attach(scenario.payload)
            carried = plant.truth.vector
        if k == release:
            plant.release()
            carried = plant.truth.vector
        stamp[k], q[k], dq[k], tau[k] = plant.step()
        truth[k] = carried
    return Recording(stamp, q, dq, tau, truth)
