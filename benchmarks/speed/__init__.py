# SPDX-License-Identifier: Apache-2.0
"""How fast, beside Pinocchio from Python on the same arm in the same run: `python -m benchmarks.speed --help`.

timing            two things timed in turns
pinocchio_arm     the arm in Pinocchio, with the calls a user would make
functions         100,000 states: one call here, a loop over Pinocchio there; one state: public calls one by one
sample            one sample of the estimator and the dynamics, beside Pinocchio and a NumPy RLS
"""
