# SPDX-License-Identifier: Apache-2.0
"""The compiler of the kernels, with a cache on disk that notices every change.

numba keys its cache by the file that a kernel stands in, but not by the kernels that it calls: after an
edit of `vectors.cross`, or a `git pull` that brings one, an unchanged `newton_euler.py` would go on computing
with the old product. Here the key holds the text of all that a kernel is compiled from.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType
from typing import Any

from numba import types
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

# Their functions are no kernels but teach numba new ones; a kernel that names one is made of the whole file.
_EXTENSIONS = ("panda_dynamics_ros.kernels.lanes", "panda_dynamics_ros.kernels.cos_sin")

_GENERATED: dict[Callable[..., Any], str] = {}


def _names(code: CodeType) -> Iterator[str]:
    """Every global name that a function's code, or code nested in it, may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@cache
def _ingredients(function: Callable[..., Any]) -> tuple[str, frozenset[Callable[..., Any]]]:
    """A kernel's own text with the constants it reads, and the Python functions of the kernels it calls."""
    text = _GENERATED.get(function) or inspect.getsource(function)
    callees: set[Callable[..., Any]] = set()
    for name in sorted(set(_names(function.__code__))):
        value: Any = function.__globals__.get(name)
        if hasattr(value, "py_func"):
            callees.add(value.py_func)
        elif getattr(value, "__module__", None) in _EXTENSIONS:
            text += inspect.getsource(sys.modules[value.__module__])
        elif isinstance(value, int | float | tuple):
            text += f"{name} = {value!r}\n"
    return text, frozenset(callees)


def kernel_source(function: Callable[..., Any]) -> tuple[str, ...]:
    """The texts of a kernel and of all that it calls, in an order that does not vary between runs."""
    found, waiting = {function}, [function]
    while waiting:
        new = _ingredients(waiting.pop())[1] - found
        found |= new
        waiting.extend(new)
    return tuple(sorted(_ingredients(kernel)[0] for kernel in found))


class _KernelCache(FunctionCache):
    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # Computed at the first call, when the kernels defined further down a file exist, too.
        return (*super()._index_key(sig, codegen), kernel_source(self._py_func))


class _Callee(CPUDispatcher):
    """A kernel as other kernels call it: compiled as a part of them, without what a call from Python needs.

    That is half of a small function's compile time. Constant integers are arguments like any other: numba would
    compile `vector_at(array, i, 3)` and `vector_at(array, i, 6)` as two functions.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


class _Kernel(CPUDispatcher):
    """A kernel as Python calls it, with its cache on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        options = {"nopython": True, "error_model": "numpy"}  # division by zero gives inf or nan, as in NumPy
        super().__init__(function, targetoptions=options)
        self._callee = _Callee(function, targetoptions=options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True})
        # Where neither the installation's folder nor the user's can be written to, every process compiles anew.
        with contextlib.suppress(RuntimeError):
            self._cache = _KernelCache(function)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """What another kernel finds under this kernel's name."""
        return types.Dispatcher(self._callee)


def compiled(function: Callable[..., Any], text: str = "") -> Any:
    """Compile `function` at its first call; later processes load it from the cache.

    Division by zero gives inf or nan, as in NumPy: arguments were checked at the public boundary. `text` is what a
    generated function was made of; that of others is read from their file.
    """
    if text:
        _GENERATED[function] = text
    return _Kernel(function)
