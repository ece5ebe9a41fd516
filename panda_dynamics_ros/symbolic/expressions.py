# SPDX-License-Identifier: Apache-2.0
"""Arrays of numbers or of SymPy expressions: one check of arguments and one set of trigonometric terms for both.

A NumPy array of dtype object multiplies, adds and broadcasts SymPy expressions as a float64 array does numbers, so a
function that only adds and multiplies works on both. This module has what differs: the check of an argument, and the
sines and cosines, which numbers need in a form without cancellation.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError

Array = NDArray[Any]
"""dtype float64, or dtype object with SymPy expressions as entries."""

SMALL_ANGLE = 0.5  # rad; below, (x - sin x) / x^3 is the series, whose first omitted term is 1e-18 of its sum here
_SERIES = (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800, -1 / 6227020800, 1 / 1307674368000)


def require_sympy() -> ModuleType:
    """The `sympy` module.

    Raises
    ------
    MissingDependencyError: SymPy is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module("sympy")
    except ImportError as error:
        raise MissingDependencyError("symbolic expressions need SymPy: pip install sympy") from error


def numbers_or_expressions(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """`value` as an array (..., *shape): float64 where all entries are numbers, else of SymPy expressions.

    Raises
    ------
    ArgumentError: the shape is wrong, an entry is not finite, or is neither a number nor an expression.
    MissingDependencyError: an entry is not a number, and SymPy is not installed.
    """
    try:
        given = np.asarray(value)
    except ValueError as error:  # ragged
        raise ArgumentError(f"{name}: expected an array, got {value!r:.80}") from error
    if given.dtype != object:
        return checks.trailing(given, shape, name)
    sympy = require_sympy()
    symbolic = np.empty(given.shape, dtype=object)
    for index, entry in np.ndenumerate(given):
        try:
            expression = sympy.sympify(entry, strict=True)
        except sympy.SympifyError as error:
            raise ArgumentError(f"{name}: expected numbers or SymPy expressions, got {entry!r:.80}") from error
        if not isinstance(expression, sympy.Expr) or expression.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo):
            raise ArgumentError(f"{name}: expected finite numbers or SymPy expressions, got {entry!r:.80}")
        symbolic[index] = expression
    if symbolic.shape[symbolic.ndim - len(shape) :] != shape or symbolic.ndim < len(shape):
        wanted = ", ".join(["...", *map(str, shape)])
        raise ArgumentError(f"{name}: expected shape ({wanted}), got {symbolic.shape}")
    return symbolic


def alike(*arrays: Array) -> list[Array]:
    """The arrays as they are, or all of expressions where one is: whole numbers as integers, since 1.0 x is not x."""
    if all(array.dtype != object for array in arrays):
        return list(arrays)
    return [array if array.dtype == object else _as_expressions(array) for array in arrays]


def _as_expressions(numbers: Array) -> Array:
    sympy = require_sympy()
    out = np.empty(numbers.shape, dtype=object)
    for index, number in np.ndenumerate(numbers):
        out[index] = sympy.Integer(int(number)) if number == int(number) else sympy.Float(float(number))
    return out


def require_leading_shapes(**named: tuple[Array, int]) -> None:
    """The named arrays, each with the number of its own dimensions, have leading shapes that broadcast.

    Raises
    ------
    ArgumentError: they do not; the message has every shape.
    """
    try:
        np.broadcast_shapes(*(array.shape[: array.ndim - own] for array, own in named.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, (array, _) in named.items())
        raise ArgumentError(f"{', '.join(named)}: expected leading shapes that broadcast, got {shapes}") from error


def exponential_terms(speed_squared: Any, angle: Array) -> tuple[Array, Array, Array]:
    """sin(n x) / n,  (1 - cos(n x)) / n^2,  (n x - sin(n x)) / n^3  of x = `angle`, n^2 = `speed_squared`.

    These are what the exponential of a rotation or a twist consists of. At n = 0 they are x, x^2/2, x^3/6.

    Parameters
    ----------
    speed_squared, angle: arrays that broadcast.

    Returns
    -------
    Three arrays of their common shape.
    """
    speed_squared = np.asarray(speed_squared)  # a sum over one row of expressions is no longer an array
    if speed_squared.dtype == object or angle.dtype == object:
        terms = np.frompyfunc(_symbolic_terms, 2, 3)(speed_squared, angle)
        first, second, third = (np.asarray(term, dtype=object) for term in terms)
        return first, second, third
    x = np.sqrt(speed_squared) * angle
    # 1 - cos x = 2 sin^2(x/2) does not cancel.
    return angle * _sinc(x), 0.5 * (angle * _sinc(0.5 * x)) ** 2, angle**3 * _third_term(x)


def _sinc(x: Array) -> Array:
    """sin(x) / x."""
    zero = x == 0.0
    return np.where(zero, 1.0, np.sin(x) / np.where(zero, 1.0, x))


def _third_term(x: Array) -> Array:
    """(x - sin x) / x^3, by its series where the difference cancels."""
    small = np.abs(x) < SMALL_ANGLE
    safe = np.where(small, 1.0, x)
    return np.where(small, np.polynomial.polynomial.polyval(x * x, _SERIES), (safe - np.sin(safe)) / safe**3)


def _symbolic_terms(speed_squared: Any, angle: Any) -> tuple[Any, Any, Any]:
    sympy = require_sympy()
    n2 = sympy.nsimplify(sympy.simplify(speed_squared), tolerance=1e-12)  # 0 and 1 are to be found, rounded or not
    if n2 == 0:
        return angle, angle**2 / 2, angle**3 / 6
    n = sympy.sqrt(n2)
    x = n * angle
    return sympy.sin(x) / n, (1 - sympy.cos(x)) / n2, (x - sympy.sin(x)) / n**3
