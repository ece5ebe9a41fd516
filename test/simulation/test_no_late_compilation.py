# SPDX-License-Identifier: Apache-2.0
"""After the warm-up no sample waits for the compiler, nor for what it compiled earlier, whatever happens to the arm."""

import sys

import pytest
from waiting import ran

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

# In a process of its own: in this one, other tests have compiled kernels. Each node is a copy of it, which knows the
# simulated arm's kernels alone.
PROGRAM = """
import os
import sys

import numpy as np
from numba.core.dispatcher import Dispatcher

from panda_dynamics_ros import InertialParameters, load_robot
from panda_dynamics_ros.dynamics.robot_state import robot_state
from panda_dynamics_ros.estimation import ArmMonitor, contact_wrench
from panda_dynamics_ros.simulation import SimulatedPanda
from panda_dynamics_ros.warm_up import warm_up

late = []
compile_or_load = Dispatcher.compile

def listed(self, signature):
    late.append(self.__name__)
    return compile_or_load(self, signature)

def begin(*nodes):
    warm_up(*nodes, report=lambda _: None)
    Dispatcher.compile = listed

def report(*words):
    print(*words, late, flush=True)

robot = load_robot("panda")
begin("simulated_panda")
arm, samples = SimulatedPanda(robot), []
for k in range(9000):
    if k == 2000:
        arm.attach(InertialParameters(1.0, (0.0, 0.0, 0.1), 0.001 * np.eye(3)))
    if k == 5000:
        arm.apply_push(5, (0.0, 40.0, 0.0), 0.5)
    if k == 7500:
        arm.release()
    samples.append(arm.step())
report("simulated_panda")
Dispatcher.compile = compile_or_load
for node in ("dynamics", "payload_estimator"):
    if os.fork():
        os.wait()
        continue
    begin(*(["torques_and_pose"] if node == "dynamics" else []), node)
    monitor = ArmMonitor(robot)
    payload = node == "payload_estimator"
    parts = (map(np.array, zip(*samples[k : k + 10])) for k in range(0, 9000, 10))
    blocks = [monitor.update_rows(*part, payload=payload) for part in parts]
    if not payload:
        robot_state(robot, *samples[0][1:3])
        last = blocks[-1]
        contact_wrench(robot, np.zeros((10, 7)), last.external_torques, last.unexplained)
        contact_wrench(robot, np.zeros(7), last.external_torques[0])
        report(node, any(block.contacts for block in blocks))
    else:
        estimates = [estimate for block in blocks for _, estimate, _ in block.estimates]
        report(node, sorted({estimate.event.kind for estimate in estimates if estimate.event is not None}))
    sys.exit()
"""


@pytest.mark.slow
def test_no_sample_waits_for_the_compiler():
    assert ran([sys.executable, "-c", PROGRAM], timeout=300).stdout.splitlines() == [
        "simulated_panda []",
        "dynamics True []",
        "payload_estimator ['contact', 'pick', 'release'] []",
    ]
