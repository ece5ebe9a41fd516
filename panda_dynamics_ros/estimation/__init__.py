# SPDX-License-Identifier: Apache-2.0
"""Online estimation: the payload from joint torques, sample by sample."""

from panda_dynamics_ros.estimation.contact.detector import Contact, ContactDetector, ContactOptions
from panda_dynamics_ros.estimation.contact.wrench import ContactWrench, WrenchEstimator, contact_wrench
from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.estimation.payload.estimate import ChangeEvent, PayloadEstimate, PayloadSegment, SmoothedHistory
from panda_dynamics_ros.estimation.payload.estimator import PayloadEstimator
from panda_dynamics_ros.estimation.payload.prior_knowledge import Shape
from panda_dynamics_ros.estimation.payload.smoother import smooth_payloads

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
