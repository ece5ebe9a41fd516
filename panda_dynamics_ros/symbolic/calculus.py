# SPDX-License-Identifier: Apache-2.0
"""Arrays of SymPy expressions: simplification, substitution, derivative with time, Jacobian by its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.symbolic.expressions import Array, numbers_or_expressions, require_sympy


def simplified(array: ArrayLike) -> Array:
    """Each entry through `sympy.simplify`; zero at once where its `normal_form` is.

    Raises
    ------
    ArgumentError: an entry is neither a finite number nor an expression.
    MissingDependencyError: SymPy is not installed.
    """
    sympy = require_sympy()
    return _each(lambda entry: sympy.simplify(entry) if _normal_form(entry) != 0 else sympy.S.Zero, array)


def normal_form(array: ArrayLike) -> Array:
    """Each entry as an expanded polynomial without sin^2: 0 exactly where a polynomial in sines and cosines vanishes.

    Much faster than `simplified`, which looks for a short form.

    Raises
    ------
    ArgumentError: an entry is neither a finite number nor an expression.
    MissingDependencyError: SymPy is not installed.
    """
    return _each(_normal_form, array)


def _normal_form(entry: Any) -> Any:
    """sin^2 = 1 - cos^2 leaves sines of power 0 or 1, times any power of cosines: these are independent functions."""
    sympy = require_sympy()

    def even_sine(e: Any) -> bool:
        return bool(e.is_Pow and isinstance(e.base, sympy.sin) and e.exp.is_Integer and e.exp >= 2)

    def without(e: Any) -> Any:
        pairs, rest = divmod(int(e.exp), 2)
        return (1 - sympy.cos(e.base.args[0]) ** 2) ** pairs * e.base**rest

    expanded = sympy.expand(sympy.nsimplify(entry, rational=True))
    return sympy.expand(expanded.replace(even_sine, without))


def substituted(array: ArrayLike, values: Mapping[Any, Any]) -> Array:
    """Each entry with expressions replaced by `values`; float64 where nothing symbolic is left.

    Raises
    ------
    ArgumentError: an entry is neither a finite number nor an expression.
    MissingDependencyError: SymPy is not installed.
    """
    sympy = require_sympy()
    # All at once and from the top: a value is not itself replaced, nor the function in its derivative.
    rule = {key: sympy.sympify(value) for key, value in values.items()}
    out = _each(lambda entry: entry.xreplace(rule), array)
    if all(entry.is_number for entry in out.flat):
        return out.astype(np.float64)
    return out


def time_derivative(array: ArrayLike, t: Any) -> Array:
    """d/dt of each entry, `t` a SymPy symbol.

    Raises
    ------
    ArgumentError: an entry is neither a finite number nor an expression.
    MissingDependencyError: SymPy is not installed.
    """
    sympy = require_sympy()
    if not isinstance(t, sympy.Symbol):
        raise ArgumentError(f"t: expected a SymPy symbol, got {t!r:.80}")
    return _each(lambda entry: sympy.diff(entry, t), array)


def jacobian_from_velocity(velocity: ArrayLike, rates: ArrayLike) -> Array:
    """(rows, n): the matrix J with velocity = J rates, where `velocity` (rows,) is linear in `rates` (n,).

    Column j is the velocity at unit rate j and all others zero.

    Raises
    ------
    ArgumentError: an argument is not one row of expressions.
    MissingDependencyError: SymPy is not installed.

    Reference: document 002, section 1.3, JacobianFromDefinition.
    """
    sympy = require_sympy()
    V, dq = numbers_or_expressions(velocity, (), "velocity"), numbers_or_expressions(rates, (), "rates")
    for name, array in (("velocity", V), ("rates", dq)):
        if array.ndim != 1:
            raise ArgumentError(f"{name}: expected one row, got shape {array.shape}")
    unit = [{rate: sympy.Integer(k == j) for k, rate in enumerate(dq)} for j in range(len(dq))]
    columns = [_each(lambda entry, rule=rule: entry.xreplace(rule), V) for rule in unit]
    return np.stack(columns, axis=-1)


def _each(function: Any, array: ArrayLike) -> Array:
    """`function` of each entry as a SymPy expression."""
    sympy = require_sympy()
    given = numbers_or_expressions(array, (), "array")
    out = np.empty(given.shape, dtype=object)
    for index, entry in np.ndenumerate(given):
        out[index] = function(sympy.sympify(entry))
    return out
