# SPDX-License-Identifier: Apache-2.0
"""A motion through points in time, as a trajectory_msgs/JointTrajectory states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Quintic polynomials from point to point; at rest before the first point and after the last one.

    Attributes
    ----------
    times: (N,), s, increasing. q, dq, ddq: (N, n), rad, rad/s, rad/s^2; at rest in the first and the last point.

    Raises
    ------
    ArgumentError: a shape is wrong, times do not increase, or the motion does not begin and end at rest.
    """

    times: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    _curves: tuple[Any, Any, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from scipy.interpolate import BPoly  # half a second, which the start of a node need not take

        times = checks.real_array(self.times, "times").reshape(-1)
        if len(times) < 2 or (np.diff(times) <= 0.0).any():
            raise ArgumentError(f"times: expected two or more that increase, got {len(times)}")
        shape = (len(times), np.shape(self.q)[-1] if np.ndim(self.q) == 2 else 1)
        states = [checks.exactly(getattr(self, name), shape, name) for name in ("q", "dq", "ddq")]
        fastest = np.abs(states[1][[0, -1]]).max()
        if fastest > 1e-3:
            raise ArgumentError(f"dq: expected a motion that begins and ends at rest, got {fastest:.3g} rad/s")
        curve = BPoly(_bernstein(np.diff(times)[:, None], *states), times)
        object.__setattr__(self, "_curves", (curve, curve.derivative(1), curve.derivative(2)))

    @property
    def duration(self) -> float:
        """s, from the first point to the last."""
        return float(self.times[-1] - self.times[0])

    def __call__(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, dq and ddq (n,) at time t, s."""
        if not self.times[0] <= t <= self.times[-1]:
            still = np.zeros(np.shape(self.q)[1])
            return np.array(self.q[0 if t < self.times[0] else -1]), still, still
        q, dq, ddq = (curve(t) for curve in self._curves)
        return q, dq, ddq


def _bernstein(h: FloatArray, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
    """Coefficients (6, N - 1, n) of the quintics in the Bernstein basis; `h` (N - 1, 1) is the time between points.

    Those of `BPoly.from_derivatives`, which takes 40 us for each point: a tenth of a second for a usual trajectory.
    """
    before = q[:-1], h * dq[:-1] / 5.0, h * h * ddq[:-1] / 20.0
    after = q[1:], h * dq[1:] / 5.0, h * h * ddq[1:] / 20.0
    from_start = before[0], before[0] + before[1], before[0] + 2.0 * before[1] + before[2]
    to_end = after[0] - 2.0 * after[1] + after[2], after[0] - after[1], after[0]
    return np.stack([*from_start, *to_end])


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
