# SPDX-License-Identifier: Apache-2.0
"""Samples through one zero-phase filter, with accelerations: what is known of a motion afterwards."""

from __future__ import annotations

import numpy as np
from scipy import signal

from benchmarks.payload.samples import Samples
from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray

CUTOFF, STEP, EVERY = 10.0, 1e-3, 10  # Hz; s; samples of the filtered motion per sample taken
EDGE = 0.1  # s left out at both ends of a stretch


def smooth(data: Samples) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """q, dq, ddq, tau (k, n) at 100 Hz, through one zero-phase filter, without the edges."""
    even = np.arange(data.stamp[0], data.stamp[-1], STEP)
    values = np.column_stack([data.q, data.dq, data.tau])
    values = np.column_stack([np.interp(even, data.stamp, column) for column in values.T])
    sections = signal.butter(4, CUTOFF, fs=1.0 / STEP, output="sos")
    q, dq, tau = np.split(signal.sosfiltfilt(sections, values, axis=0), 3, axis=1)
    ddq = np.gradient(dq, STEP, axis=0)
    edge = round(EDGE / STEP)
    q, dq, ddq, tau = (x[edge:-edge:EVERY] for x in (q, dq, ddq, tau))
    return q, dq, ddq, tau


def unexplained(robot: RobotModel, data: Samples) -> FloatArray:
    """(k, n), N m: smooth torque that the model leaves unexplained."""
    q, dq, ddq, tau = smooth(data)
    return tau - robot.inverse_dynamics(q, dq, ddq) - robot.friction_torques(dq)
