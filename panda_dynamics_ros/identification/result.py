# SPDX-License-Identifier: Apache-2.0
"""What an identification has found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.prior_scales import Trust
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot import write_robot
from panda_dynamics_ros.robot.friction import Friction


@dataclass(frozen=True, eq=False)
class Identification:
    """A model of one's own arm, and how good it is.

    Attributes
    ----------
    robot: the identified arm with its friction, residual and the direction of gravity, to use at once.
    prior: the arm it started from.
    base_names: p names of base parameters, as `robot.base_parameters()` of an upright arm has them.
    base_values, base_std: (p,), of the identified arm; kg, kg m or kg m^2.
    friction_names, friction_std: 3 n terms beside the prior's friction, and their standard deviations.
    torque_rms, prior_torque_rms: (n,), N m, of measured minus modelled torque on the fitted rows.
    cross_validated_rms: (n,), N m, on blocks that were held out; nan where the recording is too short for that.
    condition_number: of the stacked base regressor.
    not_identified: names of what the motion does not show; their values are the prior's.
    trust: how far the prior was left, by group, as cross-validation chose.
    samples, outliers: rows that were fitted, and recorded samples that were replaced.
    """

    robot: RobotModel
    prior: RobotModel
    base_names: tuple[str, ...]
    base_values: FloatArray
    base_std: FloatArray
    friction_names: tuple[str, ...]
    friction_std: FloatArray
    torque_rms: FloatArray
    prior_torque_rms: FloatArray
    cross_validated_rms: FloatArray
    condition_number: float
    not_identified: tuple[str, ...]
    trust: Trust
    samples: int
    outliers: int

    @property
    def friction(self) -> Friction:
        """Of the identified arm."""
        return self.robot.friction

    @property
    def relative_sigma(self) -> FloatArray:
        """Standard deviation of each base parameter as a share of its size, (p,); inf for zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.base_std / np.abs(self.base_values)

    @property
    def tilt(self) -> FloatArray:
        """Angles (2,) by which gravity leans to the base's x and y, rad."""
        gravity = self.robot.gravity
        return np.arctan2(gravity[:2], np.linalg.norm(gravity))

    def save(self, path: str | Path) -> Path:
        """Write the identified arm to a .yaml file for `load_robot`, and return the path.

        Raises
        ------
        ArgumentError: `path` does not end in .yaml, or cannot be written.
        """
        rms = ", ".join(f"{value:.3f}" for value in self.torque_rms)
        held_out = ", ".join(f"{value:.3f}" for value in self.cross_validated_rms)
        return write_robot(
            self.robot,
            path,
            f"Identified from {self.samples} rows, starting from {self.prior.name}.\n"
            f"Torque RMS in N m: {rms}; cross-validated: {held_out}.",
        )
