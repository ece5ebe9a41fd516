# SPDX-License-Identifier: Apache-2.0
"""What an estimate needs before it is sent to a robot: each lack is named, and any one of them is enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes.franka_load import unfit_for_load

BODY = InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
COVARIANCE = np.diag([0.02**2, *[0.003**2] * 3, *[0.005**2] * 6])
FIT = PayloadEstimate(0.0, BODY.vector, COVARIANCE, np.array([True] * 4 + [False] * 6), "estimating")


def heavier(factor: float) -> Any:
    return {"vector": factor * BODY.vector}


def less_certain(index: int, std: float) -> Any:
    covariance = COVARIANCE.copy()
    covariance[index, index] = std**2
    return {"covariance": covariance}


def test_a_converged_estimate_is_fit() -> None:
    assert unfit_for_load(FIT) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vector": np.zeros(10)}, "no payload is found"),
        (heavier(3.5), "3.50 kg are more than the arm carries"),
        (less_certain(0, 0.15), "the mass has not converged (standard deviation 0.150 kg"),
        (less_certain(3, 0.2), "the centre of mass is not known"),
        ({"identifiable": np.array([True, True, True, False] + [False] * 6)}, "not identifiable yet: z"),
    ],
)
def test_what_is_missing_is_named(change: dict[str, Any], words: str) -> None:
    assert words in unfit_for_load(replace(FIT, **change))
