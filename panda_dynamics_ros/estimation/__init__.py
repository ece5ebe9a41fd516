# SPDX-License-Identifier: Apache-2.0
"""Online estimation: the payload from joint torques, sample by sample."""

from panda_dynamics_ros.estimation.momentum_observer import MomentumObserver
from panda_dynamics_ros.estimation.payload_estimate import ChangeEvent, PayloadEstimate
from panda_dynamics_ros.estimation.payload_estimator import EstimatorOptions, PayloadEstimator

__all__ = ["ChangeEvent", "EstimatorOptions", "MomentumObserver", "PayloadEstimate", "PayloadEstimator"]
