# SPDX-License-Identifier: Apache-2.0
"""After the warm-up no sample waits for the compiler, whatever happens to the arm."""

import subprocess
import sys

import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

# In a process of its own: in this one, other tests have compiled kernels.
PROGRAM = """
import numpy as np
from panda_dynamics_ros import InertialParameters, load_robot
from panda_dynamics_ros.estimation.arm_monitor import ArmMonitor
from numba.core import event
from panda_dynamics_ros.simulation import SimulatedPanda
from panda_dynamics_ros.warm_up import warm_up

warm_up("simulated_panda", "{node}", report=lambda _: None)
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
robot = load_robot("panda")
arm, monitor, events, contacts = SimulatedPanda(robot), ArmMonitor(robot), set(), set()
for k in range(9000):
    if k == 2000:
        arm.attach(InertialParameters(1.0, (0.0, 0.0, 0.1), 0.001 * np.eye(3)))
    if k == 5000:
        arm.apply_push(5, (0.0, 40.0, 0.0), 0.5)
    if k == 7500:
        arm.release()
    output = monitor.{update}(*arm.step())
    contacts.add(getattr(output, "contact", None) is not None)
    if getattr(output, "event", None) is not None:
        events.add(output.event.kind)
print(compiled, sorted(events), any(contacts))
"""


@pytest.mark.parametrize(
    ("node", "update", "happened"),
    [
        ("dynamics", "update_dynamics", "[] True"),
        ("payload_estimator", "payload_estimator.update", "['contact', 'pick', 'release'] False"),
    ],
)
def test_no_sample_waits_for_the_compiler(node, update, happened):
    program = PROGRAM.format(node=node, update=update)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == f"[] {happened}"
