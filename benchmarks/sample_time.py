# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.sample_time`: one full estimator-and-dynamics sample, side by side; see `speed.sample`."""

from rich.console import Console

from benchmarks.speed.__main__ import table
from benchmarks.speed.sample import full_sample
from panda_dynamics_ros import load_robot

if __name__ == "__main__":
    found = [full_sample(load_robot("panda"), turns=7)]
    Console().print(table("One full sample of estimator and dynamics; Pinocchio and a NumPy RLS", found, faster=False))
