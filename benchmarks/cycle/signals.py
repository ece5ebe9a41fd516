# SPDX-License-Identifier: Apache-2.0
"""The recordings of `recordings`, as other drivers and sensors would have reported them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

from benchmarks.cycle.recordings import STEP, Recording
from panda_dynamics_ros.dynamics.friction import presliding_states

Signal = Callable[[Recording, np.random.Generator], Recording]


def _at(rate: float) -> Signal:
    """Samples at `rate` Hz."""
    return lambda r, rng: _kept(r, np.arange(0, len(r.stamp), round(1.0 / rate / STEP)))


def _kept(r: Recording, k: np.ndarray) -> Recording:
    """Some of the samples."""
    return replace(r, stamp=r.stamp[k], q=r.q[k], dq=r.dq[k], tau=r.tau[k], truth=r.truth[k])


def _lost(r: Recording, rng: np.random.Generator) -> Recording:
    return _kept(r, np.flatnonzero(rng.random(len(r.stamp)) > 0.2))


def _stopped(r: Recording, rng: np.random.Generator) -> Recording:
    """No samples for 0.15 to 0.6 s about each pick and release, as while a driver waits for its gripper."""
    seen = np.ones(len(r.stamp), bool)
    for h in r.happenings:
        if h.kind in ("pick", "handed over", "release"):
            length = rng.uniform(0.15, 0.6)
            first = h.begin - rng.uniform(0.1, 0.9) * length
            seen[(r.stamp > first) & (r.stamp < first + length)] = False
    return _kept(r, np.flatnonzero(seen))


def _jitter(r: Recording, rng: np.random.Generator) -> Recording:
    late = r.stamp + np.abs(2e-3 * rng.standard_normal(len(r.stamp)))
    return replace(r, stamp=np.maximum.accumulate(late) + 1e-7 * np.arange(len(late)))


def _late(delay: float) -> Signal:
    """Torques that come `delay` s after positions and velocities."""
    n = round(delay / STEP)
    return lambda r, rng: replace(r, tau=np.vstack([np.repeat(r.tau[:1], n, axis=0), r.tau[:-n]]))


def _smoothed(cutoff: float) -> Signal:
    """Torques behind a first-order low-pass of `cutoff` Hz."""
    new = 1.0 - np.exp(-2.0 * np.pi * cutoff * STEP)

    def smoothed(r: Recording, rng: np.random.Generator) -> Recording:
        return replace(r, tau=lfilter([new], [1.0, new - 1.0], r.tau, axis=0, zi=(1.0 - new) * r.tau[:1])[0])

    return smoothed


def _with_torque(change: Callable[[Recording, np.random.Generator], np.ndarray]) -> Signal:
    """Torques that differ by `change` (N, n), N m."""
    return lambda r, rng: replace(r, tau=r.tau + change(r, rng))


def _drift(r: Recording, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(0.4 * np.sin(2.0 * np.pi * r.stamp[:, None] / 90.0 + rng.uniform(0.0, 2.0 * np.pi, 7)))


def _load_friction(r: Recording, rng: np.random.Generator) -> np.ndarray:
    """Dry friction that grows with the joint's torque, as where torques are measured before the gears."""
    return np.asarray(0.06 * np.abs(r.tau) * presliding_states(r.q)[0])


def _of_motors(r: Recording, rng: np.random.Generator) -> Recording:
    """Motor currents, of 1 N m/A, with this friction."""
    currents = r.tau + _load_friction(r, rng)
    return replace(r, tau=currents, robot=replace(r.robot, effort="current", motor_constants=np.ones(r.robot.n)))


SIGNALS: dict[str, Signal] = {
    "as recorded, 1 kHz": lambda r, rng: r,
    "250 Hz": _at(250.0),
    "100 Hz": _at(100.0),
    "50 Hz": _at(50.0),
    "30 Hz": _at(30.0),
    "20 % of the samples lost": _lost,
    "no samples for up to 0.6 s about picks and releases": _stopped,
    "stamps some 2 ms late": _jitter,
    "torques in steps of 0.1 N m": lambda r, rng: replace(r, tau=np.round(r.tau / 0.1) * 0.1),
    "torques with white noise of 0.5 N m": _with_torque(lambda r, rng: 0.5 * rng.standard_normal(r.tau.shape)),
    "velocities with white noise of 0.02 rad/s": lambda r, rng: replace(
        r, dq=r.dq + 0.02 * rng.standard_normal(r.dq.shape)
    ),
    "offsets that wander by 0.4 N m in 90 s": _with_torque(_drift),
    "torques 2 % too large": lambda r, rng: replace(r, tau=1.02 * r.tau),
    "dry friction of 6 % of the torque more": _with_torque(_load_friction),
    "motor currents with this friction": _of_motors,
    "torques 10 ms late": _late(0.01),
    "torques 25 ms late": _late(0.025),
    "torques behind a low-pass of 20 Hz": _smoothed(20.0),
    "torques behind a low-pass of 5 Hz": _smoothed(5.0),
}
