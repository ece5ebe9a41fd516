# SPDX-License-Identifier: Apache-2.0
"""Identification of an arm's model from recordings of its motion."""

from panda_dynamics_ros.identification.procedure import Identification, Validation, identify, validate

__all__ = ["Identification", "Validation", "identify", "validate"]
