# SPDX-License-Identifier: Apache-2.0
"""Periodic motions of an arm: a Fourier series in each joint, with a smooth start and standstills.

Swevers et al., IEEE T-RA 13(5), 1997, eq. (17). In motion time phi, with w = 2 pi / period:
    f(phi) = centre + sum_k  a_k / (w k) sin(w k phi) - b_k / (w k) cos(w k phi).
A motion whose coefficients are those of `at_rest` begins and ends each period at rest. Any other one starts out of a
rest posture through the quintic blend s(x) = 10 x^3 - 15 x^4 + 6 x^5:
    r(phi) = rest + s(phi / blend) (f(phi) - rest).
Motion time stands still before the start and during pauses; its rate falls and rises by 3 x^2 - 2 x^3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.errors import ArgumentError, DataError, DataFileNotFoundError
from panda_dynamics_ros.untrusted import is_file, read_text

RAMP = 1.0
"""Time in which the motion comes to a standstill before a pause, and gets going after it, s."""
LARGEST_FILE = 1 << 25
"""Bytes of a motion file, unpacked: some 100 s at 1 kHz."""

SHARE = 1e-6
"""Harmonics below this share of the largest one are what rounding left of the digits in a file."""


@compiled
def motion_time(t, standstill, pauses, ramp):
    """Motion time phi, and its first and second derivative with respect to time t."""
    phi, rate, change = max(t - standstill, 0.0), 1.0 if t >= standstill else 0.0, 0.0
    for k in range(pauses.shape[0]):
        start, end = pauses[k, 0], pauses[k, 0] + pauses[k, 1]
        if t >= end + ramp:
            phi -= pauses[k, 1] + ramp
        elif t >= end:
            x = (t - end) / ramp
            phi -= pauses[k, 1] + 0.5 * ramp + ramp * (x - x**3 + 0.5 * x**4)
            rate, change = x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x) / ramp
        elif t >= start:
            phi -= t - start + 0.5 * ramp
            rate = 0.0
        elif t >= start - ramp:
            x = (t - start + ramp) / ramp
            phi -= ramp * (x**3 - 0.5 * x**4)
            rate, change = 1.0 - x * x * (3.0 - 2.0 * x), -6.0 * x * (1.0 - x) / ramp
    return phi, rate, change


@compiled
def quintic_blend(phi, duration):
    """s, ds/dphi and d2s/dphi2 of the quintic from 0 to 1, flat to second order at both ends; 1 without duration."""
    if duration <= 0.0:
        return 1.0, 0.0, 0.0
    x = min(max(phi / duration, 0.0), 1.0)
    value = x**3 * (10.0 + x * (6.0 * x - 15.0))
    slope = 30.0 * x * x * (1.0 - x) ** 2 / duration
    return value, slope, 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / duration**2


@compiled
def motion_sample(t, timing, pauses, table, q, dq, ddq):
    """q, dq, ddq (n,) at time t. `timing`, `pauses`, `table`: see `FourierMotion.arguments`."""
    omega, blend, standstill, ramp = timing[0], timing[1], timing[2], timing[3]
    phi, rate, change = motion_time(t, standstill, pauses, ramp)
    s, ds, dds = quintic_blend(phi, blend)
    harmonics = (table.shape[1] - 2) // 2
    for i in range(table.shape[0]):
        f, df, ddf = table[i, 1] - table[i, 0], 0.0, 0.0
        for k in range(harmonics):
            a, b, w = table[i, 2 + k], table[i, 2 + harmonics + k], omega * (k + 1)
            sine, cosine = math.sin(w * phi), math.cos(w * phi)
            f += (a * sine - b * cosine) / w
            df += a * cosine + b * sine
            ddf += w * (b * cosine - a * sine)
        slope = ds * f + s * df
        curvature = dds * f + 2.0 * ds * df + s * ddf
        q[i] = table[i, 0] + s * f
        dq[i] = slope * rate
        ddq[i] = curvature * rate * rate + slope * change


@compiled
def motion_samples(t, timing, pauses, table, q, dq, ddq):
    """q, dq, ddq (rows, n) at times t (rows,)."""
    for k in range(t.shape[0]):
        motion_sample(t[k], timing, pauses, table, q[k], dq[k], ddq[k])


@dataclass(frozen=True, eq=False)
class FourierMotion:
    """A motion of n joints: call it with times for positions, velocities and accelerations.

    Attributes
    ----------
    centre: (n,), rad, the middle of the periodic motion.
    cosine, sine: (n, H), rad/s, the velocity's Fourier coefficients a_k and b_k.
    period: s, of the fundamental.
    rest: (n,), rad, the posture of the start; by default that of f(0), with no blend.
    blend: s, of the transition out of `rest`; 0 for a motion that starts at f(0).
    standstill: s, at rest before the motion.
    pauses: (start, duration) pairs in s, later standstills; the motion slows down 1 s ahead of each.

    Raises
    ------
    ArgumentError: a shape or a time is wrong, `rest` and `blend` are not given together, or pauses leave no time for
        slowing down between them.
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
        centre = checks.real_array(self.centre, "centre").reshape(-1)
        cosine = checks.real_array(self.cosine, "cosine")
        shape = (centre.size, cosine.shape[1] if cosine.ndim == 2 else 1)
        for name, wanted in (("centre", shape[:1]), ("cosine", shape), ("sine", shape)):
            array = checks.exactly(getattr(self, name), wanted, name)
            object.__setattr__(self, name, checks.read_only(array))
        checks.number(self.period, "period", minimum=0.1)
        checks.number(self.standstill, "standstill", minimum=0.0)
        if self.rest is None:
            checks.number(self.blend, "blend (without rest)", minimum=0.0, maximum=0.0)
        else:
            object.__setattr__(self, "rest", checks.read_only(checks.exactly(self.rest, shape[:1], "rest")))
            checks.number(self.blend, "blend", minimum=0.1)
        object.__setattr__(self, "pauses", _checked_pauses(self.pauses, self.standstill))

    @property
    def settled(self) -> float:
        """Time from which the motion is periodic (where there are no pauses), s."""
        return self.standstill + self.blend

    @cached_property
    def arguments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What `motion_sample` takes: timing (4,), pauses (k, 2), and per joint rest, centre, a_1.., b_1.. ."""
        timing = np.array([2.0 * np.pi / self.period, self.blend, self.standstill, RAMP])
        table = np.column_stack([self.centre if self.rest is None else self.rest, self.centre, self.cosine, self.sine])
        return timing, np.array(self.pauses, dtype=np.float64).reshape(-1, 2), table

    def __call__(self, t: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration at times `t` (...,) in s: three arrays (..., n), rad and its rates.

        Raises
        ------
        ArgumentError: `t` is not finite.
        """
        times = checks.real_array(t, "t")
        q, dq, ddq = (np.empty((times.size, self.centre.size)) for _ in range(3))
        motion_samples(times.reshape(-1), *self.arguments, q, dq, ddq)
        shape = (*times.shape, self.centre.size)
        return q.reshape(shape), dq.reshape(shape), ddq.reshape(shape)


def at_rest(cosine: FloatArray, sine: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest coefficients (n, H) of a motion that begins at rest: sum_k a_k = 0 and sum_k k b_k = 0."""
    k = np.arange(1.0, cosine.shape[1] + 1)
    return cosine - cosine.mean(axis=1, keepdims=True), sine - np.outer(sine @ k / (k @ k), k)


def _checked_pauses(pauses: Iterable[tuple[float, float]], earliest: float) -> tuple[tuple[float, float], ...]:
    checked = []
    for start, duration in checks.trailing(np.reshape(list(pauses), (-1, 2)), (2,), "pauses").tolist():
        if start < earliest + RAMP or duration < 0.0:
            raise ArgumentError(
                f"pauses: expected a start from {earliest + RAMP:g} s ({RAMP:g} s to slow down) and a duration >= 0, "
                f"got ({start:g}, {duration:g})"
            )
        checked.append((start, duration))
        earliest = start + duration + RAMP
    return tuple(checked)


def write_motion(times: FloatArray, states: tuple[FloatArray, ...], path: Path) -> Path:
    """Write q, dq, ddq (N, n) at times (N,), and return the path."""
    n = states[0].shape[1]
    names = ["t", *(f"{kind}{j}" for kind in ("q", "dq", "ddq") for j in range(1, n + 1))]
    table = np.column_stack([times, *states])
    np.savetxt(path, table, fmt="%.9g", delimiter=",", header=",".join(names), comments="")
    return path


def read_motion(path: str | Path, n: int = 7) -> FourierMotion:
    """The periodic motion of n joints in a file of `write_motion`: its Fourier coefficients.

    Raises
    ------
    DataFileNotFoundError: there is no such file.
    DataError: it does not hold one period of a motion of n joints that begins and ends at rest.
    """
    file = Path(path)
    if not is_file(file):
        raise DataFileNotFoundError(f"motion: expected an existing file, got {str(path)!r}")
    wanted = f"{file}: expected one period of a motion of {n} joints: t, q1.., dq1.., ddq1.. (panda-dynamics excite)"
    try:
        table = np.loadtxt(read_text(file, LARGEST_FILE).splitlines(), delimiter=",", skiprows=1, ndmin=2)
    except DataError:
        raise
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
