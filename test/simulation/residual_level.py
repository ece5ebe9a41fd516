# SPDX-License-Identifier: Apache-2.0
"""The torque that a model leaves unexplained in a recording: its level and its colour."""

from typing import NamedTuple

import numpy as np
from scipy import signal

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import friction_torques, inverse_dynamics
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.simulation import SimulatedRun

CUTOFF = 10.0  # Hz: the band in which the real arm's level was measured
EDGE = 0.3  # s at both ends, where the filter has not settled


class Residual(NamedTuple):
    """Torque that a model leaves unexplained: RMS (n,), N m; correlation_time (n,), s, until it has fallen to 1/e."""

    rms: FloatArray
    correlation_time: FloatArray


def measure_residual(robot: RobotDescription, recording: SimulatedRun) -> Residual:
    """Measured minus modelled torque of `robot`, below 10 Hz, accelerations from differentiated velocities.

    q, dq and tau go through the same zero-phase Butterworth filter, as the real log's did.
    """
    residual, timestep = residual_torques(robot, recording)
    times = np.array([correlation_time(column, timestep) for column in residual.T])
    return Residual(np.sqrt(np.mean(residual**2, axis=0)), times)


def residual_torques(robot: RobotDescription, recording: SimulatedRun) -> tuple[FloatArray, float]:
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
