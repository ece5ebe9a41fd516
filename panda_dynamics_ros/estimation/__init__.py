# SPDX-License-Identifier: Apache-2.0
"""Online estimation from joint torques, sample by sample: payload, external torques, contacts."""

from panda_dynamics_ros.estimation.arm_monitor import ArmMonitor, ArmOutput, ArmRows
from panda_dynamics_ros.estimation.contact import Contact, ContactOptions
from panda_dynamics_ros.estimation.estimate import ChangeEvent, PayloadEstimate, PayloadSegment, SmoothedHistory
from panda_dynamics_ros.estimation.external_torques import ContactWrench, contact_wrench
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload_estimator import PayloadEstimator
from panda_dynamics_ros.estimation.prior_knowledge import Shape
from panda_dynamics_ros.estimation.residual_fit import learn_residual
from panda_dynamics_ros.estimation.smoother import smooth_payloads

__all__ = [
    "ArmMonitor",
    "ArmOutput",
    "ArmRows",
    "ChangeEvent",
    "Contact",
    "ContactOptions",
    "ContactWrench",
    "EstimatorOptions",
    "PayloadEstimate",
    "PayloadEstimator",
    "PayloadSegment",
    "Shape",
    "SmoothedHistory",
    "contact_wrench",
    "learn_residual",
    "smooth_payloads",
]
