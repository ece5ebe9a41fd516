# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda on MuJoCo that is honest about friction, noise and model error."""

from panda_dynamics_ros.motion.excitation import Excitation
from panda_dynamics_ros.motion.payload_motion import exciting_motion
from panda_dynamics_ros.simulation.disturbance import OrnsteinUhlenbeck
from panda_dynamics_ros.simulation.mjcf import mujoco_model
from panda_dynamics_ros.simulation.plant import Measurement, SimulatedPanda
from panda_dynamics_ros.simulation.realism import Realism
from panda_dynamics_ros.simulation.residual import ResidualReport, measure_residual
from panda_dynamics_ros.simulation.scenario import Recording, Scenario, run_scenario
from panda_dynamics_ros.simulation.sensors import SensorLevels

__all__ = [
    "Excitation",
    "Measurement",
    "OrnsteinUhlenbeck",
    "Realism",
    "Recording",
    "ResidualReport",
    "Scenario",
    "SensorLevels",
    "SimulatedPanda",
    "exciting_motion",
    "measure_residual",
    "mujoco_model",
    "run_scenario",
]
