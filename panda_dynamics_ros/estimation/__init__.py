# SPDX-License-Identifier: Apache-2.0
"""Online estimation: the payload from joint torques, sample by sample."""

from panda_dynamics_ros.estimation.contact_detector import Contact, ContactDetector, ContactOptions
from panda_dynamics_ros.estimation.contact_wrench import ContactWrench, WrenchEstimator, contact_wrench
from panda_dynamics_ros.estimation.estimator_options import EstimatorOptions
from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.payload_estimate import ChangeEvent, PayloadEstimate
from panda_dynamics_ros.estimation.payload_estimator import PayloadEstimator
from panda_dynamics_ros.estimation.payload_segment import PayloadSegment, SmoothedHistory
from panda_dynamics_ros.estimation.payload_smoother import smooth_payloads
from panda_dynamics_ros.estimation.prior_knowledge import Shape

__all__ = [
    "ChangeEvent",
    "Contact",
    "ContactDetector",
    "ContactOptions",
    "ContactWrench",
    "EstimatorOptions",
    "MomentumObserver",
    "PayloadEstimate",
    "PayloadEstimator",
    "PayloadSegment",
    "Shape",
    "SmoothedHistory",
    "WrenchEstimator",
    "contact_wrench",
    "smooth_payloads",
]
