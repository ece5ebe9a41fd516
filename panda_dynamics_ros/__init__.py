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

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "errors": ("PandaDynamicsError",),
    "estimation": ("ArmMonitor", "PayloadEstimate", "PayloadEstimator", "Shape", "learn_residual"),
    "estimation.paired_runs": ("PairedRuns", "weigh_paired_runs"),
    "identification": ("Identification", "identify"),
    "dynamics.model": ("RobotModel", "load_robot"),
    "recordings.dataset": ("load_dataset",),
    "reporting.replay": ("replay",),
    "robot": ("InertialParameters", "write_robot"),
    "robot.joint_dataset": ("JointDataset",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(["pose", *_HOME_OF])


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: a node needs neither identification nor recordings, which take longest."""
    if name == "pose":
        return import_module(f"{__name__}.pose")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
