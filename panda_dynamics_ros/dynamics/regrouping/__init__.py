# SPDX-License-Identifier: Apache-2.0
"""Minimum inertial parameters: the direct method of document 004, one step in each file."""

from panda_dynamics_ros.dynamics.regrouping.base_parameters import BaseParameters, base_parameters
from panda_dynamics_ros.dynamics.regrouping.closed_form import parameter_symbols

__all__ = ["BaseParameters", "base_parameters", "parameter_symbols"]
