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

if TYPE_CHECKING:  # for editors and mypy
    from panda_dynamics_ros import pose as pose
    from panda_dynamics_ros.errors import PandaDynamicsError as PandaDynamicsError
    from panda_dynamics_ros.estimation import ArmMonitor as ArmMonitor
    from panda_dynamics_ros.estimation import PayloadEstimate as PayloadEstimate
    from panda_dynamics_ros.estimation import PayloadEstimator as PayloadEstimator
    from panda_dynamics_ros.estimation import Shape as Shape
    from panda_dynamics_ros.estimation import learn_residual as learn_residual
    from panda_dynamics_ros.estimation.paired_runs import PairedRuns as PairedRuns
    from panda_dynamics_ros.estimation.paired_runs import weigh_paired_runs as weigh_paired_runs
    from panda_dynamics_ros.identification import Identification as Identification
    from panda_dynamics_ros.identification import identify as identify
    from panda_dynamics_ros.model import RobotModel as RobotModel
    from panda_dynamics_ros.model import load_robot as load_robot
    from panda_dynamics_ros.recordings.dataset import load_dataset as load_dataset
    from panda_dynamics_ros.recordings.replay import replay as replay
    from panda_dynamics_ros.robot import InertialParameters as InertialParameters
    from panda_dynamics_ros.robot import write_robot as write_robot
    from panda_dynamics_ros.robot.joint_dataset import JointDataset as JointDataset

__version__ = "0.1.0"

_HOMES = {
    "errors": ("PandaDynamicsError",),
    "estimation": ("ArmMonitor", "PayloadEstimate", "PayloadEstimator", "Shape", "learn_residual"),
    "estimation.paired_runs": ("PairedRuns", "weigh_paired_runs"),
    "identification": ("Identification", "identify"),
    "model": ("RobotModel", "load_robot"),
    "recordings.dataset": ("load_dataset",),
    "recordings.replay": ("replay",),
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
