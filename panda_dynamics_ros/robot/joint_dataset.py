# SPDX-License-Identifier: Apache-2.0
"""Samples of one arm as arrays, with a count of what its file had beside them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

LONGEST_STEP = 0.5  # s: a longer one restarts the filters (`EstimatorOptions.max_gap_s`)


class StreamSteps(NamedTuple):
    """The steps between stamps.

    period_s: median step, s; nan for fewer than two samples.
    lost: samples that are missing between others, in steps of up to `LONGEST_STEP`.
    pauses: (k, 2), s: the stamp before each longer step, and its length.
    """

    period_s: float
    lost: int
    pauses: FloatArray


def stream_steps(stamp: FloatArray) -> StreamSteps:
    """The steps between increasing stamps (N,), s."""
    steps = np.diff(stamp)
    period = float(np.median(steps)) if len(steps) else math.nan
    long = steps > LONGEST_STEP
    missing = np.rint(steps[~long] / period) - 1.0
    return StreamSteps(period, int(missing[missing > 0.0].sum()), np.column_stack([stamp[:-1][long], steps[long]]))


@dataclass(frozen=True, eq=False)
class JointDataset(checks.Frozen):
    """N samples of an n-joint arm, all of them usable; the arrays are read-only.

    stamp: (N,), s, strictly increasing.
    q, dq, tau: (N, n), rad, rad/s, N m (measured joint torque, gravity included).
    names: n joint names, as recorded.
    source: the file the samples came from.
    rejected: how many samples of the file were left out, by reason.
    notes: what else is to be said of the file, a line each.
    tau_ext: (N, n), N m, Franka's tau_ext_hat_filtered, nan where it is not known; None where it is not recorded.
    recorded_ns: (N,), the stamps as recorded, to the nanosecond; None where they are known in seconds only.
    """

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    tau: FloatArray
    names: tuple[str, ...]
    source: str
    rejected: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    recorded_ns: NDArray[np.int64] | None = None
    tau_ext: FloatArray | None = None

    def __post_init__(self) -> None:
        stamp = checks.trailing(self.stamp, (), "stamp")
        if stamp.ndim != 1 or not (np.diff(stamp) > 0.0).all():
            raise ArgumentError(f"stamp: expected strictly increasing times (N,), got shape {stamp.shape}")
        rows = (len(stamp), len(self.names))
        checks.freeze(self, {"stamp": stamp.shape, "q": rows, "dq": rows, "tau": rows})
        for name, shape, kind in (("tau_ext", rows, np.float64), ("recorded_ns", stamp.shape, np.int64)):
            if (given := getattr(self, name)) is not None:
                if np.shape(given) != shape:
                    raise ArgumentError(f"{name}: expected shape {shape}, got {np.shape(given)}")
                object.__setattr__(self, name, checks.read_only(given, kind))

    @property
    def stamp_ns(self) -> NDArray[np.int64]:
        """(N,), the stamps in whole nanoseconds."""
        if self.recorded_ns is not None:
            return self.recorded_ns
        whole = np.floor(self.stamp)  # apart: a double since 1970 times 1e9 is rounded by some 100 ns
        return whole.astype(np.int64) * 1_000_000_000 + np.rint(1e9 * (self.stamp - whole)).astype(np.int64)

    @property
    def period_s(self) -> float:
        """Median step between stamps, s; nan for fewer than two samples."""
        return stream_steps(self.stamp).period_s

    @property
    def rate_hz(self) -> float:
        """Samples per second by the median step; nan for fewer than two samples."""
        return 1.0 / self.period_s

    @property
    def duration_s(self) -> float:
        """From the first to the last stamp, s."""
        return float(self.stamp[-1] - self.stamp[0]) if len(self.stamp) else 0.0

    def __repr__(self) -> str:
        counts = f"{len(self.stamp)} samples of {len(self.names)} joints over {self.duration_s:.1f} s"
        return f"JointDataset({counts}, {self.rate_hz:.6g} Hz, {sum(self.rejected.values())} left out, {self.source!r})"


def require_dataset(data: Any) -> JointDataset:
    """The recording itself. Raises ArgumentError: it is something else, such as the path of a file."""
    if not isinstance(data, JointDataset):
        got = f"{type(data).__name__}; load_dataset gives one by the path of its file"
        raise ArgumentError(f"data: expected a JointDataset, got {got}")
    if not len(data.stamp):
        raise ArgumentError("data: expected at least one sample, got none")
    return data


def each_dataset(data: Any) -> Iterator[JointDataset]:
    """One recording, or one of several after the other; see `require_dataset`."""
    return map(require_dataset, data if isinstance(data, Iterable) and not isinstance(data, str) else [data])
