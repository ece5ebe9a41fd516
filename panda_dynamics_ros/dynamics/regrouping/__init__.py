# SPDX-License-Identifier: Apache-2.0
"""Minimum inertial parameters: the direct method of Gautier and Khalil 1988 (document 004)."""

from panda_dynamics_ros.dynamics.regrouping.base_parameters import BaseParameters, base_parameters, parameter_symbols
from panda_dynamics_ros.dynamics.regrouping.energy import inertial_transport

__all__ = ["BaseParameters", "base_parameters", "inertial_transport", "parameter_symbols"]
