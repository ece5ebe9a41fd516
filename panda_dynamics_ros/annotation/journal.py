# SPDX-License-Identifier: Apache-2.0
"""What is done, a line of JSON for each recording, written at once; the table is made of it.

A run that is interrupted in any way loses the recordings that were in work, no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from panda_dynamics_ros.annotation.rows import Row
from panda_dynamics_ros.annotation.sources import Source
from panda_dynamics_ros.annotation.task import RecordingResult, Task
from panda_dynamics_ros.errors import ArgumentError, DataError


class Journal:
    """The file beside a table: a header with the task's identity, then an entry for each recording.

    A later entry of a recording replaces an earlier one. Use it with `with`.

    Raises
    ------
    ArgumentError: there is a journal and `resume` is not set, or it is of another task.
    DataError: the file is no journal.
    """

    def __init__(self, path: Path, task: Task, *, resume: bool) -> None:
        self.path = path
        self._places: dict[str, tuple[int, str, bool]] = {}  # of entries: place, version of the recording, failed
        exists = path.exists() and path.stat().st_size > 0
        if exists and not resume:
            raise ArgumentError(
                f"{path}: expected no earlier run, got one: --resume goes on from it, --overwrite does not"
            )
        self._file: IO[bytes] = path.open("r+b" if exists else "w+b")
        if exists:
            self._read(task)
        else:
            self._write({"identity": task.identity})

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def is_done(self, source: Source) -> bool:
        """Whether this recording, as it is now, has been annotated without an error."""
        _, version, failed = self._places.get(source.path, (0, "", True))
        return version == source.version and not failed

    def add(self, result: RecordingResult) -> None:
        """Note that a recording is done."""
        place = self._file.seek(0, 2)
        source = result.source
        self._write({"path": source.path, "version": source.version, "failed": bool(result.error), "rows": result.rows})
        self._places[source.path] = (place, source.version, bool(result.error))

    def rows(self, sources: Iterable[Source]) -> Iterator[Row]:
        """The rows of these recordings, in their order; nothing for those that are not done."""
        for source in sources:
            if source.path in self._places:
                self._file.seek(self._places[source.path][0])
                yield from json.loads(self._file.readline())["rows"]

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()

    def _read(self, task: Task) -> None:
        place, whole = 0, True
        for line in self._file:
            whole = line.endswith(b"\n")
            if not whole:
                break
            try:
                entry = json.loads(line)
                if place == 0 and entry["identity"] != task.identity:
                    raise ArgumentError(_other_task(self.path, entry["identity"], task.identity))
                if place:
                    self._places[entry["path"]] = (place, entry["version"], entry["failed"])
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, ArgumentError):
                    raise
                raise DataError(f"{self.path}: expected the journal of an earlier run, got another file") from error
            place += len(line)
        if not whole:  # the run was killed while it wrote
            self._file.truncate(place)
        if place == 0:
            self._write({"identity": task.identity})


def _other_task(path: Path, before: dict[str, Any], now: dict[str, Any]) -> str:
    differing = [f"{name} {before.get(name)!r:.80}" for name in now if before.get(name) != now[name]]
    return f"--resume: expected the options of the earlier run ({path}: {', '.join(differing)}), got others"
