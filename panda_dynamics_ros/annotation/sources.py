# SPDX-License-Identifier: Apache-2.0
"""Recordings in files, folders and globs."""

import glob
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.recordings.bags import STORAGES
from panda_dynamics_ros.recordings.table_files import TABLES

ENDINGS = (*STORAGES, *(ending for endings in TABLES for ending in endings))
METADATA = "metadata.yaml"


class Source(NamedTuple):
    """A recording to annotate: its path, the size of its files in bytes, and a text that changes with them."""

    path: str
    bytes: int
    version: str

    @property
    def arm(self) -> str:
        """The arm that was recorded, by the name of the folder."""
        return Path(self.path).absolute().parent.name


def find_recordings(paths: Iterable[str | Path]) -> list[Source]:
    """The recordings at `paths`, in order of their names, each once.

    paths: files; folders, which are searched to the bottom; and globs. A folder with a metadata.yaml is one
        recording. Any other file that ends like a recording is one of its own.
    Raises ArgumentError: there is nothing at a path.
    """
    found: dict[str, Source] = {}
    for path in map(str, paths):
        tops = [Path(path)] if Path(path).exists() else [Path(each) for each in glob.glob(path, recursive=True)]  # noqa: PTH207
        files = [file for top in tops for file in ([top] if top.is_file() else top.rglob("*"))]
        sources = {source.path: source for source in _grouped(filter(_is_of_recording, files))}
        if not sources:
            raise ArgumentError(f"PATHS: expected recordings ({', '.join(ENDINGS)}) at {path}, got none")
        found |= sources
    return [found[path] for path in sorted(found)]


def _is_of_recording(file: Path) -> bool:
    return file.is_file() and (file.name == METADATA or file.name.lower().endswith(ENDINGS))


def _grouped(files: Iterable[Path]) -> Iterator[Source]:
    """Files of one recording together."""
    folders: dict[Path, list[Path]] = {}
    for file in files:
        folders.setdefault(file.parent, []).append(file)
    for folder, inside in folders.items():
        storages = [file for file in inside if file.name.lower().endswith(STORAGES)]
        if storages and folder / METADATA in inside:
            yield _source(folder, [*storages, folder / METADATA])
            inside = [file for file in inside if file not in storages]
        yield from (_source(file, [file]) for file in inside if file.name != METADATA)


def _source(path: Path, files: list[Path]) -> Source:
    stats = [file.stat() for file in sorted(files)]
    states = "\n".join(f"{each.st_size}-{each.st_mtime_ns}" for each in stats)
    version = hashlib.sha256(states.encode()).hexdigest()[:16]
    return Source(str(path), sum(each.st_size for each in stats), version)
