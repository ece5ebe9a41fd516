# SPDX-License-Identifier: Apache-2.0
"""Recordings in files, folders, globs and object stores (`s3://`, `gs://`, `file://`, by fsspec)."""

import contextlib
import glob
import hashlib
import importlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from panda_dynamics_ros.errors import ArgumentError, MissingDependencyError
from panda_dynamics_ros.recordings.table_files import TABLES

STORAGES = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")
ENDINGS = (*STORAGES, *(ending for endings in TABLES for ending in endings))
METADATA = "metadata.yaml"
_URL = re.compile(r"[a-z][a-z0-9+.-]+://")
_SPLIT = re.compile(r"(?P<name>.+)_\d+(\.mcap|\.db3)(\.zstd)?")
_PIECE = 1 << 20  # bytes that are read at once


class Source(NamedTuple):
    """A recording to annotate: its path or URL, its files, their size in bytes, and a text that changes with them."""

    path: str
    files: tuple[str, ...]
    bytes: int
    version: str

    @property
    def arm(self) -> str:
        """The arm that was recorded, by the name of the folder."""
        return self.path.split("/")[-2] if _URL.match(self.path) else Path(self.path).absolute().parent.name


class _File(NamedTuple):
    path: str
    bytes: int
    version: str


def find_recordings(paths: Iterable[str | Path]) -> list[Source]:
    """The recordings at `paths`, in order of their names, each once.

    paths: files; folders, which are searched to the bottom; globs; and URLs of each of these. A folder with a
        metadata.yaml, or with the parts `name_0.mcap`, `name_1.mcap` .. of a folder called `name`, is one recording.
        Any other file that ends like a recording is one of its own.
    Raises ArgumentError: there is nothing at a path.
    Raises MissingDependencyError: fsspec, or its part for a store, is not installed.
    """
    found: dict[str, Source] = {}
    for path in map(str, paths):
        groups = list(_grouped(_remote_files(path) if _URL.match(path) else _local_files(path)))
        if not groups:
            raise ArgumentError(f"PATHS: expected recordings ({', '.join(ENDINGS)}) at {path}, got none")
        found.update((source.path, source) for source in groups)
    return [found[path] for path in sorted(found)]


def _local_files(path: str) -> Iterator[_File]:
    """All files at a path or glob, those of a folder by their place in it."""
    tops = [Path(path)] if Path(path).exists() else [Path(each) for each in glob.glob(path, recursive=True)]  # noqa: PTH207
    for top in tops:
        for file in [top] if top.is_file() else sorted(top.rglob("*")):
            if file.is_file() and (file.name == METADATA or file.name.lower().endswith(ENDINGS)):
                status = file.stat()
                yield _File(str(file), status.st_size, f"{status.st_size}-{status.st_mtime_ns}")


def _remote_files(url: str) -> Iterator[_File]:
    with _errors_of_store(url):
        system, path = importlib.import_module("fsspec").core.url_to_fs(url)
        tops = system.glob(path) if glob.has_magic(path) else [path]
        entries = [entry for top in tops for entry in sorted(system.find(top, detail=True).items())]
    for name, entry in entries:
        if PurePosixPath(name).name == METADATA or name.lower().endswith(ENDINGS):
            yield _File(system.unstrip_protocol(name), int(entry.get("size") or 0), str(system.ukey(name)))


@contextlib.contextmanager
def _errors_of_store(url: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(
            f"{url}: expected fsspec and its part for this store to be installed (pip install "
            f"'panda_dynamics_ros[cluster]' s3fs gcsfs), got: {error}"
        ) from error
    except Exception as error:  # each store has its own kinds, which need not be OSErrors
        reason = f"{type(error).__name__}: {error}"
        raise ArgumentError(f"PATHS: expected a URL of a store that can be read, got {url}: {reason}") from error


def _grouped(files: Iterable[_File]) -> Iterator[Source]:
    """Files of one recording together."""
    folders: dict[str, list[_File]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file)
    for folder, inside in folders.items():
        storages = [file for file in inside if file.path.lower().endswith(STORAGES)]
        metadata = [file for file in inside if file.path.endswith(METADATA)]
        parts = [_SPLIT.fullmatch(file.path.rpartition("/")[2]) for file in storages]
        is_split = len(parts) > 1 and all(part and part["name"] == folder.rpartition("/")[2] for part in parts)
        together = [*storages, *metadata] if storages and (metadata or is_split) else []
        if together:
            yield _source(folder, together)
        for file in inside:
            if file not in together and file not in metadata:
                yield _source(file.path, [file])


def _source(path: str, files: list[_File]) -> Source:
    files = sorted(files)
    version = hashlib.sha256("\n".join(file.version for file in files).encode()).hexdigest()[:16]
    return Source(path, tuple(file.path for file in files), sum(file.bytes for file in files), version)


@contextlib.contextmanager
def local_copy(source: Source, progress: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Where the recording can be read; what lies in a store is copied, and the copy removed afterwards."""
    if not _URL.match(source.path):
        yield Path(source.path)
        return
    with tempfile.TemporaryDirectory(prefix="panda_dynamics_") as name:
        folder = Path(name)
        for file in source.files:
            with _errors_of_store(file):
                system, path = importlib.import_module("fsspec").core.url_to_fs(file)
                remote = system.open(path, "rb")
            with remote, (folder / PurePosixPath(path).name).open("wb") as local:
                while piece := remote.read(_PIECE):
                    local.write(piece)
                    progress()
        only_one = source.files == (source.path,)
        yield folder / PurePosixPath(source.path).name if only_one else folder


def contents_sha256(path: Path, progress: Callable[[], None] = lambda: None) -> str:
    """The SHA-256 of a file, or of the recording's files in a folder in the order of their names."""
    names = (each for each in path.iterdir() if each.name.lower().endswith(STORAGES)) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in sorted(names):
        with file.open("rb") as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
                progress()
    return digest.hexdigest()
