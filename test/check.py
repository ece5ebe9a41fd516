# SPDX-License-Identifier: Apache-2.0
"""`make check`: ruff, mypy and the tests that are nearest to what differs from the main branch, for a minute.

First tests that changed, or that import what changed; then those of the rooms that changed; then those of the rooms
that import it. What has not begun within the minute is skipped and counted: `make test` runs all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "panda_dynamics_ros"
MINUTE, LEAST = 50.0, 25.0  # s, after which no test begins: since the start, and since the start of the tests
ALWAYS = ("test/test_architecture.py", "test/test_public_api.py")
OTHERS = {
    "README.md": "test/test_readme_commands.py", "docs/": "test/test_docs.py", "launch/": "test/test_launch",
    "config/": "test/test_launch", "benchmarks/": "test/benchmarks/", "examples/": "test/nodes/",
}  # fmt: skip
"""Tests of what is neither package nor test, by the beginnings of both names; else those of the package as a whole."""


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\0" if "-z" in arguments else None)


def changed_files() -> list[str]:
    """What differs from where this branch left main; on main, from its last commit but one where nothing else does."""
    for main in ("origin/main", "main", "HEAD~1"):
        if since := git("merge-base", main, "HEAD"):
            found = {*git("diff", "--name-only", "-z", since[0]), *git("ls-files", "-zo", "--exclude-standard")} - {""}
            if found:
                return sorted(found)
    return []


def room(name: str) -> str:
    """The part of the package, or of its tests, to which a file belongs."""
    return Path(name).parts[1].removesuffix(".py").removeprefix("test_") if "/" in name else ""


def imports(text: str, name: str) -> bool:
    """Whether Python source imports the file of this name, whatever it takes of it."""
    module = name.removesuffix(".py").removesuffix("/__init__").removeprefix("test/").replace("/", ".")
    folder, _, last = module.rpartition(".")
    whole = rf"^\s*(from|import) {re.escape(module)}\b"
    return bool(re.search(rf"{whole}|^\s*from {re.escape(folder)} import .*\b{last}\b", text, re.MULTILINE))


def nearest(changed: Iterable[str], sources: dict[str, str]) -> list[str]:
    """Test files of `sources` (all Python files of the package and its tests, with their text), nearest first."""
    changed = list(changed)
    tests = [name for name in sources if Path(name).name.startswith("test_")]
    code = [name for name in changed if name in sources and name not in tests]
    # What the tests share changes what imports it, wherever that is; a conftest.py its folder.
    near = [test for test in tests if test in changed or any(imports(sources[test], name) for name in code)]
    rooms = {room(name) for name in code if name.startswith(PACKAGE) or name.endswith("/conftest.py")}
    own = [test for test in tests if room(test) in rooms]
    above = {room(name) for name in sources if name not in tests for one in code if imports(sources[name], one)}
    beyond = [test for test in tests if room(test) in above]
    starts = [start for name in changed for begin, start in OTHERS.items() if name.startswith(begin)]
    rest = [test for test in tests if any(test.startswith(start) for start in starts)]
    if any("/" not in name for name in changed):
        rest.append("test/test_package.py")
    return list(dict.fromkeys([*ALWAYS, *near, *rest, *own, *beyond]))


def main() -> int:
    """Run all of it; the exit code of what failed first."""
    end = time.time() + MINUTE
    python = [sys.executable, "-m"]
    changed = [name for name in changed_files() if (ROOT / name).exists()]
    files = sorted(path for folder in (PACKAGE, "test") for path in (ROOT / folder).rglob("*.py"))
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    typed = [name for name in changed if name in sources]
    tests = nearest(changed, sources)
    print(f"{len(changed)} changed files, {len(tests)} files of tests: {' '.join(changed)}", flush=True)
    steps = [["ruff", "check", "."], ["ruff", "format", "--check", "."], *([["mypy", *typed]] if typed else [])]
    steps.append(["pytest", "-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", *tests])
    for step in steps:
        environment = {**os.environ, "PANDA_CHECK_UNTIL": str(max(end, time.time() + LEAST))}
        if code := subprocess.run([*python, *step], cwd=ROOT, env=environment).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
