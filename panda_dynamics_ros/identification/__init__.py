# SPDX-License-Identifier: Apache-2.0
"""From recordings of one's own arm to its model, and to motions worth recording."""

from panda_dynamics_ros.identification.procedure import identify
from panda_dynamics_ros.identification.result import Identification, Validation, validate
from panda_dynamics_ros.identification.static_poses import identify_gravity

__all__ = ["Identification", "Validation", "identify", "identify_gravity", "validate"]
