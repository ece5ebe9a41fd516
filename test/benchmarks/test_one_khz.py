# SPDX-License-Identifier: Apache-2.0
"""The 1 kHz benchmark measures what it says."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")


from benchmarks.one_khz.__main__ import Latency

FIRST = 1_700_000_000_123_456_789  # ns


def test_latency_is_from_a_sample_to_its_own_answer():
    """Samples sent late, and answers to every second one and to none of them."""
    stamps = FIRST + 1_000_000 * np.arange(100)
    sent = stamps + 30_000 * np.arange(100)  # ns
    rows = np.column_stack([stamps, sent + 250_000])[::2]
    rows[-1, 1] += 750_000
    foreign = [[FIRST - 1_000_000, FIRST], [FIRST + 100 * 1_000_000, FIRST]]
    latency = Latency.of("topic", np.vstack([rows, foreign]), FIRST, sent)
    assert (latency.count, latency.median, latency.largest) == (50, pytest.approx(0.25), pytest.approx(1.0))
