# SPDX-License-Identifier: Apache-2.0
"""The kernels' cache on disk: it is used, and an edit of a kernel in another file is noticed."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import newton_euler
from panda_dynamics_ros.dynamics.kernels import vectors
from panda_dynamics_ros.dynamics.kernels.cache import is_private, kernel_source

CALLEE = """
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
OFFSET = {offset}
@compiled
def inner(x):
    return {factor} * x + OFFSET
"""
CALLER = """
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
from kernel_under_test_inner import inner
@compiled
def outer(x):
    return inner(x)
"""
SAMPLE = """
from panda_dynamics_ros.dynamics.kernels.batch import batched
from panda_dynamics_ros.dynamics.kernels.compiled import compiled
@compiled
def scaled_sample(table, q, result):
    for i in range(table.shape[0] - 3):
        result[i] = {factor} * q[i]
scaled_of_one, scaled_kernel = batched(scaled_sample)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "kernel_under_test_outer.py").write_text(CALLER)
    return tmp_path


def load_outer(folder: Path, version: int, *, factor: float, offset: float) -> ModuleType:
    """Both modules as a new process would import them, the inner one freshly written."""
    inner = folder / "kernel_under_test_inner.py"
    inner.write_text(CALLEE.format(factor=factor, offset=offset))
    os.utime(inner, ns=(version * 10**9, version * 10**9))
    for name in ("kernel_under_test_inner", "kernel_under_test_outer"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module("kernel_under_test_outer")


def test_an_edit_of_a_called_kernel_is_noticed(folder: Path) -> None:
    assert load_outer(folder, 1, factor=2.0, offset=0.0).outer(3.0) == 6.0
    assert load_outer(folder, 2, factor=5.0, offset=0.0).outer(3.0) == 15.0


def test_an_edit_of_a_constant_of_a_called_kernel_is_noticed(folder: Path) -> None:
    assert load_outer(folder, 1, factor=2.0, offset=0.0).outer(3.0) == 6.0
    assert load_outer(folder, 2, factor=2.0, offset=1.0).outer(3.0) == 7.0


@pytest.mark.parametrize("rows", [None, 9], ids=["one state", "nine rows"])
def test_an_edit_of_the_sample_of_a_batched_kernel_is_noticed(folder: Path, rows: int | None) -> None:
    """The drivers' own text does not change with the sample, and the file keeps its size and time stamp."""
    file, q = folder / "kernel_under_test_sample.py", np.ones(7 if rows is None else (rows, 7))
    for factor, misses in ((2.0, 1), (5.0, 1), (5.0, 0)):
        file.write_text(SAMPLE.format(factor=factor))
        os.utime(file, ns=(10**9, 10**9))
        sys.modules.pop("kernel_under_test_sample", None)
        importlib.invalidate_caches()
        linecache.clearcache()
        module, result = importlib.import_module("kernel_under_test_sample"), np.empty_like(q)
        kernel = module.scaled_of_one if rows is None else module.scaled_kernel.of_eights
        kernel(np.zeros((10, 32)), q, result)
        np.testing.assert_array_equal(result, factor)
        assert sum(kernel.stats.cache_misses.values()) == misses


def test_an_unchanged_kernel_comes_from_the_cache(folder: Path) -> None:
    for version in (1, 2):
        outer = load_outer(folder, version, factor=2.0, offset=0.0).outer
        assert outer(3.0) == 6.0
    assert sum(outer.stats.cache_hits.values()) == 1
    assert not outer.stats.cache_misses


def test_where_nothing_can_be_written_kernels_are_compiled_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    outer = load_outer(folder, 1, factor=2.0, offset=0.0).outer
    assert outer(3.0) == 6.0
    assert not outer.stats.cache_path


def test_a_kernel_is_keyed_by_all_that_it_is_made_of() -> None:
    text = "".join(kernel_source(newton_euler.newton_euler_kernel.of_eights.py_func))
    for part in ("def newton_euler_sample", "def link_wrench", "def cross", "def placement", "AXIS = (0.0, 0.0, 1.0)"):
        assert part in text
    assert "def compose" not in text, "which inverse dynamics does not use"
    assert kernel_source(vectors.cross.py_func) != kernel_source(vectors.dot.py_func)


def test_one_version_of_a_kernel_serves_every_memory_layout(panda: pdr.RobotModel) -> None:
    """numba takes read-only and unaligned arrays for types of their own: seconds of compiling, in mid-stream."""
    read_only = np.broadcast_to(0.5, (2, 7))
    unaligned = np.frombuffer(bytes(57), dtype=np.uint8)[1:].view(np.float64)
    panda.inverse_dynamics(np.zeros(7), np.zeros(7), np.zeros(7))
    panda.inverse_dynamics(read_only, unaligned, [0] * 7)
    panda.inverse_dynamics(unaligned, unaligned, unaligned)
    assert len(newton_euler.newton_euler_kernel.of_rows.signatures) == 1


ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
from panda_dynamics_ros.dynamics.kernels.small_matrices import invert
found = np.empty((2, 2))
for _ in range(2):
    invert(np.diag([2.0, 4.0]), found)
assert found[1, 1] == 0.25
print(len(invert.signatures), sum(invert.stats.cache_hits.values()))
"""


def invert_in(folder: Path, cache: Path | None = None) -> tuple[str, str]:
    """What is said by a process that works in `folder` and compiles or loads a kernel: versions and hits, warnings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    own = {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)} | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=inherited | own, capture_output=True, text=True, timeout=240
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("text", ["cache_dir: taken", "- a\n- list", "{broken: [", "opt: 7"])
def test_a_configuration_of_numba_in_the_working_folder_is_not_read(tmp_path: Path, text: str) -> None:
    """A folder of recordings from a stranger: with `cache_dir`, forged machine code in it would be run."""
    (tmp_path / ".numba_config.yaml").write_text(text)
    out, said = invert_in(tmp_path)
    assert (out[:2], said) == ("1 ", "")
    assert not (tmp_path / "taken").exists()


def test_nothing_is_loaded_from_a_folder_that_others_may_write_to(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(0o755)
    assert invert_in(tmp_path, cache) == ("1 0", "")
    assert invert_in(tmp_path, cache) == ("1 1", "")
    cache.chmod(0o777)
    out, said = invert_in(tmp_path, cache)
    assert out == "1 0"
    assert f"RuntimeWarning: others may write to {cache}" in said


def test_private_is_what_nobody_else_can_write_to_or_replace(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert is_private(inner)
    inner.parent.chmod(0o777)
    assert not is_private(inner), "others may rename it"
    inner.parent.chmod(0o1777)
    assert is_private(inner), "as in /tmp"
    link = tmp_path / "link"
    link.symlink_to(inner)
    assert not is_private(link)
    if os.geteuid() == 0:
        os.chown(inner, 12345, 12345)
        assert not is_private(inner), "of another user"
