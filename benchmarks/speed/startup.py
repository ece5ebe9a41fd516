# SPDX-License-Identifier: Apache-2.0
"""Seconds that a fresh process takes until the kernels of the nodes are ready, compiled by an earlier one."""

from __future__ import annotations

import statistics
import subprocess
import sys

OURS = """
import numpy as np
from panda_dynamics_ros import load_robot
from panda_dynamics_ros.dynamics import robot_state
from panda_dynamics_ros.estimation import PayloadEstimator
robot = load_robot("panda")
q = np.zeros(7)
robot_state(robot, q, q)
estimator = PayloadEstimator(robot)
for k in range(700):
    estimator.update(0.001 * k, q + 0.001 * k, q + 1.0, q)
"""
NUMBA = """
import numpy, numba
numba.njit(numba.float64(numba.float64))(lambda x: x)
"""


def seconds(program: str, runs: int = 5) -> float:
    """Median time of a Python process that runs this, after one that fills the caches."""
    timed = "import time; start = time.perf_counter()\n" + program + "\nprint(time.perf_counter() - start)"
    found = []
    for _ in range(runs + 1):
        done = subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True)
        found.append(float(done.stdout))
    return statistics.median(found[1:])


def startup() -> dict[str, float]:
    """Until `robot_state` and `PayloadEstimator.update` have run; and numba alone, with one function of its own."""
    return {"ready_s": seconds(OURS), "numba_alone_s": seconds(NUMBA)}
