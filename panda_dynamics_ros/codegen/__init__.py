# SPDX-License-Identifier: Apache-2.0
"""Stand-alone C and Python source of a robot's dynamics, for use where this package is not."""

from panda_dynamics_ros.codegen.functions import FUNCTIONS
from panda_dynamics_ros.codegen.generate import FRICTION, LANGUAGES, GeneratedCode, generate
from panda_dynamics_ros.codegen.program import OperationCount

__all__ = ["FRICTION", "FUNCTIONS", "LANGUAGES", "GeneratedCode", "OperationCount", "generate"]
