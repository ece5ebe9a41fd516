# SPDX-License-Identifier: Apache-2.0
"""Stand-alone C and Python source of a robot's dynamics, for use where this package is not.

Expressions are kept in a graph in which equal ones are one (`codegen.graph`), and not as SymPy's: SymPy flattens sums
and products, which loses what the recursions share. For the Panda's inverse dynamics, `sympy.cse` of the same recursion
leaves 833 products and 635 sums; the graph has 308 and 285.
"""

from panda_dynamics_ros.codegen.algorithms import FUNCTIONS
from panda_dynamics_ros.codegen.generate import FRICTION, LANGUAGES, GeneratedCode, generate
from panda_dynamics_ros.codegen.graph import OperationCount

__all__ = ["FRICTION", "FUNCTIONS", "LANGUAGES", "GeneratedCode", "OperationCount", "generate"]
