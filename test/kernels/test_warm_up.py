# SPDX-License-Identifier: Apache-2.0
"""Several processes that start at once: one compiles, the others wait and load; damaged files and full disks.

Real processes with a cache folder of their own, and a kernel of the package that compiles in a second.
"""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, resource
import numpy as np
from panda_dynamics_ros.dynamics.kernels import small_matrices
from panda_dynamics_ros.dynamics.kernels.cache import compilation
{before}
with compilation.reporting_to(lambda line: print(line, flush=True), "{name}"):
    found = np.empty((2, 2))
    small_matrices.invert(np.diag([2.0, 4.0]), found)
    print(compilation.wishes_of_others())
    {within}
assert found[1, 1] == 0.25
print("hits", sum(small_matrices.invert.stats.cache_hits.values()))
"""
QUIET = """
import numpy as np
from panda_dynamics_ros.dynamics.kernels import small_matrices
found = np.empty((2, 2))
small_matrices.invert(np.diag([2.0, 4.0]), found)
assert found[1, 1] == 0.25
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With a cache and a lock of this test's own."""
    (tmp_path / "cache").mkdir()
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    return os.environ | own


def start(environment: dict[str, str], before: str = "", within: str = "", name: str = "x") -> subprocess.Popen[str]:
    program = PROGRAM.format(before=before, within=within, name=name)
    return subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def output(process: subprocess.Popen[str]) -> str:
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0, said
    return said


def cache_files(environment: dict[str, str], suffix: str) -> list[Path]:
    return sorted(Path(environment["NUMBA_CACHE_DIR"]).rglob(f"*.{suffix}"))


def test_the_first_process_compiles_and_the_second_waits_and_loads(environment: dict[str, str]) -> None:
    program = PROGRAM.format(before="", within="sys.stdin.readline(); print(compilation.wishes_of_others())", name="a")
    first = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    assert first.stdin is not None
    assert first.stdout.readline().startswith("compiling the kernels")
    assert first.stdout.readline().strip() == "[]", "nobody waits yet"
    for file in cache_files(environment, "nbi"):
        file.unlink()  # as if the first were still compiling
    second = start(environment, name="b")
    assert second.stdout is not None
    assert second.stdout.readline().startswith("waiting for another process")
    first.stdin.write("\n")
    first.stdin.flush()
    assert "['b']" in first.communicate(timeout=120)[0], "the first hears what the second needs"
    output(second)
    third = output(start(environment))
    assert "hits 1" in third
    assert "compiling" not in third
    assert "waiting" not in third


def test_ctrl_c_ends_a_process_that_waits(environment: dict[str, str]) -> None:
    program = PROGRAM.format(before="", within="sys.stdin.readline()", name="a")
    holder = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    holder.stdout.readline()
    for file in cache_files(environment, "nbi"):
        file.unlink()
    waiting = start(environment)
    assert waiting.stdout is not None
    assert waiting.stdout.readline().startswith("waiting for another process")
    waiting.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in waiting.communicate(timeout=120)[0]
    holder.communicate("\n", timeout=120)


@pytest.mark.parametrize(("suffix", "left"), [("nbi", 0.0), ("nbi", 0.5), ("nbc", 0.0), ("nbc", 0.5), ("nbc", None)])
def test_damaged_cache_files_are_compiled_anew(environment: dict[str, str], suffix: str, left: float | None) -> None:
    """Emptied, cut short, or with one bit of the machine code changed: said once, mended, and not said again."""
    output(start(environment))
    (file,) = cache_files(environment, suffix)
    content = bytearray(file.read_bytes())
    if left is None:
        content[len(content) // 2] ^= 1
    else:
        del content[int(left * len(content)) :]
    file.write_bytes(content)
    said = output(start(environment))
    assert said.count("damaged files, which are compiled anew") == 1, said
    assert "Traceback" not in said
    again = output(start(environment))
    assert "damaged" not in again
    assert "hits 1" in again


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_without_a_reporter_a_damaged_cache_is_a_warning(environment: dict[str, str], suffix: str) -> None:
    command = [sys.executable, "-c", QUIET]
    subprocess.run(command, env=environment, check=True, timeout=120)
    for file in cache_files(environment, suffix):
        file.write_bytes(b"")
    done = subprocess.run(command, env=environment, check=True, timeout=120, capture_output=True, text=True)
    assert done.stderr.count("RuntimeWarning: the cache of compiled kernels in") == 1


def test_a_disk_that_fills_while_a_kernel_is_saved(environment: dict[str, str]) -> None:
    """No file may grow beyond 100 bytes, as on a full disk: EFBIG at the write."""
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    said = output(start(environment, before=limit))
    assert said.count("compiled kernels cannot be written to") == 1, said
    assert "hits 1" in output(start(environment)) or "hits 1" in output(start(environment))


def test_a_folder_that_becomes_read_only(environment: dict[str, str]) -> None:
    """Root may write anywhere, so the folder is replaced by a file: ENOTDIR at the write."""
    replace = (
        "from pathlib import Path; import os, shutil\n"
        "from panda_dynamics_ros.dynamics.kernels.cache import KernelCache\n"
        "made = KernelCache.load_overload\n"
        "def gone(self, *a):\n"
        "    found = made(self, *a); shutil.rmtree(self._cache_path, ignore_errors=True)\n"
        "    Path(self._cache_path).write_text(''); return found\n"
        "KernelCache.load_overload = gone"
    )
    said = output(start(environment, before=replace))
    assert said.count("compiled kernels cannot be written to") == 1, said


def test_no_kernel_assigns_an_array_to_a_slice() -> None:
    """numba's check of the shapes formats a message, which takes two seconds to compile: loops take none."""
    found = []
    for file in (ROOT / "panda_dynamics_ros").rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef) or "compiled" not in map(ast.unparse, function.decorator_list):
                continue
            for node in ast.walk(function):
                targets = node.targets if isinstance(node, ast.Assign) else []
                slices = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Slice)]
                if slices and isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert found == []
