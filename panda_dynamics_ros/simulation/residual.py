# SPDX-License-Identifier: Apache-2.0
"""How much torque a model leaves unexplained in a recording without payload, and how coloured that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.simulation.scenario import Recording

CUTOFF = 10.0  # Hz: the band in which the real arm's level was measured
EDGE = 0.3  # s at both ends, where the filter has not settled


@dataclass(frozen=True, eq=False)
class ResidualReport:
    """Residual torque of a recording, per joint; `print` it.

    Attributes
    ----------
    mean, std, rms: (n,), N m.      correlation_time: (n,), s, until the autocorrelation has fallen to 1/e.
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


def measure_residual(robot: RobotDescription, recording: Recording) -> ResidualReport:
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


def residual_torques(robot: RobotDescription, recording: Recording) -> tuple[FloatArray, float]:
    """Residual (k, n) in N m, without the edges, and the time step of its samples in s."""
    timestep = float(np.median(np.diff(recording.stamp)))
    sections = signal.butter(4, CUTOFF, fs=1.0 / timestep, output="sos")
    q, dq, tau = (signal.sosfiltfilt(sections, x, axis=0) for x in (recording.q, recording.dq, recording.tau))
    ddq = np.gradient(dq, timestep, axis=0)
    edge = round(EDGE / timestep)
    return (tau - inverse_dynamics(robot, q, dq, ddq) - friction_torques(robot, dq))[edge:-edge], timestep


def correlation_time(series: FloatArray, timestep: float) -> float:
    """Lag in s at which the autocorrelation of a series (k,) about its mean has fallen to 1/e."""
    centred = series - series.mean()
    autocorrelation = signal.correlate(centred, centred, mode="full", method="fft")[len(centred) - 1 :]
    below = np.flatnonzero(autocorrelation < autocorrelation[0] / np.e)
    return float(below[0] if below.size else len(series)) * timestep
