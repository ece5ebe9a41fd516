# SPDX-License-Identifier: Apache-2.0
"""Motions as files: CSV with t, q1.., dq1.., ddq1.. in s, rad, rad/s, rad/s^2, and trajectories for ROS 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError, DataFileNotFoundError
from panda_dynamics_ros.motion.fourier_motion import FourierMotion

SHARE = 1e-6
"""Harmonics below this share of the largest one are what rounding left of the digits in the file."""


def write_motion(times: FloatArray, states: tuple[FloatArray, ...], path: Path) -> Path:
    """Write q, dq, ddq (N, n) at times (N,), and return the path."""
    n = states[0].shape[1]
    names = ["t", *(f"{kind}{j}" for kind in ("q", "dq", "ddq") for j in range(1, n + 1))]
    table = np.column_stack([times, *states])
    np.savetxt(path, table, fmt="%.9g", delimiter=",", header=",".join(names), comments="")
    return path


def write_trajectory(names: Sequence[str], times: FloatArray, states: tuple[FloatArray, ...], path: Path) -> Path:
    """Write trajectory_msgs/JointTrajectory as YAML, as `ros2 topic pub` reads it, and return the path.

    Parameters
    ----------
    names: of the n joints. times: (N,), s from the start. states: q, dq, ddq (N, n).
    """
    points = [
        {
            "positions": q.round(9).tolist(),
            "velocities": dq.round(9).tolist(),
            "accelerations": ddq.round(9).tolist(),
            "time_from_start": dict(zip(("sec", "nanosec"), divmod(round(t * 1e9), 10**9), strict=True)),
        }
        for t, q, dq, ddq in zip(times.tolist(), *states, strict=True)
    ]
    content = {"joint_names": list(names), "points": points}
    path.write_text(yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=200), encoding="utf-8")
    return path


def read_motion(path: str | Path, n: int = 7) -> FourierMotion:
    """The periodic motion of n joints in a file of `write_motion`: its Fourier coefficients.

    Raises
    ------
    DataFileNotFoundError: there is no such file.
    DataError: it does not hold one period of a motion of n joints that begins and ends at rest.
    """
    file = Path(path)
    if not file.is_file():
        raise DataFileNotFoundError(f"motion: expected an existing file, got {str(path)!r}")
    wanted = f"{file}: expected one period of a motion of {n} joints: t, q1.., dq1.., ddq1.. (panda-dynamics excite)"
    try:
        table = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    except ValueError as error:
        raise DataError(f"{wanted}, got {' '.join(str(error).split())}") from error
    if table.shape[1] != 1 + 3 * n or len(table) < 8:
        raise DataError(f"{wanted}, got {len(table)} rows of {table.shape[1]} columns")
    steps = np.diff(table[:, 0])
    q, dq = table[:, 1 : 1 + n], table[:, 1 + n : 1 + 2 * n]
    even = np.ptp(steps) <= 1e-6 * max(abs(float(steps.mean())), 1e-9)
    if not even or np.abs(dq[[0, -1]]).max() > 1e-3 or np.abs(q[-1] - q[0]).max() > 1e-3:
        raise DataError(f"{wanted}, got one that does not begin and end at rest, or uneven times")
    # The last row is the first of the next period.
    spectrum = 2.0 / (len(dq) - 1) * np.fft.rfft(dq[:-1], axis=0)
    size = np.abs(spectrum[1:]).max(axis=1)
    harmonics = 1 + int(np.flatnonzero(size > SHARE * size.max(initial=0.0)).max(initial=0))
    cosine, sine = spectrum.real[1 : harmonics + 1].T, -spectrum.imag[1 : harmonics + 1].T
    period = float(table[-1, 0] - table[0, 0])
    start, *_ = FourierMotion(np.zeros(n), cosine, sine, period)(np.zeros(1))
    return FourierMotion(q[0] - start[0], cosine, sine, period)
