# SPDX-License-Identifier: Apache-2.0
"""Document 004's regrouping relations, typed out, against the matrix form of the code.

Both sides are products of a few rounded numbers of size one: 1e-12 is a thousand times their rounding.
"""

import math

import numpy as np
import pytest
from arms import random_body, transform

from panda_dynamics_ros.dynamics.base_parameters import SYMBOLS
from panda_dynamics_ros.robot.inertial import inertial_transport
from panda_dynamics_ros.robot.yaml_file import modified_dh

TOLERANCE = 1e-12


def vector(**terms: float) -> np.ndarray:
    """An inertial vector of its entries by name."""
    return np.array([terms.get(symbol, 0.0) for symbol in SYMBOLS])


def test_a_body_in_another_frame(rng: np.random.Generator) -> None:
    """Eq. (22) with first moments and mass, of which the appendix prints factors with errors (erratum 8)."""
    for _ in range(100):
        body, T = random_body(rng), transform(rng.normal(size=3), rng.normal(size=3))
        np.testing.assert_allclose(inertial_transport(T) @ body.vector, body.transformed(T).vector, atol=10 * TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_equation_20(seed: int) -> None:
    """A turning joint: the eleven relations as printed, the first one as erratum 6 says."""
    rng = np.random.default_rng([22, seed])
    d, r, alpha, theta, YY, mZ, m = rng.normal(size=7)
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
    given = inertial_transport(modified_dh(d, r, alpha, theta)) @ vector(XX=YY, YY=YY, mZ=mZ, m=m)  # at any theta
    np.testing.assert_allclose(given, want, rtol=0.0, atol=TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_equation_21(seed: int) -> None:
    """A sliding joint: the six relations, with the terms of XX_j as erratum 7 says; and eq. (22)."""
    rng = np.random.default_rng([23, seed])
    d, alpha, theta, XX, XY, XZ, YY, YZ, ZZ = rng.normal(size=9)
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
    leaving = vector(XX=XX, XY=XY, XZ=XZ, YY=YY, YZ=YZ, ZZ=ZZ)
    given = inertial_transport(modified_dh(d, rng.normal(), alpha, theta)) @ leaving  # however far the joint slides
    np.testing.assert_allclose(given, want, rtol=0.0, atol=TOLERANCE)
