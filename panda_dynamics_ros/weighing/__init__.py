# SPDX-License-Identifier: Apache-2.0
"""Weighing: what an arm carries, from runs of one motion with and without it."""

from panda_dynamics_ros.weighing.motion import weighing_motion
from panda_dynamics_ros.weighing.paired_runs import PairedRuns, RestCheck, check_at_rest, weigh_paired_runs

__all__ = ["PairedRuns", "RestCheck", "check_at_rest", "weigh_paired_runs", "weighing_motion"]
