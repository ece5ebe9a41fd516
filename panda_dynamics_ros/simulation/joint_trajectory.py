# SPDX-License-Identifier: Apache-2.0
"""A motion through points in time, as a trajectory_msgs/JointTrajectory states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import ArrayLike

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
        curve = BPoly.from_derivatives(times, np.stack(states, axis=1))
        for name, value in zip(("times", "q", "dq", "ddq"), (times, *states), strict=True):
            object.__setattr__(self, name, checks.read_only(value))
        object.__setattr__(self, "_curves", (curve, curve.derivative(1), curve.derivative(2)))

    def __call__(self, t: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration (..., n) at times `t` (...,), s."""
        times = np.asarray(t, dtype=np.float64)
        within = np.clip(times, self.times[0], self.times[-1])
        moving = (times == within)[..., None]
        q, dq, ddq = (curve(within) for curve in self._curves)
        return q, moving * dq, moving * ddq


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
