# SPDX-License-Identifier: Apache-2.0
"""The gate at the public boundary: what passes comes out as clean float64, what does not is named."""

import numpy as np
import pytest
from arms import transform
from conftest import message_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError

TURN = transform((0.3, -0.2, 0.9), (0.1, 0.2, 0.3))
MIRROR = np.diag((1.0, -1.0, 1.0))

real_arrays = arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8]), array_shapes(min_dims=0, min_side=0)
).filter(lambda array: bool(np.isfinite(array).all()))


@given(real_arrays)
def test_real_array_keeps_shape_and_values(given_array):
    result = checks.real_array(given_array, "x")
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    assert result.shape == given_array.shape
    assert np.array_equal(result, given_array)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ("text", "'text'"), (None, "None"), (1j, "1j"), (True, "True"), ([1.0, None], "[1.0, None]"),
        ([[1.0], [1.0, 2.0]], "[[1.0], [1.0, 2.0]]"), ([10**400], "[1000000"),
        (np.full((30, 30), "a"), "array([['a', 'a', "),
    ],
)  # fmt: skip
def test_real_array_refuses_what_is_not_real_numbers(value, got):
    message = message_of(ArgumentError, checks.real_array, value, "x")
    assert message.startswith(f"x: expected an array of real numbers, got {got}")
    assert len(message) < 140, "a whole array in an error message helps nobody"


@given(array_shapes(min_dims=0, max_dims=4, min_side=0), array_shapes(min_dims=1, max_dims=2))
def test_trailing_asks_for_the_last_dimensions_only(leading, shape):
    given_array = np.zeros(leading + shape)
    assert checks.trailing(given_array, shape, "x").shape == leading + shape
    longer = (*shape[:-1], shape[-1] + 1)
    wanted = ", ".join(map(str, longer))
    message = message_of(ArgumentError, checks.trailing, given_array, longer, "x")
    assert message == f"x: expected shape (..., {wanted}), got {given_array.shape}"


@given(array_shapes(min_dims=0), array_shapes(min_dims=0))
def test_exactly_takes_one_shape(shape, other):
    assert checks.exactly(np.ones(shape), shape, "x").shape == shape
    if other != shape:
        message = message_of(ArgumentError, checks.exactly, np.ones(other), shape, "x")
        assert message == f"x: expected shape {shape}, got {other}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.eye(2), "P: expected shape (3, 3), got (2, 2)"),
        (np.eye(3) + np.eye(3, k=1), "P: expected a symmetric matrix, got an asymmetry of 1"),
        (np.diag([1.0, -2.0, 1.0]), "P: expected positive eigenvalues, got -2"),
        (np.zeros((3, 3)), "P: expected positive eigenvalues, got 0"),
    ],
)
def test_a_covariance_is_symmetric_and_positive_definite(value, message):
    assert message_of(ArgumentError, checks.covariance, value, 3, "P") == message
    assert np.array_equal(checks.covariance(np.diag([1e-12, 1.0, 1e6]), 3, "P"), np.diag([1e-12, 1.0, 1e6]))


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0)])
def test_number_gives_a_float(value):
    result = checks.number(value, "x", minimum=2.0, maximum=2.0)
    assert type(result) is float
    assert result == 2.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1e-9, "x: expected a number in [0, 10], got -1e-09"),
        (10.5, "x: expected a number in [0, 10], got 10.5"),
        (np.nan, "x: expected finite numbers, got nan"),
        ([1.0], "x: expected a number, got an array of shape (1,)"),
        (False, "x: expected an array of real numbers, got False"),
    ],
)
def test_number_refuses(value, message):
    assert message_of(ArgumentError, checks.number, value, "x", minimum=0.0, maximum=10.0) == message


def test_rigid_transforms_of_any_leading_shape():
    for T in (TURN, np.broadcast_to(TURN, (2, 3, 4, 4)), np.zeros((0, 4, 4)), TURN.tolist()):
        assert np.array_equal(checks.rigid_transform(T, "T"), T)


def test_rounded_transforms_pass_but_not_with_two_digits():
    for rounded in (TURN.round(5), TURN.astype(np.float32)):
        assert np.array_equal(checks.rigid_transform(rounded, "T"), rounded)
    message = message_of(ArgumentError, checks.rigid_transform, TURN.round(2), "T")
    assert message.startswith("the rotation of T: expected R R^T = I")


def test_a_row_major_matrix_read_as_column_major_is_refused():
    message = message_of(ArgumentError, checks.rigid_transform, np.stack([TURN, TURN.T]), "F_T_EE")
    assert message == "F_T_EE: expected the last row (0, 0, 0, 1), got [0.1, 0.2, 0.3, 1.0]"


@pytest.mark.parametrize(
    ("R", "message"),
    [
        (1.01 * np.eye(3), "R: expected R R^T = I within 0.0001, got a deviation of 0.0201"),
        (np.stack([np.eye(3), MIRROR]), "R: expected det R = +1, got -1 (a reflection)"),
        (np.eye(4), "R: expected shape (..., 3, 3), got (4, 4)"),
    ],
)
def test_rotation_matrix_refuses(R, message):
    assert message_of(ArgumentError, checks.rotation_matrix, R, "R") == message
