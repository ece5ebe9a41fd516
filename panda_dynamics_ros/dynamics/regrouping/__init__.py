# SPDX-License-Identifier: Apache-2.0
"""Minimum inertial parameters: the direct method of document 004, one step in each file."""

from panda_dynamics_ros.dynamics.regrouping.base_parameters import BaseParameters, base_parameters
from panda_dynamics_ros.dynamics.regrouping.closed_form import parameter_symbols
from panda_dynamics_ros.dynamics.regrouping.energy import inertial_transport

__all__ = ["BaseParameters", "base_parameters", "inertial_transport", "parameter_symbols"]
