# SPDX-License-Identifier: Apache-2.0
"""How accurate the payload estimator is, beside three baselines: `python -m benchmarks.payload --help`.

recordings, real_log    samples with a payload that is known exactly
arms                    the published model, and each arm's own, identified from its unloaded motion
methods                 the estimator and what it is measured against, behind one interface
trial                   errors over time, of whole recordings, with a map of what the arm does unloaded
incidents               detection, false alarms, collisions
scores                  trials pooled to figures and tables
"""
