# SPDX-License-Identifier: Apache-2.0
"""How fast, beside Pinocchio from Python on the same arm in the same run: `python -m benchmarks.speed --help`.

timing            two things timed in turns
pinocchio_arm     the arm in Pinocchio, with the calls a user would make
states            100,000 states: one call here, a loop over Pinocchio there
single            one state: public calls one by one, and all that a control loop needs
sample            one sample of the estimator and the dynamics, beside Pinocchio and a NumPy RLS
startup           a fresh process until its kernels are ready
"""
