# SPDX-License-Identifier: Apache-2.0
"""How well models predict the torques of a recording that none of them was fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.identification.preprocessing import prepare
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.samples.joint_dataset import JointDataset

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
        predicted[name] = robot.inverse_dynamics(rows.q, rows.dq, rows.ddq) + robot.friction_torques(rows.dq)
    return Validation(recording.source, rows.stamp - rows.stamp[0], rows.tau, predicted)
