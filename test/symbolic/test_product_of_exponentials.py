# SPDX-License-Identifier: Apache-2.0
"""Document 002 in numbers: the product of exponentials against the package's other kinematics and Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import chain, random_body, random_chain, random_states, transform
from oracles import Pinocchio, assert_agrees, pin, rate

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.symbolic import product_of_exponentials as poe
from panda_dynamics_ros.symbolic.screw_chain import ScrewChain
from panda_dynamics_ros.symbolic.twists import inverse_transform, twist_matrix

EXACT = 1e-12  # both sides are exact; rounding has been seen up to 1e-14
SAMPLES = 100


@pytest.fixture(scope="module", params=["panda", "panda_ledezma", "fr3", 1, 3, 6, 9])
def arm(request: pytest.FixtureRequest) -> pdr.RobotModel:
    if isinstance(request.param, int):
        return random_chain(request.param, seed=30)
    return pdr.load_robot(request.param).with_end_effector(transform((0.3, -0.2, 0.1), (0.1, 0.2, 0.3)))


def test_frames_are_those_of_the_model(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = random_states(arm, rng, SAMPLES).q
    for frame in arm.frames:
        assert_agrees(poe.pose(arm, q, frame), arm.pose(q, frame), EXACT, axes=2)
    of_joints = np.stack([arm.pose(q, f"joint{i + 1}") for i in range(arm.n)], axis=1)
    assert_agrees(poe.joint_poses(arm, q), of_joints, EXACT, axes=2)


def test_centres_of_mass_are_those_of_pinocchio(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = random_states(arm, rng, SAMPLES).q
    oracle = Pinocchio(arm)
    of_links = np.stack([oracle.pose(q, f"com{i + 1}") for i in range(arm.n)], axis=1)
    assert_agrees(poe.com_poses(arm, q), of_links, EXACT, axes=2)


def test_jacobians_are_those_of_the_model(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = random_states(arm, rng, SAMPLES).q
    for frame in arm.frames:
        assert_agrees(poe.jacobian(arm, q, frame), arm.jacobian(q, frame), EXACT, axes=2)
    for link in range(1, arm.n + 1):
        assert_agrees(poe.com_jacobian(arm, q, link), arm.com_jacobian(q, link), EXACT, axes=2)


def test_space_jacobian_is_pinocchios_in_the_world_frame(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    q = random_states(arm, rng, SAMPLES).q
    oracle = Pinocchio(arm)
    want = np.array([pin.computeJointJacobians(oracle.model, oracle.data, row).copy() for row in q])
    assert_agrees(poe.space_jacobian(arm, q), want.reshape(SAMPLES, 6, arm.n), EXACT, axes=2)


def test_space_jacobian_gives_the_spatial_twist(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    """T' T^-1 = V_s^, T' by differences with an error of 1e-12."""
    q, dq, _ = random_states(arm, rng, SAMPLES)
    T_dot = rate(lambda q: poe.pose(arm, q, "flange"), q, dq, 1e-3)
    V = np.einsum("kij,kj->ki", poe.space_jacobian(arm, q), dq)
    assert_agrees(T_dot @ inverse_transform(arm.pose(q)), twist_matrix(V), 1e-8, axes=2)


def test_velocities_are_the_derivatives_of_positions(arm: pdr.RobotModel, rng: np.random.Generator) -> None:
    """Of the flange, whose v is not the linear part of the spatial twist, and of the last link's CoM."""
    q, dq, _ = random_states(arm, rng, SAMPLES)
    r_dot = rate(lambda q: arm.pose(q)[..., :3, 3], q, dq, 1e-3)
    assert_agrees(poe.velocity(arm, q, dq, "flange")[:, :3], r_dot, 1e-8)
    c_dot = rate(lambda q: poe.com_poses(arm, q)[..., -1, :3, 3], q, dq, 1e-3)
    assert_agrees(poe.com_velocity(arm, q, dq, arm.n)[:, :3], c_dot, 1e-8)
    spins = poe.velocity(arm, q, dq, "flange")[:, 3:], poe.com_velocity(arm, q, dq, arm.n)[:, 3:]
    assert_agrees(*spins, EXACT)  # document 002: w_mi = w_i


def axes_in_reverse_order(robot: pdr.RobotModel) -> np.ndarray[Any, np.dtype[np.float64]]:
    """omega_i_0 as document 002 computes it: R(RPY_{i-1,i}) @ omega_{i-1,0}."""
    axes = []
    z = np.array([0.0, 0.0, 1.0])
    for T in robot.placements:
        z = T[:3, :3] @ z
        axes.append(z)
    return np.array(axes)


def test_erratum_5_the_order_of_cumulative_rotations() -> None:
    """Reversed, they are right for the Panda, whose fixed rotations are all about x, and for nothing else."""
    rng = np.random.default_rng(31)
    panda = pdr.load_robot("panda")
    bodies = tuple(random_body(rng) for _ in range(3))
    turns = [transform(turn, (0.1, 0.2, 0.3)) for turn in ((0.4, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.3, 0.5))]
    general = chain(np.array(turns), (False,) * 3, bodies)
    for robot in (panda, general):
        at_zero = np.array([robot.pose(np.zeros(robot.n), f"joint{i + 1}")[:3, 2] for i in range(robot.n)])
        assert np.abs(ScrewChain.of(robot).twists[:, 3:] - at_zero).max() < 1e-15  # a few products of sines
        wrong = np.abs(axes_in_reverse_order(robot) - at_zero).max()
        assert wrong < 1e-15 if robot is panda else wrong > 0.1


def test_leading_dimensions(rng: np.random.Generator) -> None:
    robot = pdr.load_robot("panda")
    q, dq = rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 3, 7))
    shapes = {
        (2, 3, 7, 4, 4): [poe.joint_poses(robot, q), poe.com_poses(robot, q)],
        (2, 3, 4, 4): [poe.pose(robot, q, frame) for frame in ("base", "joint1", "flange", "ee")],
        (2, 3, 6, 7): [poe.space_jacobian(robot, q), poe.jacobian(robot, q, "base"), poe.com_jacobian(robot, q, 2)],
        (2, 3, 6): [poe.velocity(robot, q, dq), poe.com_velocity(robot, q, dq, 3)],
    }
    for shape, arrays in shapes.items():
        for array in arrays:
            assert array.shape == shape
            assert array.dtype == np.float64
    assert poe.pose(robot, q[1, 2]).shape == (4, 4)
    assert poe.velocity(robot, q[1, 2], dq).shape == (2, 3, 6)


CALLS = {
    "joint_poses": lambda q: poe.joint_poses(pdr.load_robot(), q),
    "pose": lambda q: poe.pose(pdr.load_robot(), q, "base"),
    "com_poses": lambda q: poe.com_poses(pdr.load_robot(), q),
    "space_jacobian": lambda q: poe.space_jacobian(pdr.load_robot(), q),
    "jacobian": lambda q: poe.jacobian(pdr.load_robot(), q),
    "com_jacobian": lambda q: poe.com_jacobian(pdr.load_robot(), q, 1),
    "velocity": lambda q: poe.velocity(pdr.load_robot(), q, np.zeros(7)),
    "com_velocity": lambda q: poe.com_velocity(pdr.load_robot(), q, np.zeros(7), 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_joint_positions_are_checked(name: str) -> None:
    with pytest.raises(ArgumentError, match=r"^q: expected shape \(\.\.\., 7\), got \(6,\)"):
        CALLS[name](np.zeros(6))
    with pytest.raises(ArgumentError, match=r"^q: expected finite numbers, got nan at index \(3,\)"):
        CALLS[name]([0, 0, 0, float("nan"), 0, 0, 0])


def test_other_arguments_are_checked(panda: pdr.RobotModel) -> None:
    q = np.zeros(7)
    with pytest.raises(ArgumentError, match=r"^dq: expected shape \(\.\.\., 7\), got \(2,\)"):
        poe.velocity(panda, q, [1, 2])
    with pytest.raises(ArgumentError, match=r"^q, dq: expected leading shapes that broadcast, got q \(2, 7\)"):
        poe.velocity(panda, np.zeros((2, 7)), np.zeros((3, 7)))
    with pytest.raises(ArgumentError, match=r"^frame: expected one of base, joint1, .*, flange, ee, got 'tool'"):
        poe.jacobian(panda, q, "tool")
    for link in (0, 8, 1.0, "1"):
        with pytest.raises(ArgumentError, match=r"^link: expected an integer from 1 to 7, got"):
            poe.com_jacobian(panda, q, link)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"^arm: expected a robot or a ScrewChain, got str"):
        poe.pose("panda", q)  # type: ignore[arg-type]


def test_screw_chains_are_checked(panda: pdr.RobotModel) -> None:
    coms = np.zeros((7, 3))
    with pytest.raises(
        ArgumentError, match=r"^placements: expected shape \(6, 4, 4\), one for each joint, got \(7, 4, 4\)"
    ):
        ScrewChain.from_placements(panda.placements, [False] * 6, coms)
    with pytest.raises(ArgumentError, match=r"^coms: expected shape \(7, 3\), got \(3,\)"):
        ScrewChain.from_placements(panda.placements, [False] * 7, np.zeros(3))
    with pytest.raises(ArgumentError, match=r"^T_flange_ee: expected shape \(4, 4\), got \(1, 4, 4\)"):
        ScrewChain.from_placements(panda.placements, [False] * 7, coms, T_flange_ee=np.eye(4)[None])
    with pytest.raises(ArgumentError, match=r"^twists: expected shape \(1, 6\), got \(0, 6\)"):
        ScrewChain(np.zeros((0, 6)), np.zeros((0, 4, 4)), np.eye(4), np.eye(4), np.zeros((0, 3)))
    with pytest.raises(ArgumentError, match=r"^placements: .*got \(0,\)"):
        ScrewChain.from_placements([], [], coms)
