# SPDX-License-Identifier: Apache-2.0
"""Periodic motions, as Fourier series with a smooth start and standstills; and motions through points in time.

Fourier series: Swevers et al., IEEE T-RA 13(5), 1997, eq. (17). In motion time phi, with w = 2 pi / period:
    f(phi) = centre + sum_k  a_k / (w k) sin(w k phi) - b_k / (w k) cos(w k phi).
A motion whose coefficients are those of `at_rest` begins and ends each period at rest. Any other one starts out of a
rest posture through the quintic blend s(x) = 10 x^3 - 15 x^4 + 6 x^5:
    r(phi) = rest + s(phi / blend) (f(phi) - rest).
Motion time stands still before the start and during pauses; its rate falls and rises by 3 x^2 - 2 x^3.
"""

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
from panda_dynamics_ros.untrusted import read_text, refused, replacing

RAMP = 1.0  # time in which the motion comes to a standstill before a pause, and gets going after it, s
LARGEST_FILE = 1 << 25  # bytes of a motion file, unpacked: some 100 s at 1 kHz
POINT = ("positions", "velocities", "accelerations")
SHARE = 1e-6  # harmonics below this share of the largest one are what rounding left of the digits in a file


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """A motion of n joints: call it with times for positions, velocities and accelerations.

    centre: (n,), rad, the middle of the periodic motion.
    cosine, sine: (n, H), rad/s, the velocity's Fourier coefficients a_k and b_k.
    period: s, of the fundamental.
    blend: s, of the transition out of a posture of rest; 0 for a motion that starts at f(0).
    rest: (n,), rad, this posture; by default the centre.
    standstill: s, at rest before the motion.
    pauses: (start, duration) pairs in s, later standstills; the motion slows down 1 s ahead of each.
    Raises ArgumentError: a shape or a time is wrong, or pauses leave no time for slowing down between them.
    """

    centre: FloatArray
    cosine: FloatArray
    sine: FloatArray
    period: float = 10.0
    rest: FloatArray | None = None
    blend: float = 0.0
    standstill: float = 0.0
    pauses: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        shape = (np.size(self.centre), np.shape(self.cosine)[1] if np.ndim(self.cosine) == 2 else 1)
        checks.freeze(self, {"centre": shape[:1], "cosine": shape, "sine": shape})
        if self.rest is not None:
            checks.freeze(self, {"rest": shape[:1]})
        for name, least in (("period", 0.1), ("standstill", 0.0), ("blend", 0.0)):
            checks.number(getattr(self, name), name, minimum=least)
        pauses, earliest = np.reshape(list(self.pauses), (-1, 2)), self.standstill + RAMP
        for start, duration in checks.real_array(pauses, "pauses").tolist():
            if start < earliest or duration < 0.0:
                wanted = f"a start from {earliest:g} s ({RAMP:g} s to slow down) and a duration >= 0"
                raise ArgumentError(f"pauses: expected {wanted}, got ({start:g}, {duration:g})")
            earliest = start + duration + 2.0 * RAMP
        object.__setattr__(self, "pauses", tuple(map(tuple, pauses.tolist())))

    @property
    def settled(self) -> float:
        """Time from which the motion is periodic (where there are no pauses), s."""
        return self.standstill + self.blend

    def __call__(self, t: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration at times `t` (...,) in s: three arrays (..., n), rad and its rates.

        Raises ArgumentError: `t` is not finite.
        """
        phi, rate, change = self._motion_time(checks.real_array(t, "t")[..., None])
        w = 2.0 * np.pi / self.period * np.arange(1.0, self.cosine.shape[1] + 1)
        rest = self.centre if self.rest is None else self.rest
        sine, cosine = np.sin(w * phi), np.cos(w * phi)
        f = sine @ (self.cosine / w).T - cosine @ (self.sine / w).T + self.centre - rest
        df = cosine @ self.cosine.T + sine @ self.sine.T
        ddf = cosine @ (w * self.sine).T - sine @ (w * self.cosine).T
        x = np.clip(phi / self.blend, 0.0, 1.0) if self.blend > 0.0 else np.ones_like(phi)
        each = 1.0 / self.blend if self.blend > 0.0 else 0.0
        s = x**3 * (10.0 + x * (6.0 * x - 15.0))
        ds = 30.0 * each * (x * (1.0 - x)) ** 2
        dds = 60.0 * each**2 * x * (1.0 - x) * (1.0 - 2.0 * x)
        slope, curvature = ds * f + s * df, dds * f + 2.0 * ds * df + s * ddf
        return rest + s * f, slope * rate, curvature * rate**2 + slope * change

    def _motion_time(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Motion time phi, and its first and second derivative with respect to time t."""
        phi, change = np.maximum(t - self.standstill, 0.0), np.zeros_like(t)
        rate = np.asarray(t >= self.standstill, dtype=np.float64)
        for start, duration in self.pauses:
            # Parts of the ramps that have passed, before the pause and after it.
            x, y = (np.clip((t - begin) / RAMP, 0.0, 1.0) for begin in (start - RAMP, start + duration))
            phi -= RAMP * (x**3 - 0.5 * x**4) + np.clip(t - start, 0.0, duration) + RAMP * (y - y**3 + 0.5 * y**4)
            rate -= x * x * (3.0 - 2.0 * x) - y * y * (3.0 - 2.0 * y)
            change -= 6.0 * (x * (1.0 - x) - y * (1.0 - y)) / RAMP
        return phi, rate, change


def at_rest(cosine: FloatArray, sine: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest coefficients (n, H) of a motion that begins at rest: sum_k a_k = 0 and sum_k k b_k = 0."""
    k = np.arange(1.0, cosine.shape[1] + 1)
    return cosine - cosine.mean(axis=1, keepdims=True), sine - np.outer(sine @ k / (k @ k), k)


def write_motion(times: FloatArray, states: tuple[FloatArray, ...], path: Path) -> Path:
    """Write q, dq, ddq (N, n) at times (N,), and return the path."""
    names = ["t", *(f"{kind}{j}" for kind in ("q", "dq", "ddq") for j in range(1, states[0].shape[1] + 1))]
    table = np.column_stack([times, *states])
    with replacing(path) as file:
        np.savetxt(file, table, fmt="%.9g", delimiter=",", header=",".join(names), comments="")
    return path


def read_motion(path: str | Path, n: int = 7) -> FourierMotion:
    """The periodic motion of n joints in a file of `write_motion`: its Fourier coefficients.

    Raises DataError: the file does not hold one period of a motion of n joints that begins and ends at rest.
    """
    file = Path(path)
    with refused(file, f"one period of a motion of {n} joints: t, q1.., dq1.., ddq1.. (panda-dynamics excite)"):
        table = np.loadtxt(read_text(file, LARGEST_FILE).splitlines(), delimiter=",", skiprows=1, ndmin=2)
        if table.shape[1] != 1 + 3 * n or len(table) < 8:
            raise ValueError(f"{len(table)} rows of {table.shape[1]} columns")
        steps, q, dq = np.diff(table[:, 0]), table[:, 1 : 1 + n], table[:, 1 + n : 1 + 2 * n]
        even = np.ptp(steps) <= 1e-6 * steps.mean() and steps[0] > 0.0
        if not even or np.abs(dq[[0, -1]]).max() > 1e-3 or np.abs(q[-1] - q[0]).max() > 1e-3:
            raise ValueError("one that does not begin and end at rest, or uneven times")
    # The last row is the first of the next period.
    spectrum = 2.0 / (len(dq) - 1) * np.fft.rfft(dq[:-1], axis=0)
    size = np.abs(spectrum[1:]).max(axis=1)
    harmonics = 1 + int(np.flatnonzero(size > SHARE * size.max(initial=0.0)).max(initial=0))
    cosine, sine = spectrum.real[1 : harmonics + 1].T, -spectrum.imag[1 : harmonics + 1].T
    period = float(table[-1, 0] - table[0, 0])
    start, *_ = FourierMotion(np.zeros(n), cosine, sine, period)(0.0)
    return FourierMotion(q[0] - start, cosine, sine, period)


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Quintic polynomials from point to point; at rest before the first point and after the last one.

    times: (N,), s, increasing. q, dq, ddq: (N, n), rad, rad/s, rad/s^2; at rest in the first and the last point.
    Raises ArgumentError: a shape is wrong, times do not increase, or the motion does not begin and end at rest.
    """

    times: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray
    _curve: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from scipy.interpolate import BPoly  # half a second, which the start of a node need not take

        times = checks.real_array(self.times, "times")
        if times.size < 2 or (np.diff(times) <= 0.0).any():
            raise ArgumentError(f"times: expected two or more that increase, got {times.size}")
        shape = (times.size, np.shape(self.q)[-1] if np.ndim(self.q) == 2 else 1)
        checks.freeze(self, {"times": shape[:1], "q": shape, "dq": shape, "ddq": shape})
        if (fastest := np.abs(self.dq[[0, -1]]).max()) > 1e-3:
            raise ArgumentError(f"dq: expected a motion that begins and ends at rest, got {fastest:.3g} rad/s")
        curve = BPoly.from_derivatives(self.times, np.stack([self.q, self.dq, self.ddq], axis=1))
        object.__setattr__(self, "_curve", curve)

    def __call__(self, t: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration (..., n) at times `t` (...,), s."""
        times = np.asarray(t, dtype=np.float64)
        within = np.clip(times, self.times[0], self.times[-1])
        moving = (times == within)[..., None]
        return self._curve(within), moving * self._curve(within, 1), moving * self._curve(within, 2)


def write_trajectory(names: Sequence[str], times: FloatArray, states: tuple[FloatArray, ...], path: Path) -> Path:
    """Write trajectory_msgs/JointTrajectory as YAML, as `ros2 topic pub` reads it, and return the path.

    names: of the n joints. times: (N,), s from the start. states: q, dq, ddq (N, n).
    """
    points = []
    for t, *rows in zip(times.tolist(), *states, strict=True):
        point = {kind: row.round(9).tolist() for kind, row in zip(POINT, rows, strict=True)}
        seconds, nanoseconds = divmod(round(t * 1e9), 10**9)
        points.append({**point, "time_from_start": {"sec": seconds, "nanosec": nanoseconds}})
    content = {"joint_names": list(names), "points": points}
    with replacing(path) as file:
        file.write_text(yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=200), encoding="utf-8")
    return path
