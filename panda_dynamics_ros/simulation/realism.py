# SPDX-License-Identifier: Apache-2.0
"""How far the simulated arm departs from the estimator's model."""

from __future__ import annotations

from dataclasses import dataclass, field

from panda_dynamics_ros import checks
from panda_dynamics_ros.simulation.sensors import SensorLevels


@dataclass(frozen=True)
class Realism:
    """Imperfections of the simulated arm; `Realism()` is at the real arm's level, `Realism.ideal()` has none.

    The torque that the model leaves unexplained has the RMS `residual * robot.residual.std` per joint, in
    two parts: `disturbance_share` of it (in std) is a coloured disturbance that no model explains, the rest
    comes from wrong inertias, friction and offsets and repeats with the motion. One half is what the real log
    shows: a model identified on the very motion leaves .128 .205 .141 .140 .070 .029 .046 N m of the published
    model's .257 .576 .238 .293 .149 .096 .067, a median of 0.48. What such a model leaves is quicker than the whole:
    on held-out blocks of the real log it stays the same for a median of 0.2 s (`benchmarks/identification.py` prints
    that), where what the published model leaves does so for 0.4 to 0.9 s.

    Attributes
    ----------
    residual: scale of the whole, 1 for the real level; 0 for a plant that is the model.
    disturbance_share: 0..1.
    disturbance_time: correlation time of the disturbance, in units of `robot.residual.correlation_time`.
    mass_error, shape_error: relative std of each link's mass and of its extension in each direction.
    com_error: m, std of each coordinate of each link's centre of mass. The three are scaled down together
        where they alone would exceed the residual.
    link_friction: whether there is friction between torque sensor and link at all.
    sensors: levels of noise, lag and offsets.

    Raises
    ------
    ArgumentError: a level is negative, not finite, or a share above 1.
    """

    residual: float = 1.0
    disturbance_share: float = 0.5
    disturbance_time: float = 0.4
    mass_error: float = 0.03
    shape_error: float = 0.03
    com_error: float = 0.003
    link_friction: bool = True
    sensors: SensorLevels = field(default_factory=SensorLevels)

    def __post_init__(self) -> None:
        checks.number(self.residual, "residual", minimum=0.0)
        checks.number(self.disturbance_share, "disturbance_share", minimum=0.0, maximum=1.0)
        checks.number(self.disturbance_time, "disturbance_time", minimum=0.01, maximum=10.0)
        for name in ("mass_error", "shape_error", "com_error"):
            checks.number(getattr(self, name), name, minimum=0.0, maximum=0.3)

    @classmethod
    def ideal(cls) -> Realism:
        """The model itself, without link-side friction, and sensors that tell the truth."""
        return cls(residual=0.0, disturbance_share=0.0, link_friction=False, sensors=SensorLevels.ideal())
