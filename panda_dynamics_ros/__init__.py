# SPDX-License-Identifier: Apache-2.0
"""Online dynamics and payload estimation for the Franka Panda, FER and FR3.

Conventions, used everywhere in this package
--------------------------------------------
- SI units, radians, float64. Time is in seconds and comes in as an argument, from message stamps.
- `T_a_b` maps coordinates in frame b to frame a; adjacent letters cancel:
  `T_base_ee = T_base_flange @ T_flange_ee`.
- Frames: `base` (link0), `joint1` .. `joint7` (modified DH), `flange` (link8, joint7 + 0.107 m in z), `ee`.
- Twists, Jacobians and wrenches: linear part first, in base axes, at the frame's origin.
- Inertial vector of a body in a frame: `(m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz)`, inertia about
  the frame's origin. `InertialParameters` holds `mass`, `com`, `inertia` (3x3, about the CoM).
- Quaternions are x, y, z, w. Gravity is (0, 0, -9.81) m/s^2 in base; `gravity_torques` hold the arm still.
- Leading dimensions broadcast: a function of `q` takes (7,) or (..., 7).
- Bad input raises a subclass of `PandaDynamicsError` that names the argument, what was expected, what came.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_HOME_OF = {alias.name: str(node.module) for node in _IMPORTS for alias in node.names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a public name, which `__init__.pyi` lists, at its first use: a node needs few, and all take long."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME_OF[name]
    value = import_module(f"{home}.{name}") if home == __name__ else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
