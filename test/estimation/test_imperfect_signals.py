# SPDX-License-Identifier: Apache-2.0
"""Streams of other rates, with jitter, delays, coarse steps and lost samples: 1 kg stays 1 kg, and nothing happens."""

from collections.abc import Callable

import numpy as np
import pytest
from motion import PAYLOAD, coloured, sinusoids, torques

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import ArmMonitor

SECONDS, RATE = 20.0, 1000
Signals = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""stamp (N,), s; q, dq, tau (N, 7), rad, rad/s, N m."""
Change = Callable[[Signals], Signals]


def late(values: FloatArray, samples: int) -> FloatArray:
    return np.vstack((values[:1].repeat(samples, 0), values[:-samples]))


def chosen(signals: Signals, rows: np.ndarray) -> Signals:
    stamp, q, dq, tau = (values[rows] for values in signals)
    return stamp, q, dq, tau


def without(signals: Signals, seconds: float) -> Signals:
    """Blocks of samples missing, from 4 s on, each 0.7 s."""
    stamp = signals[0]
    return chosen(signals, (stamp < 4.0) | ((stamp - 4.0) % 0.7 >= seconds))


def jittered(signals: Signals) -> Signals:
    stamp, q, dq, tau = signals
    return stamp + np.random.default_rng(3).uniform(-2e-4, 2e-4, len(stamp)), q, dq, tau


def filtered_difference(signals: Signals) -> Signals:
    """Velocities as a driver computes them that has positions only: through a low-pass of 20 Hz."""
    stamp, q, _, tau = signals
    dq = np.diff(q, axis=0, prepend=q[:1]) * RATE
    for k in range(1, len(dq)):
        dq[k] = dq[k - 1] + (1.0 - np.exp(-2.0 * np.pi * 20.0 / RATE)) * (dq[k] - dq[k - 1])
    return stamp, q, dq, tau


def losing(seconds: float) -> Change:
    return lambda signals: without(signals, seconds)


IMPERFECT: dict[str, Change] = {
    "100 Hz": lambda s: chosen(s, np.arange(0, len(s[0]), 10)),
    "250 Hz": lambda s: chosen(s, np.arange(0, len(s[0]), 4)),
    "500 Hz": lambda s: chosen(s, np.arange(0, len(s[0]), 2)),
    "stamps with jitter": jittered,
    "stamps in steps of 1 ms": lambda s: (np.round(s[0], 3), s[1], s[2], s[3]),
    "stamps in steps of 10 ms": lambda s: (np.round(s[0], 2), s[1], s[2], s[3]),
    "each tenth sample twice": lambda s: chosen(
        s, np.sort(np.append(np.arange(len(s[0])), np.arange(0, len(s[0]), 10)))
    ),
    "velocities by differences": filtered_difference,
    "velocities 10 ms late": lambda s: (s[0], s[1], late(s[2], 10), s[3]),
    "torques in steps of 0.05 N m": lambda s: (s[0], s[1], s[2], 0.05 * np.round(s[3] / 0.05)),
    "torques 15 ms late": lambda s: (s[0], s[1], s[2], late(s[3], 15)),
    **{f"{1e3 * gap:g} ms lost": losing(gap) for gap in (0.002, 0.03, 0.06, 0.09, 0.15, 0.3, 0.5)},
}


@pytest.fixture(scope="module")
def motion_and_torques(panda):
    motion, rng = sinusoids(SECONDS, RATE), np.random.default_rng(8)
    tau = torques(panda, motion, PAYLOAD) + coloured(panda, motion.stamp, rng) + 0.05 * rng.normal(size=motion.q.shape)
    return (
        motion.stamp,
        motion.q + 1e-6 * rng.normal(size=tau.shape),
        motion.dq + 6e-3 * rng.normal(size=tau.shape),
        tau,
    )


@pytest.mark.parametrize("name", IMPERFECT)
def test_nothing_happens_and_the_payload_is_what_it_is(panda, motion_and_torques, name):
    monitor = ArmMonitor(panda)
    found = monitor.update_rows(*IMPERFECT[name](motion_and_torques))
    estimates = [estimate for _, estimate, _ in found.estimates]
    assert found.contacts == []
    assert not any(estimate.event for estimate in estimates)
    assert {estimate.problem for estimate in estimates} == {""}
    # The residual is drawn once, and the published interval also allows for errors that this arm does not have.
    assert abs(estimates[-1].mass - PAYLOAD.mass) < 2.0 * estimates[-1].std[0]
    assert estimates[-1].std[0] < 0.2  # of an unknown payload it is 1.5 kg
