# SPDX-License-Identifier: Apache-2.0
"""What other people made: text of files is escaped before it is shown, paths may be anything, folders hold programs."""

import errno
import gzip
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from panda_dynamics_ros.errors import DataError, MissingDependencyError, PandaDynamicsError

_ROOT = Path(__file__).resolve().parents[1]


def printable(text: str) -> str:
    r"""The text with each character that a terminal would obey (ESC, carriage return, bidirectional ..) as \x1b."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape", "backslashreplace").decode()
        for each in text
    )


def listed(names: Sequence[str], what: str, most: int = 20) -> str:
    """The first of the names in one line: what a file has as a name may be anything. `what` they are: topics, say."""
    in_one_line = ["\\n".join(printable(name).splitlines()) for name in names[:most]]
    shown = ", ".join(f"{name:.300}" for name in in_one_line) or f"no {what}"
    return f"{shown}, ... ({len(names)} {what})" if len(names) > most else shown


exists, is_file = os.path.exists, os.path.isfile
"""Whether a path exists, and whether it is a file. Both are false for a name that no file can have (too long, or with a
null byte), where the methods of `Path` raise an error in some versions of Python."""


def most_unpacked(packed: int) -> int:
    """Bytes to which a recording may unpack, whatever it claims: 200 for each byte of the file, or 16 MiB."""
    return max(1 << 24, 200 * packed)


def read_text(path: Path, most: int) -> str:
    """The text of a file, also of one that is compressed by gzip, of at most so many bytes when it is unpacked.

    Raises DataError: it cannot be read, is no text, or is larger.
    """
    if not is_file(path):  # nobody waits for the writer of a FIFO
        raise DataError(f"{path!s:.300}: expected a file, got none")
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    with refused(path, "a file that can be read"), opened(path, "rb") as stream:
        content: bytes = stream.read(most + 1)
        if len(content) > most:
            raise DataError(f"{path!s:.300}: expected at most {most} bytes, got more")
        return content.decode("utf-8")


@contextmanager
def refused(path: Path, kind: str) -> Iterator[None]:
    """Whatever a library raises for a damaged file, as a DataError that names the `kind` of file that was expected."""
    try:
        yield
    except PandaDynamicsError:
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path!s:.300}: expected {kind}, got: {' '.join(str(reason).split()):.200}") from error


def read_npz(path: Path, most: int) -> dict[str, Any]:
    """The arrays of a file of `numpy.savez`, of at most so many bytes when they are unpacked. Reading runs no code.

    Raises DataError: it cannot be read, holds something else, or is larger.
    """
    import numpy as np  # takes longer to import than all that a command's help needs

    with refused(path, "an npz file of plain arrays"):
        if not is_file(path):
            raise DataError(f"{path}: expected a file, got none")
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > most:
            raise DataError(f"{path}: expected numbers of at most {most} bytes in a file of this size, got {size}")
        with np.load(path, allow_pickle=False) as content:
            return {name: np.asarray(value) for name, value in content.items()}  # what is no array is bytes


@contextmanager
def replacing(path: Path, folders: bool = False) -> Iterator[Path]:
    """A path to write to; what was written then takes the place of what is at `path`, whole or not at all.

    In a folder of others a link, or a name that can be foreseen, may lead to any file: neither is written through.

    folders: whether a folder is written, and may be at `path`.
    Raises OSError: the file cannot be written, or what is there is no file.
    """
    if exists(path) and not (is_file(path) or folders):
        raise FileExistsError(errno.EEXIST, "expected a file to replace, got none", str(path))
    try:
        with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            yield unfinished
            if folders and exists(path):
                path.rename(f"{unfinished}.before")  # removed with the temporary folder
            unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def python_command(module: str, *arguments: str) -> list[str]:
    """The command of a Python process that calls a module's `main`, and runs nothing that lies in the working folder.

    `python -m` looks for modules in the working folder first, so that a yaml.py beside the recordings would run. `-P`
    prevents it from Python 3.11 on, `-I` always; it ignores PYTHONPATH, too, so that the path is that of this process.
    """
    here = Path.cwd()
    path = [entry for entry in sys.path if entry and (Path(entry).resolve() != here or here == _ROOT)]
    start = f"import sys; sys.path[:] = {[*path, str(_ROOT)]!r}; from {module} import main; sys.exit(main())"
    return [sys.executable, "-I", "-c", start, *arguments]


def import_optional(name: str, install: str) -> Any:
    """A library that need not be there; MissingDependencyError says what to install with pip where it is not."""
    try:
        return import_elsewhere(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name.partition('.')[0]}: expected the library to be installed (pip install {install}), got: {error}"
        ) from error


def import_elsewhere(name: str) -> Any:
    """A library, imported while the process works in the package's folder instead of the user's.

    Matplotlib then reads a `matplotlibrc` of the working folder, and MuJoCo's glfw starts a Python with modules there.

    Raises ImportError: it is not installed.
    """
    if name not in sys.modules:
        here = os.open(".", os.O_PATH)  # not by its name: the folder may have been removed
        os.chdir(Path(__file__).parent)
        try:
            import_module(name)
        finally:
            os.fchdir(here)
            os.close(here)
    return import_module(name)
