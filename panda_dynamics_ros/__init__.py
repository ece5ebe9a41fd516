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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panda_dynamics_ros import pose
    from panda_dynamics_ros.errors import PandaDynamicsError
    from panda_dynamics_ros.estimation import (
        ArmMonitor,
        ContactDetector,
        MomentumObserver,
        PayloadEstimate,
        PayloadEstimator,
        Shape,
        learn_residual,
    )
    from panda_dynamics_ros.estimation.paired_runs import PairedRuns, weigh_paired_runs
    from panda_dynamics_ros.identification import Identification, identify
    from panda_dynamics_ros.model import RobotModel, load_robot
    from panda_dynamics_ros.recordings.dataset import load_dataset
    from panda_dynamics_ros.recordings.replay import replay
    from panda_dynamics_ros.robot import InertialParameters, write_robot
    from panda_dynamics_ros.robot.joint_dataset import JointDataset

__version__ = "0.1.0"

__all__ = [
    "ArmMonitor",
    "ContactDetector",
    "Identification",
    "InertialParameters",
    "JointDataset",
    "MomentumObserver",
    "PairedRuns",
    "PandaDynamicsError",
    "PayloadEstimate",
    "PayloadEstimator",
    "RobotModel",
    "Shape",
    "identify",
    "learn_residual",
    "load_dataset",
    "load_robot",
    "pose",
    "replay",
    "weigh_paired_runs",
    "write_robot",
]

_HOMES = {
    "errors": ("PandaDynamicsError",),
    "estimation": (
        "ArmMonitor", "ContactDetector", "MomentumObserver", "PayloadEstimate", "PayloadEstimator", "Shape",
        "learn_residual",
    ),
    "identification": ("Identification", "identify"),
    "model": ("RobotModel", "load_robot"),
    "recordings.dataset": ("load_dataset",),
    "recordings.replay": ("replay",),
    "robot": ("InertialParameters", "write_robot"),
    "robot.joint_dataset": ("JointDataset",),
    "estimation.paired_runs": ("PairedRuns", "weigh_paired_runs"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: a node needs neither identification nor recordings, which take longest."""
    if name == "pose":
        return import_module(f"{__name__}.pose")
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
