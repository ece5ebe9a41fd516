# SPDX-License-Identifier: Apache-2.0
"""Places for labels: beside and above what they name, and clear of the arm and of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.reporting.scene.primitives import Arrow, Capsule, Label, Primitive, translation

CAMERA_AZIMUTH = 0.7  # rad, from which the layout for RViz looks: a label in front of the arm is not hidden by it
DISTANCES = (0.2, 0.3, 0.4, 0.55)  # m, from what is named
ELEVATIONS = (0.7, 0.3, 1.2)  # rad
WIDTH = 0.55  # of a character, in heights
MARGIN = 0.04  # m: links are thicker than the capsules that stand for them, by as much at the Panda's wrist


def label_radius(text: str, height: float) -> float:
    """Of the ball, m, that a text stays in from wherever it is looked at."""
    return 0.5 * WIDTH * height * len(text)


class FreePlaces:
    """Finds a free place for one label after the other.

    Parameters
    ----------
    frames: T_base_frame (4, 4) by name.
    primitives: whose capsules and arrows labels keep clear of.
    """

    def __init__(self, frames: Mapping[str, FloatArray], primitives: Sequence[Primitive]) -> None:
        solids = [(frames[each.frame] @ each.T, each) for each in primitives if isinstance(each, Capsule | Arrow)]
        ends = [_ends(T, each) for T, each in solids]
        self._starts = np.array([start for start, _ in ends]).reshape(-1, 3)
        self._ways = np.array([end for _, end in ends]).reshape(-1, 3) - self._starts
        self._radii = np.array([each.radius + MARGIN for _, each in solids])

    def of(self, label: Label, anchor: FloatArray) -> Label:
        """The label in base at a free place near `anchor` (3,), m, in base; later ones keep clear of it."""
        radius = label_radius(label.text, label.height)
        position = self.find(anchor, radius)
        self._starts = np.vstack((self._starts, position))
        self._ways = np.vstack((self._ways, np.zeros(3)))
        self._radii = np.append(self._radii, radius)
        return replace(label, frame="base", T=translation(position))

    def find(self, anchor: FloatArray, radius: float) -> FloatArray:
        """The nearest free place (3,) of a ball; where none is free, that with the most room."""
        places = anchor + DIRECTIONS
        room = self.clearance(places) - radius
        free = np.flatnonzero(room > 0.0)
        place: FloatArray = places[free[0] if len(free) else np.argmax(room)]
        return place

    def clearance(self, points: FloatArray) -> FloatArray:
        """Distances (k,), m, of points (k, 3) from the surface of what is nearest."""
        from_start = points[:, None] - self._starts
        squares = np.maximum((self._ways**2).sum(axis=-1), 1e-12)
        share = np.clip((from_start * self._ways).sum(axis=-1) / squares, 0.0, 1.0)
        distances = np.linalg.norm(from_start - share[..., None] * self._ways, axis=-1)
        nearest: FloatArray = (distances - self._radii).min(axis=1)
        return nearest


def _ends(T: FloatArray, solid: Capsule | Arrow) -> tuple[FloatArray, FloatArray]:
    """Ends of the middle line of a capsule or an arrow."""
    low, high = (0.0, solid.length) if isinstance(solid, Arrow) else (-0.5 * solid.length, 0.5 * solid.length)
    return T[:3, 3] + low * T[:3, 2], T[:3, 3] + high * T[:3, 2]


def _directions() -> FloatArray:
    """Ways (k, 3), m, from what is named to the places that are tried: near ones first, those to the camera first."""
    turns = np.array([0.0, 0.4, -0.4, 0.8, -0.8, 1.2, -1.2, 1.6, -1.6, 2.0, -2.0, 2.4, -2.4, 2.8, -2.8])
    r, elevation, turn = (
        grid.ravel() for grid in np.meshgrid(DISTANCES, ELEVATIONS, CAMERA_AZIMUTH + turns, indexing="ij")
    )
    along = r * np.cos(elevation)
    return np.column_stack((along * np.cos(turn), along * np.sin(turn), r * np.sin(elevation)))


DIRECTIONS = _directions()
