# SPDX-License-Identifier: Apache-2.0
"""What it costs to annotate data sets: `python -m benchmarks.datasets --help`.

recordings   synthetic recordings: many short ones like DROID's, and long ones at 1 kHz
sample       a sample of a recording: `annotate`, a plain loop over the objects, Pinocchio for the dynamics alone
"""
