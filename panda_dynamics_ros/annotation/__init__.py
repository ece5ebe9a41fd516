# SPDX-License-Identifier: Apache-2.0
"""Thousands of recordings as one table: what was carried and touched, when, and how good the torques are.

rows       the table: its columns, the rows of one recording, its file
worker     a process that annotates one recording after the other, and may die
job        all of it together, on this machine or on a Dask cluster
"""

from panda_dynamics_ros.annotation.job import annotate_recordings
from panda_dynamics_ros.annotation.rows import annotate
from panda_dynamics_ros.annotation.worker import Task

__all__ = ["Task", "annotate", "annotate_recordings"]
