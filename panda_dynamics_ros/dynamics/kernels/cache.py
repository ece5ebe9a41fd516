# SPDX-License-Identifier: Apache-2.0
"""The kernels' cache on disk: notices every change, survives damaged files, and is filled by one process.

numba keys its cache by the file that a kernel stands in, but not by the kernels that it calls: after an edit of
`vectors.cross`, or a `git pull` that brings one, an unchanged `newton_euler.py` would go on computing with the old
product. Here the key holds the text of all that a kernel is compiled from.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import inspect
import os
import pickle
import stat
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

# Their functions are no kernels but teach numba new ones; a kernel that names one is made of the whole file.
_EXTENSIONS = tuple(f"panda_dynamics_ros.dynamics.kernels.{name}" for name in ("lanes", "cos_sin", "scratch"))
GENERATED: dict[Callable[..., Any], str] = {}
"""The texts of functions that are not in a file."""


def _names(code: CodeType) -> Iterator[str]:
    """Every global name that a function's code, or code nested in it, may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


@cache
def _ingredients(function: Callable[..., Any]) -> tuple[str, frozenset[Callable[..., Any]]]:
    """A kernel's own text with the constants it reads, and the Python functions of the kernels it calls."""
    text = GENERATED.get(function) or inspect.getsource(function)
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


class Compilation:
    """Lets one process of a user compile at a time, and says what is going on.

    Within `with compilation:`, the first kernel that is not in the cache takes a lock. Other processes that need a
    kernel, too, sleep until the lock is free, and then find it in the cache. They leave their `wishes` in the lock's
    file: most of a kernel's compile time goes into what it shares with others, so one process does it all faster.
    """

    def __init__(self) -> None:
        self.report: Callable[[str], None] | None = None
        self.wishes: tuple[str, ...] = ()
        self._guard, self._depth, self._lock, self._said = threading.Lock(), 0, -1, set[str]()

    def __enter__(self) -> None:
        with self._guard:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth == 0:
                self.release()

    @contextlib.contextmanager
    def reporting_to(self, report: Callable[[str], None], *wishes: str) -> Iterator[None]:
        """Within, `report` gets each line that there is to say, and the lock is kept to the end.

        `wishes`: words that another process which compiles gets from `wishes_of_others`.
        """
        before = self.report, self.wishes
        self.report, self.wishes = report, wishes
        try:
            with self:
                yield
        finally:
            self.report, self.wishes = before

    def wishes_of_others(self) -> list[str]:
        """What the processes that wait for this one have asked for."""
        if self._lock < 0:
            return []
        return os.pread(self._lock, 4096, 0).decode(errors="replace").split()

    def acquire(self) -> bool:
        """Take the lock; whether another process has had it meanwhile, and so may have filled the cache."""
        if self._lock >= 0:
            return False
        path = Path(tempfile.gettempdir()) / f"panda_dynamics_ros-{os.getuid()}.lock"
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.write(self._lock, "".join(f"{wish}\n" for wish in self.wishes).encode())
                self.say("waiting for another process that compiles the kernels")
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                return True
        except OSError:  # no lock, then: at worst two processes compile the same
            self.release()
        return False

    def release(self) -> None:
        """Let other processes compile."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(lock, 0)
            os.close(lock)

    def say(self, line: str) -> None:
        """A line for the user, once."""
        if self.report is not None and line not in self._said:
            self._said.add(line)
            self.report(line)

    def warn(self, line: str) -> None:
        """A problem, once, as a warning where nobody listens to `report`."""
        if line in self._said:
            return
        if self.report is None:
            self._said.add(line)
            warnings.warn(line, RuntimeWarning, stacklevel=2)
        self.say(line)


compilation = Compilation()


class _CacheFile(IndexDataCacheFile):
    """Machine code with its checksum: of a file that a crash or a full disk has cut short, nothing is run."""

    def _save_data(self, name: str, data: Any) -> None:
        payload = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(payload).digest() + payload)

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise ValueError("wrong checksum")
        return pickle.loads(data[32:])


PACKAGE = Path(__file__).resolve().parents[2]


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


class KernelCache(FunctionCache):
    """The cache of one kernel.

    Machine code is run as it is found: whoever can write to the cache can run programs as its reader. Within the
    package that is true of its source, too. Elsewhere, as below NUMBA_CACHE_DIR, the folder has to be private.

    Raises
    ------
    RuntimeError: there is no folder for the cache.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        folder = Path(self._cache_path).resolve()
        if not folder.is_relative_to(PACKAGE) and not is_private(folder):
            compilation.warn(f"others may write to {folder.parent}: compiled kernels are neither kept there nor loaded")
            raise RuntimeError(folder)
        files = self._cache_file
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, files._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None where it is to be compiled, which this process then does alone."""
        found = self._loaded(sig, target_context)
        if found is None and compilation.acquire():
            found = self._loaded(sig, target_context)
            if found is not None:
                compilation.release()
        if found is None:
            compilation.say("compiling the kernels, which takes about 10 s after an installation")
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the kernel to the disk if that can be."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._give_up(error)

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever pickle finds in a damaged file
            compilation.warn(
                f"the cache of compiled kernels in {self._cache_path} has damaged files, which are compiled anew "
                f"({type(error).__name__}: {error})"
            )
            try:
                self.flush()
            except OSError as full:
                self._give_up(full)
        return None

    def _give_up(self, error: OSError) -> None:
        compilation.warn(
            f"compiled kernels cannot be written to {self._cache_path} ({error.strerror}): each start compiles them"
        )
        self.disable()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # Computed at the first call, when the kernels defined further down a file exist, too.
        sources = "\0".join(kernel_source(self._py_func))
        return (*super()._index_key(sig, codegen), hashlib.sha256(sources.encode()).hexdigest())
