# SPDX-License-Identifier: Apache-2.0
"""Gravity parameters from poses in which the arm stands still."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from motion import REST
from simulated_arm import other_arm, record

import panda_dynamics_ros as pdr
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.identification import identify_gravity
from panda_dynamics_ros.identification.plausibility import IdentifiabilityWarning
from panda_dynamics_ros.identification.procedure import static_poses


def poses(arm: pdr.RobotModel, q: FloatArray, noise: FloatArray) -> pdr.JointDataset:
    """One row a second for each pose."""
    tau = arm.gravity_torques(q) + arm.friction.offset + noise
    return pdr.JointDataset(np.arange(float(len(q))), q, np.zeros_like(q), tau, arm.joint_names, "poses")


def random_poses(panda: pdr.RobotModel, rng: np.random.Generator, number: int) -> FloatArray:
    return rng.uniform(0.7 * panda.limits.lower, 0.7 * panda.limits.upper, (number, 7))


def test_gravity_of_another_arm_is_found_within_its_sigmas(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    inside, better = [], []
    for _ in range(6):
        arm = other_arm(panda, rng)
        fit = identify_gravity(poses(arm, random_poses(panda, rng, 30), panda.residual.std * rng.normal(size=(30, 7))))
        place = np.array(panda.base_parameters().columns) % 10 < 4
        error = fit.base_values - panda.base_parameters().mapping @ arm.inertial_vector
        inside.append((np.abs(error) < 1.96 * fit.base_std)[place])
        other = random_poses(panda, rng, 100)
        truth = arm.gravity_torques(other) + arm.friction.offset
        wrong = [truth - r.gravity_torques(other) - r.friction.offset for r in (fit.robot, panda)]
        better.append(np.linalg.norm(wrong[0]) / np.linalg.norm(wrong[1]))
        assert all(link.is_physical() for link in fit.robot.links)
    assert 0.90 <= np.mean(inside) <= 0.99
    # Of the 1.5 N m that the arms differ by, the noise of 30 poses leaves a fifth.
    assert np.median(better) < 0.4


def test_what_the_poses_do_not_show_is_named(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = np.tile(REST, (20, 1))
    q[:, 6] += rng.uniform(-0.5, 0.5, 20)  # the last link alone turns in the field of gravity
    with pytest.warns(IdentifiabilityWarning, match=r"mX2.*add poses that differ in joints"):
        fit = identify_gravity(poses(panda, q, np.zeros((20, 7))))
    assert {"mX2", "mYR4", "mXR6"} <= set(fit.not_identified)
    assert "mX7" not in fit.not_identified
    # No pose shows inertia or friction: listed, though not warned of.
    assert {"ZZR1", "viscous1", "coulomb1"} <= set(fit.not_identified)


def test_times_of_standing_still_are_poses(panda: pdr.RobotModel) -> None:
    """0.3 s of motion and 1 s of rest in turn, at 200 Hz; the last rest lasts 0.6 s."""
    steps = np.clip((np.arange(2000) % 260) / 60.0, 0.0, 1.0)
    turn = np.arange(2000) // 260 + 0.5 - 0.5 * np.cos(np.pi * steps)
    q = REST + 0.1 * turn[:, None]
    stamp = np.arange(2000) / 200.0
    data = pdr.JointDataset(
        stamp, q, np.gradient(q, stamp, axis=0), panda.gravity_torques(q), panda.joint_names, "stop and go"
    )
    rows = static_poses(data)
    assert len(rows) == 8
    # At rest after k turns; what the 10 Hz filter smears of the step has settled.
    assert np.abs(rows.q - (REST + 0.1 * np.arange(1.0, 9.0)[:, None])).max() < 1e-3
    assert np.abs(rows.tau - panda.gravity_torques(rows.q)).max() < 0.02


def test_an_arm_that_never_rests_is_refused(panda: pdr.RobotModel) -> None:
    with pytest.raises(DataError, match=r"stands still for 0\.4 s in several poses, got none"):
        identify_gravity(record(panda, 5.0))


def test_two_poses_are_enough_to_begin_with(panda: pdr.RobotModel, rng: np.random.Generator) -> None:
    """No pose is left to hold out; all parameters that cannot be told stay with the prior."""
    with pytest.warns(IdentifiabilityWarning, match="from these 2 poses"):
        fit = identify_gravity(poses(panda, random_poses(panda, rng, 2), np.zeros((2, 7))))
    assert np.isnan(fit.cross_validated_rms).all()
    assert np.allclose(fit.base_values, panda.base_parameters().values, atol=0.02)
    assert replace(fit.robot, name="panda").friction.coulomb.any() == panda.friction.coulomb.any()
