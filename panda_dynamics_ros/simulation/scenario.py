# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of the simulated arm, as fast as they go, and the torque that a model leaves unexplained in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
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
class SimulatedRun:
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


def run_scenario(plant: SimulatedPanda, scenario: Scenario) -> SimulatedRun:
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
    return SimulatedRun(stamp, q, dq, tau, truth)


CUTOFF = 10.0  # Hz: the band in which the real arm's level was measured
EDGE = 0.3  # s at both ends, where the filter has not settled


@dataclass(frozen=True, eq=False)
class ResidualReport:
    """Residual torque of a recording, per joint; `print` it.

    Attributes
    ----------
    mean, std, rms: (n,), N m.
    correlation_time: (n,), s, until the autocorrelation has fallen to 1/e.
    expected: (n,), N m, `robot.residual.std`, the real arm's RMS.
    """

    mean: FloatArray
    std: FloatArray
    rms: FloatArray
    correlation_time: FloatArray
    expected: FloatArray

    def __str__(self) -> str:
        rows = {
            "residual RMS [N m]": self.rms,
            "  real arm's": self.expected,
            "  mean": self.mean,
            "  std": self.std,
            "1/e time [s]": self.correlation_time,
        }
        return "\n".join(f"{name:<20}" + "".join(f"{x:8.3f}" for x in values) for name, values in rows.items())


def measure_residual(robot: RobotDescription, recording: SimulatedRun) -> ResidualReport:
    """Measured minus modelled torque of `robot`, below 10 Hz, accelerations from differentiated velocities.

    q, dq and tau go through the same zero-phase Butterworth filter, as the real log's did.

    Raises
    ------
    ArgumentError: a payload was carried, or the recording is shorter than 2 s.
    """
    if recording.truth.any():
        raise ArgumentError(f"recording: expected no payload, got up to {recording.truth_mass.max():g} kg")
    if len(recording.stamp) < 2 or recording.stamp[-1] - recording.stamp[0] < 2.0 - 1e-3:
        raise ArgumentError(f"recording: expected at least 2 s, got {len(recording.stamp)} samples")
    residual, timestep = residual_torques(robot, recording)
    return ResidualReport(
        mean=residual.mean(axis=0),
        std=residual.std(axis=0),
        rms=np.sqrt(np.mean(residual**2, axis=0)),
        correlation_time=np.array([correlation_time(column, timestep) for column in residual.T]),
        expected=np.array(robot.residual.std),
    )


def residual_torques(robot: RobotDescription, recording: SimulatedRun) -> tuple[FloatArray, float]:
    """Residual (k, n) in N m, without the edges, and the time step of its samples in s."""
    from scipy import signal  # not needed by a node, whose start it would double

    timestep = float(np.median(np.diff(recording.stamp)))
    sections = signal.butter(4, CUTOFF, fs=1.0 / timestep, output="sos")
    q, dq, tau = (signal.sosfiltfilt(sections, x, axis=0) for x in (recording.q, recording.dq, recording.tau))
    ddq = np.gradient(dq, timestep, axis=0)
    edge = round(EDGE / timestep)
    return (tau - inverse_dynamics(robot, q, dq, ddq) - friction_torques(robot, dq))[edge:-edge], timestep


def correlation_time(series: FloatArray, timestep: float) -> float:
    """Lag in s at which the autocorrelation of a series (k,) about its mean has fallen to 1/e."""
    from scipy import signal

    centred = series - series.mean()
    autocorrelation = signal.correlate(centred, centred, mode="full", method="fft")[len(centred) - 1 :]
    below = np.flatnonzero(autocorrelation < autocorrelation[0] / np.e)
    return float(below[0] if below.size else len(series)) * timestep
