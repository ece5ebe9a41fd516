# SPDX-License-Identifier: Apache-2.0
"""Kinematics on SymPy symbols, by the product of exponentials (document 002)::

    import panda_dynamics_ros as pdr
    import sympy
    from panda_dynamics_ros import symbolic

    chain = symbolic.exact_chain(pdr.load_robot("panda"))
    q = sympy.symbols("q_1:8", real=True)
    T = sympy.Matrix(chain.pose(q, "joint3"))
    sympy.simplify(T), T.diff(q[0]), T.subs(dict(zip(q, [0.1] * 7)))

Results are arrays of expressions; simplification, substitution and derivatives are SymPy's. SymPy is
optional: `pip install sympy`; without it, this room cannot be imported.
"""

from panda_dynamics_ros.errors import MissingDependencyError

try:
    import sympy  # noqa: F401
except ImportError as error:
    raise MissingDependencyError("symbolic expressions need SymPy: pip install sympy") from error

from panda_dynamics_ros.symbolic.product_of_exponentials import ScrewChain, exact_chain

__all__ = ["ScrewChain", "exact_chain"]
