# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda on MuJoCo, with friction, sensor noise and model error."""

from panda_dynamics_ros.simulation.motion_search import exciting_motion
from panda_dynamics_ros.simulation.motions import FourierMotion
from panda_dynamics_ros.simulation.plant import SimulatedPanda
from panda_dynamics_ros.simulation.realism import Realism

__all__ = ["FourierMotion", "Realism", "SimulatedPanda", "exciting_motion"]
