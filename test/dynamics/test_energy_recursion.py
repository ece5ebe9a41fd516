# SPDX-License-Identifier: Apache-2.0
"""Document 004's recursion of energies and its regrouping relations, typed out, against the matrix form of the code.

Both sides are products of a few rounded numbers of size one: 1e-13 is a hundred times their rounding.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import random_body, random_chain, random_states, transform
from oracles import potential_energy

from panda_dynamics_ros.dynamics.regrouping.energy import (
    Joint,
    inertial_transport,
    joints_of,
    kinetic_energy_gradient,
    potential_energy_gradient,
    twist_transport,
)
from panda_dynamics_ros.dynamics.regrouping.transfers import closed_form_transfers
from panda_dynamics_ros.robot.yaml_file import modified_dh

TOLERANCE = 1e-13
# Places in the inertial vector, in the order in which the document writes its relations.
PLACES = {name: k for k, name in enumerate(("m", "mX", "mY", "mZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ"))}


def vector(**terms: float) -> np.ndarray:
    """An inertial vector of its entries by name."""
    values = np.zeros(10)
    for name, value in terms.items():
        values[PLACES[name]] = value
    return values


def test_kinetic_energy_is_that_of_the_body(rng: np.random.Generator) -> None:
    """Eq. (6) against m v_C^2 / 2 + w' I_C w / 2."""
    for _ in range(100):
        body, twist = random_body(rng), rng.normal(size=6)
        v, w = twist[:3], twist[3:]
        v_com = v + np.cross(w, body.com)
        want = 0.5 * body.mass * v_com @ v_com + 0.5 * w @ body.inertia @ w
        assert kinetic_energy_gradient(twist, twist) @ body.vector == pytest.approx(want, rel=TOLERANCE)


def test_twists_follow_equations_7_and_8(rng: np.random.Generator) -> None:
    for _ in range(100):
        T, twist = transform(rng.normal(size=3), rng.normal(size=3)), rng.normal(size=6)
        v, w = twist[:3], twist[3:]
        want = np.concatenate([T[:3, :3].T @ (v + np.cross(w, T[:3, 3])), T[:3, :3].T @ w])
        np.testing.assert_allclose(twist_transport(T) @ twist, want, rtol=0.0, atol=TOLERANCE)


@pytest.mark.parametrize("prismatic", [False, True])
def test_kinetic_energies_follow_equation_17(rng: np.random.Generator, prismatic: bool) -> None:
    """DE^j = lambda DE^{j-1} + f, with DE^j from eqs. (6), (7), (8) at a random state (erratum 8)."""
    for _ in range(100):
        joint = Joint(transform(rng.normal(size=3), rng.normal(size=3)), prismatic)
        q, dq, twist = rng.normal(), rng.normal(), rng.normal(size=6)
        T = joint.placed(q)
        carried = twist_transport(T) @ twist
        moved = carried + dq * joint.axis
        f = joint.energy_terms(carried[:, None]) @ (dq, dq**2)
        recursion = inertial_transport(T).T @ kinetic_energy_gradient(twist, twist) + f
        np.testing.assert_allclose(recursion, kinetic_energy_gradient(moved, moved), rtol=0.0, atol=1e3 * TOLERANCE)


def test_potential_energies_follow_equation_18(rng: np.random.Generator) -> None:
    """U = sum of DU^j . X^j with DU^j = lambda DU^{j-1}, from -g at the base."""
    robot = random_chain(5, seed=21)
    for q in random_states(robot, rng, samples=20).q:
        DU, energy = potential_energy_gradient(robot.gravity), 0.0
        for joint, position, link in zip(joints_of(robot), q, robot.links, strict=True):
            DU = inertial_transport(joint.placed(position)).T @ DU
            energy += DU @ link.vector
        assert energy == pytest.approx(potential_energy(robot, q), rel=1e-12, abs=1e-12)


def test_positions_determine_the_recursion_at_every_other(rng: np.random.Generator) -> None:
    """lambda(q) at the sampled positions spans lambda at any position, as `Joint` claims of its degree in q."""
    for prismatic in (False, True):
        joint = Joint(transform(rng.normal(size=3), rng.normal(size=3)), prismatic)
        sampled = np.array([transport.ravel() for transport in joint.energy_transports])
        for q in rng.uniform(-3.0, 3.0, 20):
            wanted = inertial_transport(joint.placed(q)).T.ravel()
            shares = np.linalg.lstsq(sampled.T, wanted, rcond=None)[0]
            np.testing.assert_allclose(shares @ sampled, wanted, rtol=0.0, atol=1e3 * TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_equation_20(seed: int) -> None:
    """A turning joint: the eleven relations as printed, the first one as erratum 6 says."""
    rng = np.random.default_rng([22, seed])
    d, r, alpha, theta, YY, mZ, m = rng.normal(size=7)
    joint = Joint(modified_dh(d, r, alpha, theta), False)
    S, C = math.sin(alpha), math.cos(alpha)
    want = vector(
        XX=YY + 2 * r * mZ + r**2 * m,
        YY=C**2 * YY + 2 * r * C**2 * mZ + (d**2 + r**2 * C**2) * m,
        ZZ=S**2 * YY + 2 * r * S**2 * mZ + (d**2 + r**2 * S**2) * m,
        XY=d * S * mZ + d * r * S * m,
        XZ=-d * C * mZ - d * r * C * m,
        YZ=C * S * YY + 2 * r * C * S * mZ + r**2 * C * S * m,
        mX=d * m,
        mY=-S * mZ - r * S * m,
        mZ=C * mZ + r * C * m,
        m=m,
    )
    places, given = closed_form_transfers(prismatic=False)
    assert places == (PLACES["m"], PLACES["mZ"], PLACES["YY"])
    left = given @ (m, mZ, YY)
    np.testing.assert_array_equal(left, vector(XX=YY, YY=YY, mZ=mZ, m=m))  # XXR_j = XX_j - YY_j, the others vanish
    for transport in joint.energy_transports:  # at any joint position
        np.testing.assert_allclose(transport.T @ left, want, rtol=0.0, atol=10 * TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_equation_21(seed: int) -> None:
    """A sliding joint: the six relations, with the terms of XX_j as erratum 7 says; and eq. (22)."""
    rng = np.random.default_rng([23, seed])
    d, alpha, theta, XX, XY, XZ, YY, YZ, ZZ = rng.normal(size=9)
    joint = Joint(modified_dh(d, rng.normal(), alpha, theta), True)
    S, C, s, c = math.sin(alpha), math.cos(alpha), math.sin(theta), math.cos(theta)
    want = vector(
        XX=c**2 * XX + s**2 * YY - 2 * c * s * XY,
        YY=s**2 * C**2 * XX + c**2 * C**2 * YY + S**2 * ZZ
        + 2 * c * s * C**2 * XY - 2 * s * C * S * XZ - 2 * c * C * S * YZ,
        ZZ=s**2 * S**2 * XX + c**2 * S**2 * YY + C**2 * ZZ
        + 2 * c * s * S**2 * XY + 2 * s * C * S * XZ + 2 * c * C * S * YZ,
        XY=c * s * C * XX - c * s * C * YY + (c**2 - s**2) * C * XY - c * S * XZ + s * S * YZ,
        XZ=c * s * S * XX - c * s * S * YY + (c**2 - s**2) * S * XY + c * C * XZ - s * C * YZ,
        YZ=s**2 * C * S * XX + c**2 * C * S * YY - C * S * ZZ
        + 2 * c * s * C * S * XY + s * (C**2 - S**2) * XZ + c * (C**2 - S**2) * YZ,
    )  # fmt: skip
    _, given = closed_form_transfers(prismatic=True)
    left = given @ (XX, XY, XZ, YY, YZ, ZZ)
    np.testing.assert_array_equal(left, vector(XX=XX, XY=XY, XZ=XZ, YY=YY, YZ=YZ, ZZ=ZZ))
    for transport in joint.energy_transports:
        np.testing.assert_allclose(transport.T @ left, want, rtol=0.0, atol=10 * TOLERANCE)
