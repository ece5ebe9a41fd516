# SPDX-License-Identifier: Apache-2.0
"""The public 1 kHz log of a real arm, with the exact torques of payloads and pushes that it never carried.

Its motion is what it was; a payload's torque is the regressor of the true motion times its inertial vector.
The true motion is q through a zero-phase filter, differentiated: dq of the log is noisy and 5 ms late.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy import signal

import panda_dynamics_ros as pdr
from benchmarks.payload.samples import Samples
from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.checks import FloatArray

# Their licence keeps the logs out of the repository.
LOGS = Path(__file__).resolve().parents[3] / "shared" / "data"
LOG_1KHZ = LOGS / "panda_gaz" / "excitation_1khz_first_7600ms.csv"
SECOND_PASS = LOG_1KHZ.with_name("excitation_1khz_second_pass_13333ms_to_17000ms.csv")
LOG_30HZ = LOGS / "panda_unisa_bag" / "panda_exciting_trajectory.db3"
CUTOFF = 10.0  # Hz: the motion's fifth harmonic is at 0.4 Hz
STEP = 1e-3  # s


@cache
def log(path: Path = LOG_1KHZ) -> Samples:
    """A recording as it is, stamps from 0."""
    data = pdr.load_dataset(path)
    return Samples(data.stamp - data.stamp[0], data.q, data.dq, data.tau)


@cache
def true_motion(path: Path = LOG_1KHZ, cutoff: float = CUTOFF) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, dq, ddq (N, n) at the stamps of a log; cutoff: Hz, of the filter."""
    data = log(path)
    even = np.arange(data.stamp[0], data.stamp[-1] + STEP, STEP)
    q = np.column_stack([np.interp(even, data.stamp, column) for column in data.q.T])
    q = signal.sosfiltfilt(signal.butter(4, cutoff, fs=1.0 / STEP, output="sos"), q, axis=0)
    dq = np.gradient(q, STEP, axis=0)
    motion = (q, dq, np.gradient(dq, STEP, axis=0))
    q, dq, ddq = (np.column_stack([np.interp(data.stamp, even, c) for c in values.T]) for values in motion)
    return q, dq, ddq


@cache
def _regressor(path: Path) -> FloatArray:
    return pdr.load_robot("panda").payload_regressor(*true_motion(path))


def payload_torques(payload: InertialParameters, path: Path = LOG_1KHZ) -> FloatArray:
    """(N, n), N m, at the stamps of a 1 kHz log."""
    return _regressor(path) @ payload.vector


def push_torques(link: int, force: FloatArray) -> FloatArray:
    """(N, n), N m, in the measured torque, of a force on a link's CoM in base axes: tau = rigid body - J^T F."""
    J = pdr.load_robot("panda").com_jacobian(true_motion()[0], link)[:, :3]
    return -np.einsum("kij,i->kj", J, force)
