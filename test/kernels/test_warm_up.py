# SPDX-License-Identifier: Apache-2.0
"""Several processes that start at once: one compiles what all nodes need, the others wait and load."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A "node" that takes as long as its standard input is open, instead of one that compiles for ten seconds.
PROGRAM = """
import sys
from panda_dynamics_ros import warm_up
warm_up.NODES = {"one": lambda: print("run", flush=True) or sys.stdin.readline()}
warm_up.warm_up("one", report=lambda line: print(line.split()[0], flush=True))
print("done", flush=True)
"""


@pytest.fixture
def environment(tmp_path):
    """With a cache of this test's own."""
    return os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}


def start(environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def heard(process: subprocess.Popen[str], *lines: str) -> None:
    """The next lines that a process prints are these."""
    assert process.stdout is not None
    assert tuple(process.stdout.readline().strip() for _ in lines) == lines


def test_the_first_process_compiles_and_the_second_waits_and_loads(environment):
    first = start(environment)
    heard(first, "compiling", "run")
    second = start(environment)
    heard(second, "waiting")
    assert first.communicate("\n\n", timeout=60)[0].split() == ["run", "done"]
    assert second.communicate("\n", timeout=60)[0].split() == ["run", "done"], "it loads, and does not compile"
    assert start(environment).communicate("\n", timeout=60)[0].split() == ["run", "done"]


def test_after_a_process_that_was_killed_while_it_compiled_the_next_one_does(environment):
    first = start(environment)
    heard(first, "compiling", "run")
    waiting = start(environment)
    heard(waiting, "waiting")
    first.kill()
    first.wait(timeout=60)
    heard(waiting, "compiling", "run")
    assert waiting.communicate("\n\n", timeout=60)[0].split() == ["run", "done"]


def test_no_kernel_assigns_an_array_to_a_slice():
    """numba's check of the shapes formats a message, which takes two seconds to compile: loops take none."""
    found = []
    for file in (ROOT / "panda_dynamics_ros").rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef) or not {"compiled", "part"} & set(
                map(ast.unparse, function.decorator_list)
            ):
                continue
            for node in ast.walk(function):
                targets = node.targets if isinstance(node, ast.Assign) else []
                slices = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Slice)]
                if slices and isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert found == []
