# SPDX-License-Identifier: Apache-2.0
"""Arms and states that tests build: random chains, De Luca's 2R arm, random bodies, joint states."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.robot import Friction, JointLimits, ResidualModel

Array = NDArray[np.float64]


class States(NamedTuple):
    """Joint positions, velocities and accelerations, each (samples, n)."""

    q: Array
    dq: Array
    ddq: Array


def random_states(robot: RobotModel, rng: np.random.Generator, samples: int = 1000) -> States:
    """States over the whole range of the joints, up to full speed and full acceleration."""
    limits, shape = robot.limits, (samples, robot.n)
    return States(
        rng.uniform(limits.lower, limits.upper, shape),
        rng.uniform(-limits.velocity, limits.velocity, shape),
        rng.uniform(-limits.acceleration, limits.acceleration, shape),
    )


def transform(rotation_vector: ArrayLike, translation: ArrayLike) -> Array:
    """(4, 4) of a rotation vector (rad) and a translation (m)."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_rotvec(np.asarray(rotation_vector, dtype=float)).as_matrix()
    T[:3, 3] = translation
    return T


def body_of_points(masses: Array, points: Array) -> InertialParameters:
    """The body that point masses (k,) at `points` (k, 3) form: physical by construction."""
    mass = masses.sum()
    com = masses @ points / mass
    r = points - com
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))
    return InertialParameters(mass, com, np.asarray(inertia))


def random_body(rng: np.random.Generator, size: float = 0.2) -> InertialParameters:
    """A body of a few kilograms within about `size` m of its frame's origin."""
    return body_of_points(rng.uniform(0.1, 1.0, 8), rng.normal(scale=size, size=(8, 3)))


def chain(
    placements: Array, prismatic: tuple[bool, ...], links: tuple[InertialParameters, ...], *,
    gravity: ArrayLike = (0.0, 0.0, -9.81), T_joint_flange: ArrayLike | None = None,
    T_flange_ee: ArrayLike | None = None,
) -> RobotModel:  # fmt: skip
    """A frictionless arm of any number of joints; joints turn by +-pi and slide by +-pi m."""
    n = len(links)
    ones = np.ones(n)
    return RobotModel(
        name=f"chain of {n}",
        joint_names=tuple(f"joint_{i + 1}" for i in range(n)),
        placements=placements,
        prismatic=prismatic,
        links=links,
        T_joint_flange=np.eye(4) if T_joint_flange is None else np.asarray(T_joint_flange),
        T_flange_ee=np.eye(4) if T_flange_ee is None else np.asarray(T_flange_ee),
        friction=Friction.of(n),
        limits=JointLimits(-np.pi * ones, np.pi * ones, 2 * ones, 10 * ones, 100 * ones),
        residual=ResidualModel(0.1 * ones, 0.5 * ones),
        gravity=np.asarray(gravity, dtype=float),
    )


def random_chain(n: int, seed: int) -> RobotModel:
    """`n` joints, turning and sliding, at arbitrary placements, under gravity from an arbitrary direction."""
    rng = np.random.default_rng([seed, n])

    def anywhere() -> Array:
        return transform(rng.normal(size=3), rng.uniform(-0.4, 0.4, 3))

    return chain(
        np.array([anywhere() for _ in range(n)]),
        tuple(bool(sliding) for sliding in rng.random(n) < 0.4),
        tuple(random_body(rng) for _ in range(n)),
        gravity=9.81 * Rotation.from_rotvec(rng.normal(size=3)).as_matrix()[:, 2],
        T_joint_flange=anywhere(),
        T_flange_ee=anywhere(),
    )
