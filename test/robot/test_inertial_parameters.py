# SPDX-License-Identifier: Apache-2.0
"""InertialParameters: the vector, changes of frame, sums, physical consistency, and being a value."""

import dataclasses

import numpy as np
import pytest
from arms import body_of_points, transform
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import skew

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.inertial import UNIT_PSEUDO_INERTIAS

# Bodies of up to 8 x 5 kg within 1 m: vectors up to 100 kg m^2, whose sums of a few products round by 1e-13.
EXACT = 1e-12

coordinates = st.floats(-1.0, 1.0, allow_subnormal=False)
vectors = arrays(np.float64, 3, elements=coordinates)
transforms = st.builds(transform, arrays(np.float64, 3, elements=st.floats(-4.0, 4.0)), vectors)
points = arrays(np.float64, (8, 3), elements=coordinates)
masses = arrays(np.float64, 8, elements=st.floats(0.01, 5.0))
bodies = st.builds(body_of_points, masses, points)


@given(masses, points)
def test_vector_holds_the_moments_of_the_mass_about_the_origin(masses, points):
    """Zeroth, first and second moments, summed point by point (document 003, slide 4)."""
    inertia = sum(m * skew(r).T @ skew(r) for m, r in zip(masses, points, strict=True))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = np.asarray(inertia)
    want = [masses.sum(), *(masses @ points), xx, xy, xz, yy, yz, zz]
    np.testing.assert_allclose(body_of_points(masses, points).vector, want, rtol=0.0, atol=EXACT)


@given(bodies)
def test_vector_round_trip(body):
    back = InertialParameters.from_vector(body.vector)
    assert back.mass == body.mass
    np.testing.assert_allclose(back.com, body.com, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(back.inertia, body.inertia, rtol=0.0, atol=EXACT)


@given(masses, points, transforms)
def test_transformed_is_the_body_of_the_moved_points(masses, points, T_a_b):
    moved = points @ T_a_b[:3, :3].T + T_a_b[:3, 3]
    # Points up to 3 m away: ten times the moments.
    got, want = body_of_points(masses, points).transformed(T_a_b), body_of_points(masses, moved)
    np.testing.assert_allclose(got.vector, want.vector, rtol=0.0, atol=10 * EXACT)


def test_only_rigid_transforms():
    with pytest.raises(ArgumentError, match=r"the rotation of T_a_b: expected det R = \+1, got -1 \(a reflection\)"):
        InertialParameters.zero().transformed(np.diag((1.0, 1.0, -1.0, 1.0)))


@given(masses, points)
def test_pseudo_inertia_is_the_second_moment_of_homogeneous_points(masses, points):
    """J = sum of m (r, 1)(r, 1)^T (Wensing, Kim and Slotine, 2018)."""
    homogeneous = np.column_stack([points, np.ones(len(points))])
    J = np.tensordot(body_of_points(masses, points).vector, UNIT_PSEUDO_INERTIAS, 1)
    np.testing.assert_allclose(J, homogeneous.T * masses @ homogeneous, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize(
    ("ixx", "physical"), [(3.0, True), (3.0 + 1e-3, True), (3.0 + 1e-2, False), (2.0, True), (0.99, False), (1.0, True)]
)
def test_triangle_inequality_is_the_boundary(ixx, physical):
    """Principal moments (Ixx, 1, 2): a rod or plate at Ixx = 1 and 3, with the tolerance of printed tables."""
    assert InertialParameters(1.0, np.zeros(3), np.diag((ixx, 1.0, 2.0))).is_physical() is physical


@pytest.mark.parametrize(
    ("mass", "inertia", "physical"),
    [
        (1.0, np.zeros((3, 3)), True),  # a point
        (1.0, np.diag((1.0, 1.0, 0.0)), True),  # a rod
        (0.0, np.zeros((3, 3)), True),  # nothing
        (0.0, np.eye(3), False),  # inertia of nothing
        (-1.0, np.eye(3), False),
    ],
)
def test_what_is_physical(mass, inertia, physical):
    assert InertialParameters(mass, np.zeros(3), inertia).is_physical() is physical


def test_point_masses_are_physical(rng):
    """Their second moments are rounding, of either sign, once they are given about another point."""
    for mass, *com in np.column_stack((rng.uniform(0.01, 5.0, 100), rng.normal(scale=0.2, size=(100, 3)))):
        point = InertialParameters(mass, com, np.zeros((3, 3)))
        assert InertialParameters.from_vector(point.vector).is_physical()
        assert (point + point).is_physical()


def test_fields_cannot_be_changed(rng):
    com, inertia = np.array([0.1, 0.2, 0.3]), np.eye(3)
    body = InertialParameters(1.0, com, inertia)
    with pytest.raises(dataclasses.FrozenInstanceError):
        body.mass = 2.0  # type: ignore[misc]
    for array in (body.com, body.inertia):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0
    com[:], inertia[:] = 9.0, 9.0
    assert body == InertialParameters(1.0, (0.1, 0.2, 0.3), np.eye(3)), "it kept a reference to the caller's array"
    body.vector[0] = 9.0
    assert body.mass == 1.0


def test_equal_bodies_are_one_in_a_set():
    a = InertialParameters(1.0, (0.0, 0.1, 0.0), np.eye(3))
    b = InertialParameters(1.0, (-0.0, 0.1, 0.0), np.eye(3))
    c = InertialParameters(1.0, (0.0, 0.2, 0.0), np.eye(3))
    assert a == b
    assert a != c
    assert len({a, b, c}) == 2, "-0.0 equals 0.0, and equal bodies need equal hashes"
    assert a != "a body"


def test_rounding_of_the_inertia_is_symmetrised_and_more_is_refused():
    inertia = np.diag((1.0, 1.0, 1.0))
    inertia[0, 1] = 1e-9
    body = InertialParameters(1.0, np.zeros(3), inertia)
    assert body.inertia[0, 1] == body.inertia[1, 0] == 5e-10
    inertia[0, 1] = 1e-3
    with pytest.raises(ArgumentError, match=r"^inertia: expected a symmetric matrix, got an asymmetry of 0\.001$"):
        InertialParameters(1.0, np.zeros(3), inertia)
