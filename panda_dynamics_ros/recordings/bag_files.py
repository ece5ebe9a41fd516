# SPDX-License-Identifier: Apache-2.0
"""The files of a recording: one file or a folder, with or without metadata.yaml, split, compressed."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import yaml

from panda_dynamics_ros.errors import DataError, DataFileNotFoundError
from panda_dynamics_ros.recordings import mcap_file, rosbag2, sqlite_file
from panda_dynamics_ros.recordings.limits import FREE_EXPANSION, LARGEST_EXPANSION, LARGEST_METADATA, MEBIBYTE
from panda_dynamics_ros.recordings.rosbag2 import BagFile

EXPECTED = "expected a rosbag2 recording (.db3, .mcap or its folder)"
INFORMATION = "rosbag2_bagfile_information"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_KINDS: tuple[tuple[bytes, Callable[[Path], BagFile]], ...] = (
    (sqlite_file.MAGIC, sqlite_file.SqliteFile),
    (mcap_file.MAGIC, mcap_file.McapFile),
)
_STORAGE = re.compile(r".*(\.db3|\.mcap)(\.zstd)?")


def open_recording(path: Path) -> tuple[list[BagFile], list[str]]:
    """The files of the recording at `path` in the order of recording, and what is known to be missing.

    Raises
    ------
    DataFileNotFoundError: there is no such file or folder, or none of those its metadata.yaml lists.
    DataError: it is not a rosbag2 recording.
    """
    if not path.exists():
        raise DataFileNotFoundError(f"{path}: {EXPECTED}, got no such file")
    folder = path.parent if path.name == "metadata.yaml" else path
    if not folder.is_dir():
        return [_open_file(path)], _changed([path], _metadata(path.with_name("metadata.yaml")))
    content = _metadata(folder / "metadata.yaml")
    listed = _listed_files(content)
    if not listed:
        return [_open_file(file) for file in _found_files(folder)], []
    missing = [name for name in listed if not (folder / name).is_file()]
    if len(missing) == len(listed):
        raise DataFileNotFoundError(
            f"{folder}: expected the files that metadata.yaml lists, got none of {', '.join(missing)}"
        )
    notes = [f"{folder.name}: {name} is missing, which metadata.yaml lists" for name in missing]
    present = [folder / name for name in listed if name not in missing]
    return [_open_file(file) for file in present], notes + _changed(present, content)


def record_checksum(file: Path) -> None:
    """Note the checksum of a storage file in the metadata.yaml beside it, since sqlite3 files have none themselves."""
    metadata = file.with_name("metadata.yaml")
    content = yaml.safe_load(metadata.read_text(encoding="utf-8"))
    content[INFORMATION]["custom_data"] = {_key(file): _checksum(file)}
    metadata.write_text(yaml.safe_dump(content), encoding="utf-8")


def _changed(files: Sequence[Path], metadata: dict[str, Any]) -> list[str]:
    """A note on each file whose checksum is another than the one in the metadata, if that has one."""
    written = metadata["custom_data"]
    changed = [file for file in files if _key(file) in written and written[_key(file)] != _checksum(file)]
    return [f"{file.name} is not as it was written (checksum): values may be wrong" for file in changed]


def _key(file: Path) -> str:
    return f"crc32 of {file.name}"


def _checksum(file: Path) -> str:
    checksum = 0
    with file.open("rb") as stream:
        while block := stream.read(MEBIBYTE):
            checksum = zlib.crc32(block, checksum)
    return f"{checksum:08x}"


def _metadata(file: Path) -> dict[str, Any]:
    """What a metadata.yaml says of its recording; nothing where it is absent, unfinished, or something else."""
    nothing: dict[str, Any] = {"relative_file_paths": [], "custom_data": {}}
    with suppress(OSError, yaml.YAMLError, TypeError, KeyError, ValueError, RecursionError):
        if file.stat().st_size <= LARGEST_METADATA:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))[INFORMATION]
            custom = content.get("custom_data")
            return nothing | content | {"custom_data": custom if isinstance(custom, dict) else {}}
    return nothing


def _listed_files(content: dict[str, Any]) -> list[str]:
    """The names of a recording's files, in the order of recording."""
    with suppress(TypeError, ValueError):
        return [PurePosixPath(name).name for name in content["relative_file_paths"]]  # first versions: folder/name
    return []


def _found_files(folder: Path) -> list[Path]:
    """The storage files of a folder without metadata, part 2 before part 10."""
    found = [file for file in folder.iterdir() if _STORAGE.fullmatch(file.name) and file.is_file()]
    if not found:
        raise DataError(f"{folder}: {EXPECTED}, got a folder without .db3 or .mcap files")
    if len({_STORAGE.fullmatch(file.name)[1] for file in found}) > 1:  # type: ignore[index]
        names = ", ".join(sorted(file.name for file in found))
        raise DataError(f"{folder}: expected files of one recording, got {names}: name the one to read")
    return sorted(
        found, key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)]
    )


def _open_file(path: Path) -> BagFile:
    """A storage file, by its first bytes."""
    try:
        with path.open("rb") as stream:
            beginning = stream.read(32)
    except OSError as error:
        raise DataError(f"{path}: {EXPECTED}, got: {error.strerror}") from error
    if beginning.startswith(ZSTD_MAGIC):
        return _open_compressed(path)
    for magic, kind in _KINDS:
        if beginning.startswith(magic):
            return kind(path)
    if not beginning:
        raise DataError(f"{path}: {EXPECTED}, got an empty file")
    if beginning.startswith(b"#ROSBAG"):
        raise DataError(f"{path}: {EXPECTED}, got a ROS 1 bag: convert it with rosbags-convert")
    raise DataError(f"{path}: {EXPECTED}, got a file that begins with {beginning[:16]!r}")


def _open_compressed(path: Path) -> BagFile:
    """A file that was compressed as a whole, unpacked into a temporary folder that goes with the returned object."""
    folder = tempfile.mkdtemp(prefix="panda_dynamics_")
    unpacked = Path(folder) / path.name.removesuffix(".zstd")
    try:
        with path.open("rb") as source, unpacked.open("wb") as target:
            _decompress(source, target)
        with unpacked.open("rb") as stream:
            if stream.read(4) == ZSTD_MAGIC:
                raise DataError(f"{path}: {EXPECTED}, got a file that was compressed twice")
        file = _open_file(unpacked)
    except BaseException as error:  # also where the disk is full, or on Ctrl-C
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, DataError):
            raise DataError(str(error).replace(str(unpacked), str(path))) from error
        raise
    weakref.finalize(file, shutil.rmtree, folder, ignore_errors=True)
    return file


def _decompress(source: BinaryIO, target: BinaryIO) -> None:
    """All that can be decompressed: where the source is cut, so will be the target.

    Raises
    ------
    DataError: the content unpacks to more than any recording does.
    """
    zstd = rosbag2.zstd()
    decompressor = zstd.ZstdDecompressor()
    with suppress(zstd.ZstdError):
        while block := source.read(1 << 20):
            while block or not decompressor.needs_input:
                target.write(decompressor.decompress(block, max_length=MEBIBYTE))
                if target.tell() > max(FREE_EXPANSION, LARGEST_EXPANSION * source.tell()):
                    raise DataError(
                        f"{target.name}: expected a recording, got {source.tell()} bytes that unpack to more than "
                        f"{target.tell() // MEBIBYTE} MiB"
                    )
                block = b""
                if decompressor.eof:  # the end of a frame; there may be another
                    block, decompressor = decompressor.unused_data, zstd.ZstdDecompressor()
