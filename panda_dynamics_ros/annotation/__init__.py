# SPDX-License-Identifier: Apache-2.0
"""Thousands of recordings as one table: what was carried and touched, when, and how good the torques are.

rows         columns of the table
annotator    the rows of one recording, read piece by piece
sources      recordings in folders, globs and object stores
worker       a process that annotates one recording after the other, and may die
engines      many workers: on this machine, or on a Dask cluster
journal      what is done, a line for each recording; the table is made of it
job          all of it together
"""

from panda_dynamics_ros.annotation.annotator import annotate
from panda_dynamics_ros.annotation.job import annotate_recordings
from panda_dynamics_ros.annotation.task import Task

__all__ = ["Task", "annotate", "annotate_recordings"]
