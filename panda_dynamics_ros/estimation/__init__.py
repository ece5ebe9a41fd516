# SPDX-License-Identifier: Apache-2.0
"""Online estimation from joint torques, sample by sample: payload, external torques, contacts."""

from panda_dynamics_ros.estimation.arm_monitor import ArmMonitor as ArmMonitor
from panda_dynamics_ros.estimation.arm_monitor import ArmOutput as ArmOutput
from panda_dynamics_ros.estimation.arm_monitor import ArmRows as ArmRows
from panda_dynamics_ros.estimation.contact import Contact as Contact
from panda_dynamics_ros.estimation.contact import ContactOptions as ContactOptions
from panda_dynamics_ros.estimation.estimate import ChangeEvent as ChangeEvent
from panda_dynamics_ros.estimation.estimate import PayloadEstimate as PayloadEstimate
from panda_dynamics_ros.estimation.estimate import PayloadSegment as PayloadSegment
from panda_dynamics_ros.estimation.external_torques import ContactWrench as ContactWrench
from panda_dynamics_ros.estimation.external_torques import contact_wrench as contact_wrench
from panda_dynamics_ros.estimation.options import EstimatorOptions as EstimatorOptions
from panda_dynamics_ros.estimation.options import Shape as Shape
from panda_dynamics_ros.estimation.payload_estimator import PayloadEstimator as PayloadEstimator
from panda_dynamics_ros.estimation.residual_fit import learn_residual as learn_residual
from panda_dynamics_ros.estimation.smoother import smooth_payloads as smooth_payloads
