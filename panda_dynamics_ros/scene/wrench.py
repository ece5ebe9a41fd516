# SPDX-License-Identifier: Apache-2.0
"""A contact wrench as shapes: force and moment as arrows at the point where they act."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.scene.shapes import Arrow, Colour, Label, Shape, along, translation

PER_NEWTON, PER_NEWTON_METRE, LONGEST = 0.008, 0.04, 0.6  # m
SMALLEST_FORCE, SMALLEST_MOMENT = 1.0, 0.3  # N, N m
FORCE: Colour = (0.75, 0.10, 0.55, 1.0)
MOMENT: Colour = (0.45, 0.25, 0.75, 1.0)


@dataclass(frozen=True, eq=False)
class ContactWrench:
    """What the surroundings do to the arm: force (3,), N, and moment (3,), N m, at `point` (3,), m, in base axes."""

    point: FloatArray
    force: FloatArray
    moment: FloatArray = field(default_factory=lambda: np.zeros(3))


def wrench_shapes(wrench: ContactWrench) -> tuple[Shape, ...]:
    """The force as an arrow that ends at the point, the moment as one that begins there; layer `contact`, in base.

    8 mm stand for a newton, 4 cm for a newton metre, up to 0.6 m; less than 1 N or 0.3 N m is not drawn.
    """
    shapes: list[Shape] = []
    force, moment = (float(np.linalg.norm(vector)) for vector in (wrench.force, wrench.moment))
    if force > SMALLEST_FORCE:
        length = min(PER_NEWTON * force, LONGEST)
        tail = wrench.point - wrench.force * (length / force)
        shapes.append(Arrow("contact/force", "base", along(wrench.force, tail), FORCE, length, 0.008))
        label = translation(tail + np.array([0.0, 0.0, 0.04]))
        shapes.append(Label("contact/size", "base", label, FORCE, f"{force:.0f} N", 0.035))
    if moment > SMALLEST_MOMENT:
        length = min(PER_NEWTON_METRE * moment, LONGEST)
        shapes.append(Arrow("contact/moment", "base", along(wrench.moment, wrench.point), MOMENT, length, 0.006))
    return tuple(shapes)
