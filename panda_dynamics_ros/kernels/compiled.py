# SPDX-License-Identifier: Apache-2.0
"""The compiler of the kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from panda_dynamics_ros.kernels.cache import GENERATED, KernelCache, compilation

# Division by zero gives inf or nan, as in NumPy; no references are counted (see scratch.py).
OPTIONS = {"nopython": True, "error_model": "numpy", "_nrt": False}


class _Part(JITCodeLibrary):
    """The code of a kernel that others call: a part of theirs, in which it is optimised and becomes machine code."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _Part:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """A callee has no environment: nothing in it calls Python."""


class _PartCompiler(Compiler):
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *options: Any) -> None:
        super().__init__(typingctx, targetctx, library or _Part(targetctx.codegen(), "part"), *options)


class _Callee(CPUDispatcher):
    """A kernel as other kernels call it: compiled as a part of them, without what a call from Python needs.

    That is half of a small function's compile time. Constant integers are arguments like any other: numba would
    compile `vector_at(array, i, 3)` and `vector_at(array, i, 6)` as two functions.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


class _Kernel(CPUDispatcher):
    """A kernel as Python calls it, with its cache on disk."""

    _cache: Any

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=OPTIONS | options | {"no_cfunc_wrapper": True})
        options = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self._callee = _Callee(function, targetoptions=options, pipeline_class=_PartCompiler)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """What another kernel finds under this kernel's name."""
        return types.Dispatcher(self._callee)

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, compilation:
            if isinstance(self._cache, NullCache):  # made here, since most kernels are only called by others
                # Where neither the installation's folder nor the user's can be written to, every process compiles.
                with contextlib.suppress(RuntimeError):
                    self._cache = KernelCache(self.py_func)
            return super().compile(sig)


def compiled(function: Callable[..., Any], text: str = "", **options: Any) -> Any:
    """Compile `function` at its first call; later processes load it from the cache.

    Division by zero gives inf or nan, as in NumPy: arguments were checked at the public boundary. `text` is what a
    generated function was made of; that of others is read from their file. `options` are numba's, beside `OPTIONS`;
    a cache does not notice when they change.
    """
    if text:
        GENERATED[function] = text
    return _Kernel(function, options)
