# SPDX-License-Identifier: Apache-2.0
"""Kinematics on SymPy symbols, by the product of exponentials (document 002)::

    import panda_dynamics_ros as pdr
    from panda_dynamics_ros import symbolic
    from panda_dynamics_ros.symbolic import product_of_exponentials as poe

    chain = symbolic.exact_chain(pdr.load_robot("panda"))
    q = symbolic.joint_symbols(7)
    T = symbolic.simplified(poe.pose(chain, q, "joint3"))      # an array of expressions

SymPy is optional: `pip install sympy`.
"""

from panda_dynamics_ros.symbolic.arms import DocumentPanda, document_panda, exact_chain, joint_symbols
from panda_dynamics_ros.symbolic.calculus import (
    jacobian_from_velocity,
    normal_form,
    simplified,
    substituted,
    time_derivative,
)

__all__ = [
    "DocumentPanda",
    "document_panda",
    "exact_chain",
    "jacobian_from_velocity",
    "joint_symbols",
    "normal_form",
    "simplified",
    "substituted",
    "time_derivative",
]
