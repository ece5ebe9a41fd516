# SPDX-License-Identifier: Apache-2.0
"""Random work on public recordings of real arms: `scenario(name, seed)`, `name` being one of `LOGS`.

Motion and torques are those of the arm, which carries and touches nothing. The exact torques of objects that come and
go, and of pushes at the hand, are added to the measured ones. So the errors of the arm's model, friction, delays, lost
samples and noise are real. The objects do not change the motion; on a real arm, which is stiff, they hardly would.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.cycle.random_work import NOTHING, direction, thing
from benchmarks.cycle.recordings import Happening, Recording
from benchmarks.payload import real_log
from benchmarks.payload.samples import Samples
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray

HAND = InertialParameters(0.735, np.array([-0.01, 0.01, 0.025]), np.diag([0.001, 0.0025, 0.0017]))
"""Franka's hand of the FR3's recordings, by the external torques of its own model, 0.713 to 0.76 kg."""
HEAVIEST = 2.0  # kg
TELEOPERATED = real_log.LOGS / "fr3_hand_teleop"


@dataclass(frozen=True)
class Log:
    """A recording of the model `robot` that carries `base` from the start; s at its start that are left out.

    cutoff: Hz, of the zero-phase filter that leaves the true motion.
    """

    path: Path
    robot: str
    end_effector: str = "none"
    base: InertialParameters = NOTHING
    cutoff: float = real_log.CUTOFF
    skipped: float = 0.0


LOGS = {
    "Panda, 1 kHz": Log(real_log.LOG_1KHZ, "panda"),
    "Panda, 30 Hz": Log(real_log.LOG_30HZ, "panda", cutoff=4.0, skipped=0.3),
    **{f"FR3, 1 kHz, {k}": Log(TELEOPERATED / f"teleop_1khz_{k}.csv", "fr3", "hand") for k in "ab"},
    **{f"FR3, 1 kHz, {k}, undeclared": Log(TELEOPERATED / f"teleop_1khz_{k}.csv", "fr3", base=HAND) for k in "ab"},
}


@cache
def _measured(log: Log) -> tuple[RobotModel, Samples, FloatArray, FloatArray]:
    """Robot, N samples, the payload's regressor (N, n, 10), and the Jacobian of the hand (N, 6, n)."""
    data, robot = real_log.log(log.path), pdr.load_robot(log.robot, end_effector=log.end_effector)
    used = data.stamp >= log.skipped
    q, dq, ddq = (values[used] for values in real_log.true_motion(log.path, log.cutoff))
    samples = Samples(data.stamp[used] - data.stamp[used][0], data.q[used], data.dq[used], data.tau[used])
    return robot, samples, robot.payload_regressor(q, dq, ddq), robot.jacobian(q)


def scenario(name: str, seed: int) -> Recording:
    """One recording with random things that happen from its second second on."""
    log, rng = LOGS[name], np.random.default_rng([seed, 29])
    robot, data, Y, J = _measured(log)
    stamp, carried, happenings = data.stamp, NOTHING, list[Happening]()
    truth, pushed = np.tile(log.base.vector, (len(stamp), 1)), np.zeros((len(stamp), 3))
    if rng.random() < 0.15:
        carried = thing(rng, HEAVIEST)
        truth += carried.vector
        happenings.append(Happening("held from the start", 0.0, 0.0, carried + log.base))
    time = rng.uniform(1.2, 2.5)
    while time < stamp[-1] - 1.3:
        if rng.random() < 0.3:
            rise, force = float(rng.choice([0.02, 0.1, 0.3])), rng.uniform(6.0, 30.0) * direction(rng)
            end = time + rise + float(rng.choice([0.3, 1.0, 2.0]))
            pushed += np.clip(np.minimum(stamp - time, end - stamp) / rise, 0.0, 1.0)[:, None] * force
            happenings.append(Happening("pushed", time, end, carried + log.base))
        else:
            end, before = time + float(rng.choice([0.02, 0.1, 0.3])), carried
            carried = NOTHING if before.mass else thing(rng, HEAVIEST)
            share = np.clip((stamp - time) / (end - time), 0.0, 1.0)[:, None]
            truth += share * (carried.vector - before.vector)
            happenings.append(Happening("pick" if carried.mass else "release", time, end, carried + log.base))
        time = end + rng.uniform(1.2, 4.0)
    more = np.einsum("kij,kj->ki", Y, truth - log.base.vector) - np.einsum("kji,kj->ki", J[:, :3], pushed)
    changes = np.diff(np.hstack((data.q, data.dq, data.tau)), axis=0, prepend=np.nan) != 0.0
    fresh = np.maximum.accumulate(np.where(changes.any(axis=1), np.arange(len(stamp)), 0))  # what is sent again stays
    tau = data.tau + more[fresh]
    return Recording(f"{name}, {seed}", robot, stamp, data.q, data.dq, tau, truth, tuple(happenings))
