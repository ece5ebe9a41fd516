# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 file in SQLite format, whole or cut off.

`rosbags` counts every message before it yields the first, so a damaged file gives it nothing. One query on the
tables of rosbag2 reads both.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from panda_dynamics_ros.errors import DataError
from panda_dynamics_ros.recordings.limits import LARGEST_JOINT_STATE, LARGEST_TOPIC_COUNT
from panda_dynamics_ros.recordings.rosbag2 import Topic

MAGIC = b"SQLite format 3\0"
_MESSAGES = """SELECT timestamp, CASE WHEN length(data) <= ? THEN data END FROM messages {}
    WHERE topic_id IN (SELECT id FROM topics WHERE name = ?) {}"""
_BY_TIME, _IN_ORDER_OF_WRITING = _MESSAGES.format("", "ORDER BY timestamp, id"), _MESSAGES.format("NOT INDEXED", "")


class SqliteFile:
    """One .db3 file; its attributes are those of `McapFile`.

    Raises
    ------
    DataError: the tables of rosbag2 are not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage = ""
        self._readable = self._whole_pages()
        self.topics = self._topics()

    def _whole_pages(self) -> Path:
        """The file to read: the recording, or a copy without its last, incomplete page.

        SQLite would fill that page with zeros, which would pass for measured values.
        """
        with self.path.open("rb") as stream:
            header = stream.read(100)  # https://sqlite.org/fileformat.html, section 1.3
        size = self.path.stat().st_size
        page_size = int.from_bytes(header[16:18], "big")
        page_size = 65536 if page_size == 1 else page_size
        stated = int.from_bytes(header[28:32], "big") * page_size
        if size < stated and header[24:28] == header[92:96]:
            self.damage = f"cut off: {size} of {stated} bytes are there"
        if page_size == 0 or size % page_size == 0:
            return self.path
        folder = tempfile.mkdtemp(prefix="panda_dynamics_")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        whole = Path(shutil.copy(self.path, folder))
        os.truncate(whole, size - size % page_size)
        return whole

    def _topics(self) -> list[Topic]:
        rows, counts = [], Counter[int]()
        with closing(self._connect()) as connection:
            try:
                self._check_tables(connection)
                query = "SELECT id, name, type FROM topics ORDER BY id"
                rows = connection.execute(query).fetchmany(LARGEST_TOPIC_COUNT)
                # NOT INDEXED: in the order of writing, up to the damage.
                for (number,) in connection.execute("SELECT topic_id FROM messages NOT INDEXED"):
                    counts[number] += 1
            except sqlite3.OperationalError as error:
                if self.damage:
                    return []
                raise DataError(f"{self.path}: expected the tables of rosbag2 in this file, got: {error}") from error
            except sqlite3.DatabaseError as error:
                self.damage = self.damage or f"damaged: {error}"
        return [Topic(name, kind, counts[number]) for number, name, kind in rows if {type(name), type(kind)} == {str}]

    def _check_tables(self, connection: sqlite3.Connection) -> None:
        """Refuse views, virtual tables and generated columns: they can compute without end when they are read."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name = ?"
        for name in ("topics", "messages"):
            found = connection.execute(query, (name,)).fetchone()
            if found is None:
                raise sqlite3.OperationalError(f"no such table: {name}")
            if any(hidden for *_, hidden in connection.execute(f"PRAGMA table_xinfo({name})")):
                raise sqlite3.OperationalError(f"generated columns in table {name}")

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """(receive time in ns, serialised message) of a topic: by time, or in the order of writing if damaged."""
        query = _IN_ORDER_OF_WRITING if self.damage else _BY_TIME
        with closing(self._connect()) as connection:
            try:
                for time, data in connection.execute(query, (LARGEST_JOINT_STATE, topic)):
                    # What is no message is passed on as an empty one, which is counted as one that cannot be decoded.
                    sound = isinstance(time, int) and isinstance(data, bytes)
                    yield (time, data) if sound else (0, b"")
            except sqlite3.DatabaseError as error:
                self.damage = self.damage or f"damaged: {error}"

    def _connect(self) -> sqlite3.Connection:
        # `immutable` spares locks and needs no write access, but would leave out what a recorder that was killed
        # left in its write-ahead log.
        log = self._readable.with_name(f"{self._readable.name}-wal")
        immutable = 0 if log.is_file() and log.stat().st_size else 1
        uri = f"{self._readable.resolve().as_uri()}?mode=ro&immutable={immutable}"
        connection = sqlite3.connect(uri, uri=True)
        connection.text_factory = lambda text: text.decode(errors="replace")
        # Without this SQLite refuses a file that is shorter than its header says, whatever can still be read.
        connection.execute("PRAGMA writable_schema = ON")
        return connection
