# SPDX-License-Identifier: Apache-2.0
"""The public names, for editors and mypy: the package itself imports each at its first use."""

from panda_dynamics_ros import pose as pose
from panda_dynamics_ros.dynamics.model import RobotModel as RobotModel
from panda_dynamics_ros.dynamics.model import load_robot as load_robot
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
from panda_dynamics_ros.recordings.dataset import load_dataset as load_dataset
from panda_dynamics_ros.reporting.replay import replay as replay
from panda_dynamics_ros.robot import InertialParameters as InertialParameters
from panda_dynamics_ros.robot import write_robot as write_robot
from panda_dynamics_ros.robot.joint_dataset import JointDataset as JointDataset

__all__: list[str]
__version__: str
