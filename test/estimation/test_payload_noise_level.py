# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from panda_dynamics_ros.estimation.noise_level import HIGHEST, LOWEST, NoiseLevel

from panda_dynamics_ros.robot.limits import ResidualModel

RESIDUAL = ResidualModel(np.array([0.3, 0.5]), np.array([0.5, 0.2]))
STEP = 0.1


def level_after(ratio: float, seconds: float, seen: float = 0.8) -> NoiseLevel:
    """After a disturbance of that ratio, of which the filter knows the share `seen` of the variance."""
    rng, level, std = np.random.default_rng(2), NoiseLevel(RESIDUAL), ratio * RESIDUAL.std
    d = np.zeros(2)
    for _ in range(round(seconds / STEP)):
        a = np.exp(-STEP / level.correlation_time)
        d = a * d + std * np.sqrt(1.0 - a**2) * rng.standard_normal(2)
        level.update(STEP, np.sqrt(seen) * d, (1.0 - seen) * std**2)
    return level


@pytest.mark.parametrize("ratio", [0.8, 1.0, 2.0])
def test_the_level_is_found(ratio: float) -> None:
    """Within 25 %: 10 s hold some 25 independent values of the disturbance, which say its variance to two in seven.

    A disturbance twice as large is cut off at three standard deviations of the model, which costs a tenth.
    """
    np.testing.assert_allclose(level_after(ratio, 60.0).ratio, ratio, rtol=0.25)


def test_it_stays_within_bounds_and_takes_its_time() -> None:
    assert (level_after(0.01, 100.0).ratio == LOWEST).all()
    assert (level_after(100.0, 100.0).ratio <= HIGHEST).all()
    # A contact of 0.2 s, however hard: 2 % of the averaging time at nine times the variance.
    assert (level_after(100.0, 0.2).ratio < 1.1).all()


def test_what_an_identified_arm_leaves_is_as_quick_as_it_says() -> None:
    np.testing.assert_allclose(NoiseLevel(RESIDUAL).correlation_time, [0.4, 0.2])
    slow = ResidualModel(RESIDUAL.std, np.array([0.9, 0.1]))
    np.testing.assert_allclose(NoiseLevel(slow).correlation_time, [0.72, 0.1])
