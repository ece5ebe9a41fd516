# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda on MuJoCo, with friction, sensor noise and model error."""

from panda_dynamics_ros.simulation.motion_search import exciting_motion
from panda_dynamics_ros.simulation.motions import FourierMotion
from panda_dynamics_ros.simulation.plant import SimulatedPanda, SimulatedRun, mujoco_model
from panda_dynamics_ros.simulation.realism import OrnsteinUhlenbeck, Realism, SensorLevels

__all__ = [
    "FourierMotion",
    "OrnsteinUhlenbeck",
    "Realism",
    "SensorLevels",
    "SimulatedPanda",
    "SimulatedRun",
    "exciting_motion",
    "mujoco_model",
]
