# SPDX-License-Identifier: Apache-2.0
"""SymPy on each entry of an array, and the exact test for zero."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]


def normal_form(entry: Any) -> Any:
    """Expanded, without sin^2: 0 exactly where a polynomial in sines and cosines vanishes.

    Sines of power 0 or 1, times any power of cosines, are independent functions.
    """
    expanded = sympy.expand(sympy.nsimplify(entry, rational=True))
    return sympy.expand(
        expanded.replace(
            lambda e: e.is_Pow and isinstance(e.base, sympy.sin) and e.exp.is_Integer and e.exp >= 2,
            lambda e: (1 - sympy.cos(e.base.args[0]) ** 2) ** (int(e.exp) // 2) * e.base ** (int(e.exp) % 2),
        )
    )


def is_zero(array: ArrayLike) -> bool:
    return not any(normal_form(entry) for entry in np.asarray(array, dtype=object).flat)


def substituted(array: ArrayLike, values: Mapping[Any, Any]) -> Array:
    """Numbers in place of symbols, all at once."""
    rule = {key: sympy.sympify(value) for key, value in values.items()}
    each = np.frompyfunc(lambda entry: float(sympy.sympify(entry).xreplace(rule)), 1, 1)
    return np.asarray(each(array), dtype=np.float64)


def time_derivative(array: ArrayLike, t: Any) -> Array:
    return np.asarray(np.frompyfunc(lambda entry: sympy.diff(entry, t), 1, 1)(array))


def jacobian_from_velocity(velocity: Array, rates: Array) -> Array:
    """J with velocity = J rates: document 002, section 1.3, JacobianFromDefinition."""
    return np.array(sympy.Matrix(velocity).jacobian(sympy.Matrix(rates)), dtype=object)
