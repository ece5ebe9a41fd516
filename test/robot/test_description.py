# SPDX-License-Identifier: Apache-2.0
"""RobotModel as data: what a description must hold, its frames, its payload and end effector, being a value."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import random_chain, transform

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot import Friction, JointLimits

T_FLANGE_EE = transform((0.0, 0.0, -np.pi / 4), (0.0, 0.0, 0.1034))


def test_frames_are_listed_from_base_to_end_effector() -> None:
    robot = random_chain(3, seed=1)
    assert robot.n == 3
    assert robot.frames == ("base", "joint1", "joint2", "joint3", "flange", "ee")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"joint_names": ("a",) * 7}, "joint_names: expected distinct names, got ['a', 'a', 'a', 'a', 'a', 'a', 'a']"),
        ({"links": ()}, "links: expected 7 entries, one for each joint, got 0"),
        ({"friction": Friction.of(6)}, "friction: expected 7 entries, one for each joint, got 6"),
        ({"limits": JointLimits(*([0.0, 1.0][k > 0] * np.ones(8) for k in range(5)))}, "limits: expected 7 entries, "),
        ({"placements": np.array([np.eye(4)] * 6)}, "placements: expected shape (7, 4, 4), got (6, 4, 4)"),
        (
            {"T_joint_flange": 2 * np.eye(4)},
            "T_joint_flange: expected the last row (0, 0, 0, 1), got [0.0, 0.0, 0.0, 2",
        ),
        ({"gravity": (0.0, 0.0, np.nan)}, "gravity: expected finite numbers, got nan at index (2,)"),
    ],
)
def test_a_wrong_description_names_the_field(panda: pdr.RobotModel, changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentError, RobotDescriptionError)) as caught:
        replace(panda, **changes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("lower", [3.0, 0.0], "limits.lower: expected values below limits.upper [1.0, 1.0], got [3.0, 0.0]"),
        ("velocity", [2.0, 0.0], "limits.velocity: expected positive numbers, got [2.0, 0.0]"),
        ("effort", [-1.0, 1.0], "limits.effort: expected positive numbers, got [-1.0, 1.0]"),
    ],
)
def test_wrong_limits_are_named(field: str, value: Any, message: str) -> None:
    fields: dict[str, Any] = {"lower": [-1.0, -1.0]}
    fields |= {key: [1.0, 1.0] for key in ("upper", "velocity", "acceleration", "effort")}
    with pytest.raises(ArgumentError) as caught:
        JointLimits(**{**fields, field: value})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"viscous": [0.1]}, "friction.viscous: expected shape (2,), got (1,)"),
        ({"transition": [0.1, 0.0]}, "friction.transition: expected positive numbers, got [0.1, 0.0]"),
        ({"viscosity": [0.1, 0.1]}, "friction: expected terms among viscous, coulomb, offset, transition, amplitude, "),
    ],
)
def test_wrong_friction_terms_are_named(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Friction.of(2, **terms)
    assert str(caught.value).startswith(message)


def test_nothing_of_a_robot_can_be_changed(panda: pdr.RobotModel) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        panda.gravity = np.zeros(3)  # type: ignore[misc]
    arrays = [panda.placements, panda.T_joint_flange, panda.T_flange_ee, panda.gravity, panda.inertial_vector]
    arrays += [panda.table, panda.friction.table, panda.friction.slope, panda.limits.lower, panda.residual.std]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.0


def test_end_effector_moves_the_ee_frame_alone(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    robot, q = panda.with_end_effector(T_FLANGE_EE), rng.normal(size=7)
    assert isinstance(robot, pdr.RobotModel)
    np.testing.assert_allclose(robot.pose(q, "ee"), panda.pose(q, "flange") @ T_FLANGE_EE, rtol=0.0, atol=1e-15)
    assert np.array_equal(robot.pose(q, "flange"), panda.pose(q, "flange"))
    assert np.array_equal(robot.inertial_vector, panda.inertial_vector)


def test_a_robot_in_a_notebook_is_one_line(panda: pdr.RobotModel) -> None:
    assert repr(panda) == "RobotModel('panda': 7 joints, 16.1 kg, effort measured)"
    assert "4 joints, " in repr(random_chain(4, seed=1))
