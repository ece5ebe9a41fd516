# SPDX-License-Identifier: Apache-2.0
"""A residual map in a binary file of its own, beside the YAML file of its arm. Reading it runs no code."""

from __future__ import annotations

import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np

from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError
from panda_dynamics_ros.robot.residual_map import ResidualMap

LARGEST = 4 << 20
"""Bytes: twice what a map of `MOST_POINTS` points takes."""
_ARRAYS = tuple(field.name for field in fields(ResidualMap))


def write_residual_map(residual_map: ResidualMap, path: Path) -> Path:
    """Write a map to a .npz file, whole or not at all, and return the path.

    Raises
    ------
    OSError: it cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial.npz")
    try:
        np.savez(partial, **{name: getattr(residual_map, name) for name in _ARRAYS})
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def read_residual_map(path: Path) -> ResidualMap:
    """The map of a file that `write_residual_map` wrote.

    Raises
    ------
    RobotDescriptionError: there is no such file, or it holds something else; the message names it.
    """
    expected = f"{path}: expected a residual map (of identify --residual-map)"
    try:
        if path.stat().st_size > LARGEST:
            raise RobotDescriptionError(f"{expected} of at most {LARGEST} bytes, got {path.stat().st_size}")
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            # A compressed entry could unpack to any size; what is written here is not compressed.
            if sorted(entry.filename for entry in entries) != sorted(f"{name}.npy" for name in _ARRAYS) or any(
                entry.compress_type != zipfile.ZIP_STORED or entry.file_size > LARGEST for entry in entries
            ):
                raise RobotDescriptionError(f"{expected}, got an archive of something else")
        with np.load(path, allow_pickle=False) as content:
            return ResidualMap(**{name: content[name] for name in _ARRAYS})
    except ArgumentError as error:
        raise RobotDescriptionError(f"{path}: {error}") from error
    except OSError as error:
        raise RobotDescriptionError(f"{expected}, got {error.strerror or error}") from error
    # An array's header is text that NumPy parses: what is no header can raise any of these.
    except (zipfile.BadZipFile, ValueError, TypeError, SyntaxError, EOFError, KeyError, MemoryError) as error:
        if isinstance(error, RobotDescriptionError):
            raise
        raise RobotDescriptionError(f"{expected}, got {' '.join(str(error).split()):.120}") from error
