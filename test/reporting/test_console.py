# SPDX-License-Identifier: Apache-2.0
"""An estimate in words: what is known with 95 % intervals, what is not known without numbers that look like it."""

from dataclasses import replace

import numpy as np

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.reporting.console import payload_rows
from panda_dynamics_ros.reporting.summary import payload_entry


def estimate_of(mass: float, mass_std: float) -> PayloadEstimate:
    body = InertialParameters(mass, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
    covariance = np.diag([mass_std**2, *[1e-6] * 9])
    return PayloadEstimate(0.0, body.vector, covariance, np.ones(10, dtype=bool), "estimating")


def test_a_payload_has_95_percent_intervals():
    rows = dict(payload_rows(estimate_of(1.0, 0.025)))
    assert rows["payload mass"] == "1.000 ± 0.049 kg (95 %)"
    assert rows["centre of mass"].startswith("20.0 ± ")
    assert rows["centre of mass"].endswith(" mm (95 %)")
    assert "problem" not in rows


def test_an_empty_arm_has_none():
    rows = dict(payload_rows(estimate_of(0.105, 0.025)))
    assert rows["payload mass"] == "none found (below 0.154 kg)"
    assert rows["centre of mass"] == "not known"


def test_a_problem_is_said_to_people_and_to_programs():
    estimate = replace(estimate_of(1.0, 0.025), problem="the torques contradict the arm")
    assert ("problem", "the torques contradict the arm") in payload_rows(estimate)
    assert payload_entry(estimate)["problem"] == "the torques contradict the arm"
    assert payload_entry(estimate)["std"][0] == 0.025  # one sigma for programs
