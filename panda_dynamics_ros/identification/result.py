# SPDX-License-Identifier: Apache-2.0
"""The result of an identification, and validation on recordings that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.identification.regression import STRIBECK_VELOCITY, TRANSITION, PriorScale, friction_slice
from panda_dynamics_ros.identification.rows import prepare
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot import write_robot
from panda_dynamics_ros.robot.friction import Friction
from panda_dynamics_ros.robot.inertial import InertialParameters
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.limits import ResidualModel

_IDENTIFIED = " (identified)"


@dataclass(frozen=True, eq=False)
class Identification:
    """A model of one's own arm, and how good it is.

    Attributes
    ----------
    robot: the identified arm with its friction, residual and the direction of gravity, to use at once.
    prior: the arm that the identification started from.
    base_names: p names of base parameters, as `robot.base_parameters()` of an upright arm has them.
    base_values, base_std: (p,), of the identified arm; kg, kg m or kg m^2.
    friction_names, friction_std: 4 n terms beside the prior's friction, and their standard deviations.
    torque_rms, prior_torque_rms: (n,), N m, of measured minus modelled torque on the fitted rows.
    cross_validated_rms: (n,), N m, on blocks that were held out; nan where the recording is too short for that.
    cross_validated_time: (n,), s, correlation time of their residual, by the variance of its means over 1 s.
    condition_number: of the stacked base regressor.
    not_identified: names of the parameters that the motion does not determine; they keep the prior's values.
    problems: sentences on why the recording does not look like one of the unloaded arm; empty for a plausible one.
    prior_scale: factors on the prior's standard deviations, by group of parameters, as cross-validation chose.
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
    cross_validated_time: FloatArray
    condition_number: float
    not_identified: tuple[str, ...]
    problems: tuple[str, ...]
    prior_scale: PriorScale
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

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the identified arm to a .yaml file for `load_robot`, and return the path.

        Parameters
        ----------
        force: write an arm with `problems`, too.

        Raises
        ------
        ArgumentError: `path` does not end in .yaml, or cannot be written.
        DataError: there are `problems`, and no `force`.
        """
        if self.problems and not force:
            raise DataError(f"{'; '.join(self.problems)}; nothing is written without force (--force)")
        rms = ", ".join(f"{value:.3f}" for value in self.torque_rms)
        held_out = ", ".join(f"{value:.3f}" for value in self.cross_validated_rms)
        return write_robot(
            self.robot,
            path,
            f"Identified from {self.samples} rows, starting from {self.prior.name}.\n"
            f"Torque RMS in N m: {rms}; cross-validated: {held_out}.",
        )


def identified_robot(prior: RobotModel, x: FloatArray, residual: ResidualModel) -> RobotModel:
    """The prior with the changes x (p,) of the linear model: links, friction, direction of gravity.

    Where prior and change both have a Coulomb step, the sum has the identified width; the prior's own share is exact
    where it has none, or where its width is the same. So it is with the Stribeck velocity.
    """
    place, old = friction_slice(prior.n), prior.friction
    bodies, terms = (x[: place.start] + prior.inertial_vector).reshape(prior.n, -1), x[place].reshape(prior.n, -1)
    viscous, coulomb, offset, stribeck = terms.T
    size = float(np.linalg.norm(prior.gravity))
    leaning = prior.gravity + size * np.append(x[place.stop :], 0.0)
    return replace(
        prior,
        name=f"{prior.name.removesuffix(_IDENTIFIED)}{_IDENTIFIED}",
        links=tuple(InertialParameters.from_vector(vector) for vector in bodies),
        friction=replace(
            old,
            viscous=old.viscous + viscous,
            coulomb=old.coulomb + coulomb,
            offset=old.offset + offset,
            transition=np.where((coulomb != 0.0) | (stribeck != 0.0), TRANSITION, old.transition),
            stribeck=old.stribeck + stribeck,
            stribeck_velocity=np.where(stribeck != 0.0, STRIBECK_VELOCITY, old.stribeck_velocity),
        ),
        gravity=leaning * (size / float(np.linalg.norm(leaning))),
        residual=residual,
        residual_map=None,  # one of the prior's is of what the prior left
    )


GRAVITY_ONLY = "gravity only"


@dataclass(frozen=True, eq=False)
class Validation:
    """Torques of one recording.

    Attributes
    ----------
    source: where the recording came from.
    time: (N,), s, from the first row on.
    measured: (N, n), N m, filtered as for an identification.
    predicted: (N, n), N m, by the name of the model.
    """

    source: str
    time: FloatArray
    measured: FloatArray
    predicted: dict[str, FloatArray]

    def torque_rms(self, model: str) -> FloatArray:
        """RMS (n,) of measured minus predicted torque, N m."""
        return np.sqrt(((self.measured - self.predicted[model]) ** 2).mean(axis=0))


def validate(recording: JointDataset, models: dict[str, RobotModel]) -> Validation:
    """The torques that each of the `models` predicts, beside gravity only (of the first).

    Raises
    ------
    DataError: the recording is too short.
    ArgumentError: there is no model, or a model has another number of joints.
    """
    if not models:
        raise ArgumentError("models: expected at least one, got none")
    rows = prepare(recording)
    first = next(iter(models.values()))
    predicted = {GRAVITY_ONLY: first.gravity_torques(rows.q)}
    for name, robot in models.items():
        predicted[name] = robot.inverse_dynamics(rows.q, rows.dq, rows.ddq) + robot.friction_torques(rows.dq, rows.s)
    return Validation(recording.source, rows.stamp - rows.stamp[0], rows.tau, predicted)
