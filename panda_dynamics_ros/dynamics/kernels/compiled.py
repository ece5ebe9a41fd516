# SPDX-License-Identifier: Apache-2.0
"""The compiler of the kernels: numba, with a cache that nobody else writes.

Machine code in a cache is run as it is found, so whoever may write to the cache may run programs as its reader.

- The cache is in the user's cache folder, or below `NUMBA_CACHE_DIR`. One to which others may write is not used.
- numba notices an edit of the file in which a kernel stands, but not of those that it calls. The cache's folder is
  named after the texts of all files with kernels, their places and times, Python and numba: it has what is compiled for
  all of these, or nothing (warm_up.py).
"""

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.extending import register_jitable

PACKAGE = Path(__file__).resolve().parents[2]
OPTIONS: Any = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""Division by zero gives inf or nan, as in NumPy: arguments were checked at the public boundary. An entry point for C,
which nobody calls, would take a tenth of the compiler's time."""
NEEDED = 64 << 20  # bytes on the disk; all kernels together take 10 MB
UNUSED = 30 * 86400.0  # s, after which the cache of other versions is removed


def _texts() -> str:
    """A name for what compiles, and for the texts, places and times of all files with kernels."""
    texts = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_bytes()
        if b"\n@compiled" in text or b"\n@part" in text or file == Path(__file__):
            texts.update(hashlib.sha256(text).digest() + f"{file} {file.stat().st_mtime_ns}".encode())
    return texts.hexdigest()[:16]


def is_private(folder: Path) -> bool:
    """Whether nobody but this user, and root, can write to a folder or replace it.

    A user's own group counts as the user: Ubuntu makes folders writable for it.
    """
    for each in (folder, *folder.parents):
        found = each.lstat()
        others = stat.S_IWOTH | (stat.S_IWGRP if found.st_gid not in (0, os.getegid()) else 0)
        shared = found.st_mode & others and (each == folder or not found.st_mode & stat.S_ISVTX)
        if shared or found.st_uid not in (0, os.geteuid()) or not stat.S_ISDIR(found.st_mode):
            return False
    return True


def _prepared(base: Path) -> Path:
    """The cache's folder below `base`, made if need be.

    Raises OSError: it is not private, the disk is full, or nothing can be written there.
    """
    base.mkdir(parents=True, exist_ok=True)
    folder = base.resolve() / f"panda_dynamics_ros-{_texts()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_private(folder) or shutil.disk_usage(folder).free < NEEDED:
        raise PermissionError(folder)
    tempfile.TemporaryFile(dir=folder).close()
    os.utime(folder)
    for empty in (each for each in folder.rglob("*.nb[ci]") if not each.stat().st_size):
        empty.unlink(missing_ok=True)  # the power failed before it was on the disk: numba would fail on it
    for other in folder.parent.glob("panda_dynamics_ros-*"):
        if time.time() - other.lstat().st_mtime > UNUSED:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _cache_folder() -> Path | None:
    chosen, usual = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    for base in (chosen, usual, f"{tempfile.gettempdir()}/panda_dynamics_ros-{os.geteuid()}"):
        if base:
            with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: this user has no home
                return _prepared(Path(base).expanduser())
            warnings.warn(
                f"compiled kernels are not kept in {base}: others may write there, or this process cannot",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
    return None


CACHE = _cache_folder()


def compiled(function: Callable[..., Any] | None = None, *, nogil: bool = False) -> Any:
    """Compile `function` at its first call; later processes load it from the cache. `nogil`: without Python's lock."""
    if function is None:
        return partial(compiled, nogil=nogil)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(CACHE or "")
    try:
        return numba.njit(cache=CACHE is not None, nogil=nogil, **OPTIONS)(function)
    finally:
        config.CACHE_DIR = before


def part(function: Callable[..., Any]) -> Any:
    """A function that kernels call, compiled as a part of them; Python calls it as it is written.

    Loops over the states of a block become vector instructions only if nothing in them is a call.
    """
    return register_jitable(forceinline=True, **OPTIONS)(function)
