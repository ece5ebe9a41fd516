# SPDX-License-Identifier: Apache-2.0
"""How a description draws an arm: which mesh lies where, and where its file is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.untrusted import is_file

Colour = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Visual:
    """A mesh that belongs to an arm's frame.

    Attributes
    ----------
    frame: one of the arm's frames; in a `Tree`, the link.
    T: (4, 4), T_frame_mesh.
    uri: of the file, as the description has it: `package://`, `file://` or a path.
    scale: (3,), of the file's coordinates.
    colour: red, green, blue and opacity in [0, 1]; None: the file's own.
    folder: of the description, from which a path is relative; None of a text.
    triangles: vertices (V, 3), m, and indices (F, 3) of three for each face, where the description has them itself.
    """

    frame: str
    T: FloatArray
    uri: str
    scale: FloatArray
    colour: Colour | None
    folder: Path | None
    triangles: tuple[FloatArray, NDArray[np.int64]] | None = None

    def file(self) -> Path | None:
        """The file, or None where it is not to be found.

        Packages are looked for as ROS does (AMENT_PREFIX_PATH, ROS_PACKAGE_PATH), above the description, and among the
        data of this Python environment.
        """
        scheme, separator, rest = self.uri.partition("://")
        name = unquote(rest if separator else self.uri)
        if not separator or scheme == "file":
            places = iter([(self.folder or Path()) / name])
        else:
            places = (folder / name.lstrip("/") for folder in self._package_folders() if scheme == "package")
        return next((place for place in places if is_file(place)), None)

    def _package_folders(self) -> Iterator[Path]:
        """Folders in which packages lie."""
        for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            yield Path(prefix) / "share"
        yield from map(Path, filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)))
        if self.folder is not None:
            yield from self.folder.resolve().parents
        yield from data_folders()


def data_folders() -> Iterator[Path]:
    """Where packages of PyPI put the data of robots: `share` of the environment, and of cmeel within it."""
    yield Path(sys.prefix) / "share"
    for place in sys.path:
        yield Path(place) / "cmeel.prefix" / "share"
