# SPDX-License-Identifier: Apache-2.0
"""How accurate the payload estimator is, beside three baselines: `python -m benchmarks.payload --help`.

recordings, real_log    samples with a payload that is known exactly
arms                    the published model, and each arm's own, identified from its unloaded motion
zero_phase              motion as it is known afterwards
methods, baselines      the estimator and what it is measured against, behind one interface
accuracy, incidents     trials: error over time; detection, false alarms, collisions
offline                 trials: what a whole recording says of a payload, smoothed
learnt                  trials: with a map of what the arm does unloaded
scores, verdicts        trials pooled to figures; figures against targets
report, plots           for people and programs
"""
