# SPDX-License-Identifier: Apache-2.0
"""A contact wrench at the flange as shapes: an arrow each for force and moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.scene.shapes import Arrow, Colour, Label, Shape, along, translation

PER_NEWTON, PER_NEWTON_METRE, LONGEST = 0.008, 0.04, 0.6  # m
SMALLEST_FORCE, SMALLEST_MOMENT = 3.0, 1.0  # N, N m: about what an arm at rest makes of its model's errors
FORCE: Colour = (0.75, 0.10, 0.55, 1.0)
MOMENT: Colour = (0.45, 0.25, 0.75, 1.0)


def wrench_shapes(wrench: ArrayLike, point: FloatArray) -> tuple[Shape, ...]:
    """The force as an arrow that ends at the point, the moment as one that begins there; layer `contact`, in base.

    Parameters
    ----------
    wrench: (6,), N and N m, force first, in base axes: what the surroundings do to the arm. 8 mm stand for a
        newton, 4 cm for a newton metre, up to 0.6 m; less than 3 N or 1 N m is not drawn.
    point: (3,), m, in base, where it acts.

    Raises
    ------
    ArgumentError: `wrench` is not a finite (6,) array.
    """
    force, moment = np.split(checks.exactly(wrench, (6,), "wrench"), 2)
    shapes: list[Shape] = []
    size = float(np.linalg.norm(force))
    if size > SMALLEST_FORCE:
        length = min(PER_NEWTON * size, LONGEST)
        tail = point - force * (length / size)
        shapes.append(Arrow("contact/force", "base", along(force, tail), FORCE, length, 0.008))
        label = translation(tail + np.array([0.0, 0.0, 0.04]))
        shapes.append(Label("contact/size", "base", label, FORCE, f"{size:.0f} N", 0.035))
    size = float(np.linalg.norm(moment))
    if size > SMALLEST_MOMENT:
        length = min(PER_NEWTON_METRE * size, LONGEST)
        shapes.append(Arrow("contact/moment", "base", along(moment, point), MOMENT, length, 0.006))
    return tuple(shapes)
