# SPDX-License-Identifier: Apache-2.0
"""The arms that come with the package: their data against the numbers that were published, and the Gaz model against
the real Panda that it was identified on. RobotModel as data: what a description must hold, its end effector."""

import dataclasses
import pickle
from dataclasses import replace

import numpy as np
import pytest
from arms import random_states, transform
from conftest import message_of
from oracles import Pinocchio, assert_agrees, pin

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot import Friction, JointLimits, library_names

# Document 000: the table of modified DH parameters, and the matrix of its equation, row by row.
DH = [
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -np.pi / 2),
    (0.0, 0.316, np.pi / 2),
    (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0.0, 0.0, np.pi / 2),
    (0.088, 0.0, np.pi / 2),
]


def product_of_000(q: np.ndarray) -> np.ndarray:
    """S_H_7 of document 000."""
    T = np.eye(4)
    for (a, d, alpha), theta in zip(DH, q, strict=True):
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        rows = [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
        T = T @ np.array(rows, dtype=float)
    return T


@pytest.mark.parametrize("name", library_names())
def test_every_arm_loads_and_every_link_is_physical(name):
    robot = pdr.load_robot(name)
    assert robot.name == name
    assert robot.n == 7
    assert all(link.is_physical() for link in robot.links)
    assert all(link.mass > 0.3 for link in robot.links)


def test_poses_are_the_products_of_document_000(robot, rng):
    for q in rng.uniform(-3.0, 3.0, (20, 7)):
        # Seven products of numbers below one.
        np.testing.assert_allclose(robot.pose(q, "joint7"), product_of_000(q), rtol=0.0, atol=1e-14)


def test_a_real_arm_stays_within_the_limits(panda, panda_1khz_log):
    data, limits = pdr.load_dataset(panda_1khz_log), panda.limits
    assert (data.q > limits.lower).all()
    assert (data.q < limits.upper).all()
    assert (np.abs(data.tau) < limits.effort).all()
    # Its motion was made for 85 % of the limits of velocity, and reached 60 to 90 % in each joint.
    speed = np.abs(data.dq).max(axis=0) / limits.velocity
    assert speed.min() > 0.5
    assert speed.max() < 1.0


# RMS of tau - rigid - friction that was published with the log, N m.
PUBLISHED_RESIDUAL = np.array([0.26, 0.58, 0.24, 0.29, 0.15, 0.10, 0.07])
SMOOTHING = 0.02  # s, standard deviation of a Gaussian: passes 8 Hz, and the motion ends near 1 Hz


@pytest.fixture(scope="module")
def samples(panda_1khz_log):
    """q, dq, ddq, tau on an even 1 kHz grid, smoothed without lag; ddq is the derivative of the smoothed dq."""
    log = np.loadtxt(panda_1khz_log, delimiter=",", skiprows=1)
    time = np.arange(log[0, 0], log[-1, 0], 1e-3)
    even = np.stack([np.interp(time, log[:, 0], column) for column in log.T[1:]], axis=-1)
    u = np.arange(-0.1, 0.1005, 1e-3)
    weights = np.exp(-0.5 * (u / SMOOTHING) ** 2)
    weights /= weights.sum()
    smooth = np.stack([np.convolve(column, weights, "valid") for column in even.T], axis=-1)
    slopes = np.stack([np.convolve(column, -u / SMOOTHING**2 * weights, "valid") for column in even.T], axis=-1)
    return smooth[:, :7], smooth[:, 7:14], slopes[:, 7:14], smooth[:, 14:]


def rms(residual: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((residual**2).mean(axis=0)))


def test_residual_is_the_published_one(panda, samples):
    q, dq, ddq, tau = samples
    residual = rms(tau - panda.inverse_dynamics(q, dq, ddq) - panda.friction_torques(dq))
    # The published figures have two digits, are of the whole log, and were smoothed otherwise.
    np.testing.assert_allclose(residual, PUBLISHED_RESIDUAL, rtol=0.2)


def test_every_part_of_the_model_explains_something(panda, samples):
    q, dq, ddq, tau = samples
    friction, gravity = panda.friction_torques(dq), panda.gravity_torques(q)
    full = rms(tau - panda.inverse_dynamics(q, dq, ddq) - friction)
    assert (full < rms(tau - panda.inverse_dynamics(q, dq, ddq))).all(), "without friction"
    assert (full < rms(tau - gravity)).all(), "at rest"
    # Joints 5 to 7 have next to no velocity products; in the others these are well above the residual.
    assert (full < rms(tau - panda.inverse_dynamics(q, 0 * dq, ddq) - friction))[:4].all(), "without Coriolis"


T_FLANGE_EE = transform((0.0, 0.0, -np.pi / 4), (0.0, 0.0, 0.1034))


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
def test_a_wrong_description_names_the_field(panda, changes, message):
    assert message_of((ArgumentError, RobotDescriptionError), replace, panda, **changes).startswith(message)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"viscous": [0.1]}, "friction.viscous: expected shape (2,), got (1,)"),
        ({"transition": [0.1, 0.0]}, "friction.transition: expected positive numbers, got [0.1, 0.0]"),
        ({"viscosity": [0.1, 0.1]}, "friction: expected terms among viscous, coulomb, offset, transition, amplitude, "),
    ],
)
def test_wrong_friction_terms_are_named(terms, message):
    assert message_of(ArgumentError, Friction.of, 2, **terms).startswith(message)


def test_nothing_of_a_robot_can_be_changed(panda):
    with pytest.raises(dataclasses.FrozenInstanceError):
        panda.gravity = np.zeros(3)
    arrays = [panda.placements, panda.T_joint_flange, panda.T_flange_ee, panda.gravity, panda.inertial_vector]
    arrays += [panda.table, panda.friction.table, panda.friction.slope, panda.limits.lower, panda.residual.std]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.0
    copied = pickle.loads(pickle.dumps(panda))  # as for another process
    for array in (copied.gravity, copied.table, copied.friction.slope, copied.links[0].com):
        assert not array.flags.writeable
    np.testing.assert_array_equal(copied.table, panda.table)


def test_end_effector_moves_the_ee_frame_alone(panda, rng):
    robot, q = panda.with_end_effector(T_FLANGE_EE), rng.normal(size=7)
    assert isinstance(robot, pdr.RobotModel)
    np.testing.assert_allclose(robot.pose(q, "ee"), panda.pose(q, "flange") @ T_FLANGE_EE, rtol=0.0, atol=1e-15)
    assert np.array_equal(robot.pose(q, "flange"), panda.pose(q, "flange"))
    assert np.array_equal(robot.inertial_vector, panda.inertial_vector)


MOUNT = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, -np.pi / 4), np.array([0.0, 0.0, 0.107]))  # the hand in joint 7
HAND = (0.73, (-0.01, 0.0, 0.03), (0.001, 0.0025, 0.0017))  # kg, m, kg m^2
FINGER = (0.015, (0.0, 0.0, 0.0584), (2.375e-6, 2.375e-6, 7.5e-7))

GRIPPER = """\
name: gripper
mount: {translation: [0.0, 0.0, 0.01]}
tool: {translation: [0.0, 0.02, 0.2]}
inertia_about: com
bodies:
  palm: {mass: 1.0, com: [0.0, 0.0, 0.05], inertia: [0.002, 0.0, 0.0, 0.002, 0.0, 0.001]}
"""


@pytest.mark.parametrize("name", ["panda", "fr3"])
def test_dynamics_with_the_hand_are_those_of_arm_and_bodies(name, rng):
    bare, carrying = pdr.load_robot(name), pdr.load_robot(name, end_effector="hand")
    assert carrying.name == f"{name}+hand"
    oracle = Pinocchio(bare)
    for mass, com, diagonal in (HAND, FINGER, FINGER):
        oracle.model.appendBodyToJoint(7, pin.Inertia(mass, np.array(com), np.diag(diagonal)), MOUNT)
    oracle.data = oracle.model.createData()
    states = random_states(bare, rng, samples=100)
    # Exact on both sides but for rounding.
    assert_agrees(carrying.inverse_dynamics(*states), oracle.inverse_dynamics(*states), 1e-11)
    assert_agrees(carrying.mass_matrix(states.q), oracle.mass_matrix(states.q), 1e-11, axes=2)


def test_tool_of_the_hand(panda):
    """Between the finger tips: Franka's own F_T_EE with the hand, -45 degrees about z and 0.1034 m."""
    T = pdr.load_robot("panda", end_effector="hand").T_flange_ee
    assert np.abs(T[:3, :3] - MOUNT.rotation).max() < 1e-15  # two roundings of sin 45 degrees
    assert T[:3, 3].tolist() == [0.0, 0.0, 0.1034]
    assert np.array_equal(panda.T_flange_ee, np.eye(4))


def test_a_users_end_effector(tmp_path, panda):
    (tmp_path / "gripper.yaml").write_text(GRIPPER)
    carrying = pdr.load_robot("panda", end_effector=tmp_path / "gripper.yaml")
    palm = pdr.InertialParameters(1.0, np.array([0.0, 0.0, 0.06]), np.diag((0.002, 0.002, 0.001)))
    # A translation only, so that 0.01 + 0.05 is all the rounding.
    assert np.abs(carrying.inertial_vector - panda.with_payload(palm).inertial_vector).max() < 1e-15
    assert carrying.T_flange_ee[:3, 3] == pytest.approx([0.0, 0.02, 0.21], abs=1e-15)


@pytest.mark.parametrize("name", ["hands", "hand.urdf", "", None, 7])
def test_an_unknown_name_is_answered_with_those_there_are(name):
    message = f"end_effector: expected one of none, hand or a path to a .yaml or .yml file, got {name!r}"
    assert message_of(ArgumentError, pdr.load_robot, "panda", end_effector=name) == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass: 1.0", "mass: -1.0", "body palm: mass: expected a number in [0, inf], got -1"),
        ("inertia: [0.002", "inertia: [0.02", "body palm: expected a body that some distribution of mass has"),
        ("bodies:", "bodys:", "description: expected keys among name, inertia_about, bodies, mount, tool, got bodys"),
        ("name: gripper\n", "", "description: expected the key name, got mount, tool"),
        ("{translation: [0.0, 0.02, 0.2]}", "{rotation: [1, 2, 3]}", "tool.rotation: expected shape (3, 3), got (3,)"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert GRIPPER.count(old) == 1
    path = tmp_path / "gripper.yaml"
    path.write_text(GRIPPER.replace(old, new))
    said = message_of(RobotDescriptionError, pdr.load_robot, "panda", end_effector=path)
    assert said.startswith(f"{path}: {message}")
