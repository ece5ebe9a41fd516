# SPDX-License-Identifier: Apache-2.0
"""The compiler of the kernels: numba's, without what takes it time and kernels do not need.

The first start on a machine compiles a hundred functions. Of numba's own compile time this leaves about 60 %.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import typed_passes, untyped_passes
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher
from numba.core.types.functions import BaseFunction

from panda_dynamics_ros.dynamics.kernels.cache import GENERATED, KernelCache, compilation

# Division by zero gives inf or nan, as in NumPy; no references are counted (see scratch.py).
OPTIONS = {"nopython": True, "error_model": "numpy", "_nrt": False}


# Numba's own, but for closures, `with`, literal unrolling, and what replaces expressions of whole arrays.
_PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _Whole(JITCodeLibrary):
    """The code of a kernel and its callees: LLVM optimises it once.

    Numba optimises each function, then all together cheaply, then removes counts of references, which kernels do not
    have, and then optimises all together. Loops are not unrolled: it makes a third more code, and no kernel faster.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization, options.loop_unrolling = True, False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _Part(_Whole):
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


class _Compiler(CompilerBase):
    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("kernel")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Whole(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _PartCompiler(_Compiler):
    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return CompilerBase.compile_extra(self, func)


_FUNCTION: Any = BaseFunction
_types_of_calls: dict[Any, Any] = {}
_find_type_of_call = _FUNCTION.get_call_type


def _type_of_call(function: BaseFunction, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    key = function, context, args, tuple(kws.items())
    if key not in _types_of_calls:
        _types_of_calls[key] = _find_type_of_call(function, context, args, kws)
    return _types_of_calls[key]


@contextlib.contextmanager
def _quickly() -> Iterator[None]:
    """Within, numba looks up the type of an operation on given types once, and nothing looks for garbage.

    Numba would try all that it knows of `*` at each product, which is a fifth of the compile time; the collector would
    walk all that the compiler keeps again and again, which is another fifth.
    """
    collects = gc.isenabled()
    gc.disable()
    _FUNCTION.get_call_type = _type_of_call
    try:
        yield
    finally:
        _FUNCTION.get_call_type = _find_type_of_call
        if collects:
            gc.enable()


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
        options = OPTIONS | options | {"no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_Compiler)
        options = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self._callee = _Callee(function, targetoptions=options, pipeline_class=_PartCompiler)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """What another kernel finds under this kernel's name."""
        return types.Dispatcher(self._callee)

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock, compilation, _quickly():
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
