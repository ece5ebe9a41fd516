# SPDX-License-Identifier: Apache-2.0
"""The parts of numba and llvmlite that are not in their public interface and that the kernels use.

After an upgrade, a failure here says which of them has changed, and where it is used. This file imports none of our
kernels, which may then fail at their import with an error that says less.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import llvmlite
import numba
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "panda_dynamics_ros"
# Where it is used: module and name, and the parameters that the kernels rely on.
PARTS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("cache.py", "numba.core.caching", "FunctionCache", ("py_func",)),
    ("cache.py", "numba.core.caching", "FunctionCache._index_key", ("self", "sig", "codegen")),
    ("cache.py", "numba.core.caching", "FunctionCache.load_overload", ("self", "sig", "target_context")),
    ("cache.py", "numba.core.caching", "FunctionCache.save_overload", ("self", "sig", "data")),
    ("cache.py", "numba.core.caching", "IndexDataCacheFile", ("cache_path", "filename_base", "source_stamp")),
    ("cache.py", "numba.core.caching", "IndexDataCacheFile._save_data", ("self", "name", "data")),
    ("cache.py", "numba.core.caching", "IndexDataCacheFile._load_data", ("self", "name")),
    ("cache.py", "numba.core.caching", "IndexDataCacheFile._data_path", ("self", "name")),
    ("cache.py", "numba.core.caching", "IndexDataCacheFile._dump", ("self", "obj")),
    ("cache.py", "numba.core.caching", "IndexDataCacheFile._open_for_write", ("self", "filepath")),
    ("compiled.py", "numba.core.caching", "NullCache", ()),
    ("compiled.py", "numba.core.compiler_lock", "global_compiler_lock", ()),
    ("compiled.py", "numba.core.registry", "CPUDispatcher", ("py_func", "locals", "targetoptions")),
    ("compiled.py", "numba.core.registry", "CPUDispatcher.get_call_template", ("self", "args", "kws")),
    ("compiled.py", "numba.core.registry", "CPUDispatcher.compile", ("self", "sig")),
    ("compiled.py", "numba.core.registry", "CPUDispatcher._numba_type_", ()),
    ("compiled.py", "numba.core.cpu", "CPUTargetOptions.no_cpython_wrapper", ()),
    ("compiled.py", "numba.core.cpu", "CPUTargetOptions._nrt", ()),
    ("compiled.py", "numba.core.codegen", "JITCodeLibrary.finalize", ("self",)),
    ("compiled.py", "numba.core.codegen", "JITCodeLibrary._get_module_for_linking", ("self",)),
    ("compiled.py", "numba.core.codegen", "JITCodeLibrary.get_pointer_to_function", ("self", "name")),
    ("compiled.py", "numba.core.codegen", "JITCPUCodegen.set_env", ("self", "env_name", "env")),
    ("compiled.py", "numba.core.codegen", "JITCodeLibrary._optimize_functions", ("self", "ll_module")),
    ("compiled.py", "numba.core.codegen", "JITCodeLibrary._optimize_final_module", ("self",)),
    ("compiled.py", "numba.core.codegen", "JITCodeLibrary.enable_object_caching", ("self",)),
    ("compiled.py", "numba.core.compiler", "CompilerBase", ("typingctx", "targetctx", "library")),
    ("compiled.py", "numba.core.compiler", "CompilerBase.compile_extra", ("self", "func")),
    ("compiled.py", "numba.core.compiler_machinery", "PassManager", ("pipeline_name",)),
    ("compiled.py", "numba.core.types.functions", "BaseFunction.get_call_type", ("self", "context", "args", "kws")),
    ("compiled.py", "llvmlite.binding", "create_pipeline_tuning_options", ("speed_level",)),
    ("compiled.py", "llvmlite.binding", "create_pass_builder", ("tm", "pto")),
    ("compiled.py", "numba.core.cpu", "CPUTargetOptions.no_cfunc_wrapper", ()),
    ("lanes.py", "numba.core.cgutils", "create_struct_proxy", ("fe_type",)),
    ("lanes.py", "numba.core.cgutils", "get_item_pointer", ("context", "builder", "aryty", "ary", "inds")),
    ("lanes.py", "numba.core.imputils", "impl_ret_borrowed", ("ctx", "builder", "retty", "ret")),
    ("lanes.py", "numba.core.imputils", "lower_builtin", ("func",)),
    ("lanes.py", "numba.core.imputils", "lower_cast", ()),
    ("lanes.py", "numba.core.typeconv.castgraph", "Conversion.safe", ()),
    ("lanes.py", "numba.core.typing.templates", "ConcreteTemplate", ()),
    ("lanes.py", "numba.core.typing.templates", "infer_global", ("val",)),
    ("lanes.py", "numba.core.typing.templates", "signature", ("return_type",)),
    ("lanes.py", "numba.core.types", "Type.can_convert_from", ("self", "typingctx", "other")),
    ("lanes.py", "numba.extending", "models.StructModel", ("dmm", "fe_type", "members")),
    ("lanes.py", "numba.extending", "models.PrimitiveModel", ("dmm", "fe_type", "be_type")),
    ("scratch.py", "numba.core.cgutils", "memset", ("builder", "ptr", "size", "value")),
    (
        "scratch.py",
        "numba.np.arrayobj",
        "populate_array",
        ("array", "data", "shape", "strides", "itemsize", "meminfo"),
    ),
    ("lanes.py", "llvmlite.ir", "VectorType", ("element", "count")),
    ("lanes.py", "llvmlite.ir", "IRBuilder.shuffle_vector", ("self", "vector1", "vector2", "mask")),
    ("lanes.py", "llvmlite.ir", "IRBuilder.insert_element", ("self", "vector", "value", "idx")),
    ("lanes.py", "llvmlite.ir", "IRBuilder.extract_element", ("self", "vector", "idx")),
    ("lanes.py", "llvmlite.ir", "IRBuilder.bitcast", ("self", "value", "typ")),
]


@pytest.mark.parametrize(("file", "module", "name", "parameters"), PARTS, ids=[f"{p[1]}.{p[2]}" for p in PARTS])
def test_a_part_that_is_not_public_is_as_the_kernels_expect(
    file: str, module: str, name: str, parameters: tuple[str, ...]
) -> None:
    installed = f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"
    changed = f"{installed}: kernels/{file} uses {module}.{name}, which has changed; setup.py has the tested range"
    part: Any = importlib.import_module(module)
    for step in name.split("."):
        assert hasattr(part, step), f"{changed} (there is no {step})"
        part = getattr(part, step)
    if parameters:
        found = tuple(inspect.signature(part).parameters)[: len(parameters)]
        assert found == parameters, f"{changed} (parameters {found}, expected {parameters})"


def test_every_private_import_is_listed() -> None:
    """Modules of numba.core and llvmlite that the kernels import."""
    listed = {(file, module) for file, module, _, _ in PARTS} | {
        ("compiled.py", "numba.core"),  # modules of passes
        ("lanes.py", "numba.core"),
        ("scratch.py", "numba.core"),
        ("scratch.py", "llvmlite.ir"),
    }
    for file in (PACKAGE / "dynamics" / "kernels").glob("*.py"):
        for module in re.findall(r"^from (numba\.core[\w.]*|llvmlite[\w.]*) import", file.read_text(), re.MULTILINE):
            module = "llvmlite.ir" if module == "llvmlite" else module
            assert (file.name, module) in listed, f"{file.name} imports from {module}: list what it uses"
