# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda on MuJoCo, with friction, sensor noise and model error."""

from panda_dynamics_ros.simulation.disturbance import OrnsteinUhlenbeck
from panda_dynamics_ros.simulation.fourier_motion import FourierMotion
from panda_dynamics_ros.simulation.mjcf import mujoco_model
from panda_dynamics_ros.simulation.motion_search import exciting_motion
from panda_dynamics_ros.simulation.plant import Measurement, SimulatedPanda
from panda_dynamics_ros.simulation.realism import Realism, SensorLevels
from panda_dynamics_ros.simulation.scenario import (
    ResidualReport,
    Scenario,
    SimulatedRun,
    measure_residual,
    run_scenario,
)

__all__ = [
    "FourierMotion",
    "Measurement",
    "OrnsteinUhlenbeck",
    "Realism",
    "ResidualReport",
    "Scenario",
    "SensorLevels",
    "SimulatedPanda",
    "SimulatedRun",
    "exciting_motion",
    "measure_residual",
    "mujoco_model",
    "run_scenario",
]
