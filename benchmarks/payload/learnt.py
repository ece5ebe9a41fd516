# SPDX-License-Identifier: Apache-2.0
"""Trials of the residual map: what it is worth to know what one's own arm does unloaded.

SecondPass  the map of the public log's first 7.6 s, on the second run of the same motion, with virtual payloads
HeldOut     the map of two thirds of the first run, on the third that it has not seen
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.payload import real_log
from benchmarks.payload.arms import BLOCKS, identified, published, real_own
from benchmarks.payload.incidents import Found, noticed
from benchmarks.payload.methods import Ours
from benchmarks.payload.samples import Samples, body
from benchmarks.payload.trial import Outcome, judged
from panda_dynamics_ros.simulation import Realism, SimulatedPanda, exciting_motion
from panda_dynamics_ros.simulation.motion_search import BRISK

WITHOUT, WITH = "without map", "with map"
SHAPES = (None, 0, 1, 2, 3, 4)
"""Payloads of `body` that are tried."""
AFTER = (1.0, 2.0, 3.5)  # s
PICKS = (0.8, 1.2, 1.6)  # s, in the second run, whose first 0.4 s the first run does not have: it began at rest
LAST = 3.55  # s: there the second run's true motion meets the end of its filter
PERIOD, START = 10.0, 5.0  # s of a cycle; s until the arm is on it
PICKED_AT = 1.0  # s in a cycle


def repeating_arm(seed: int) -> SimulatedPanda:
    """A simulated arm on a cycle of `PERIOD` s that it repeats; a tenth of its residual does not repeat."""
    robot, number = published(), 3000 + seed
    motion = exciting_motion(robot, number, period=PERIOD, velocity_share=BRISK)
    realism = Realism(disturbance_share=0.1, disturbance_time=0.2)
    return SimulatedPanda(robot, seed=seed, noise_seed=number, excitation=motion, realism=realism)


def dataset(data: Samples) -> pdr.JointDataset:
    return pdr.JointDataset(data.stamp, data.q, data.dq, data.tau, published().joint_names, "benchmark")


@dataclass(frozen=True)
class SecondPass:
    """Payloads of one mass on the second run, by the model `arm`; both models are fitted to the first run."""

    arm: str
    mass: float

    def run(self) -> list[Outcome | Found]:
        """Outcomes of cold starts and picks, and when the picks were noticed."""
        first = real_log.log()
        bare = published() if self.arm == "published" else identified([first])
        robots = {WITHOUT: bare, WITH: pdr.learn_residual(dataset(first), bare)}
        return [result for name, robot in robots.items() for result in self._of(name, robot)]

    def _of(self, name: str, robot: pdr.RobotModel) -> Iterator[Outcome | Found]:
        data = real_log.log(real_log.SECOND_PASS)
        for shape in SHAPES:
            payload = body(self.mass, shape)
            torques = real_log.payload_torques(payload, real_log.SECOND_PASS)
            track = Ours().run(robot, data.with_torques(torques).between(0.0, LAST), 0.0, AFTER)
            for time, answer in zip(AFTER, track.answers, strict=True):
                yield judged("second run", self.arm, "cold", time, name, payload, answer)
            for pick in PICKS:
                loaded = data.with_torques(torques * (data.stamp >= pick)[:, None]).between(0.0, LAST)
                track = Ours().run(robot, loaded, pick, [pick + 1.0])
                yield judged("second run", self.arm, "pick", 1.0, name, payload, track.answers[0])
                yield noticed(name, self.arm, "pick", self.mass, pick, track.events, LAST - pick)


@dataclass(frozen=True)
class HeldOut:
    """1 kg on blocks of the first run that neither the model `arm` nor its map was fitted to."""

    arm: str

    def run(self) -> list[Outcome | Found]:
        """Outcomes of cold starts."""
        results: list[Outcome | Found] = []
        log = real_log.log()
        for k, (start, end) in enumerate(BLOCKS):
            bare = published() if self.arm == "published" else real_own(k)
            others = [dataset(log.between(*times)) for other, times in enumerate(BLOCKS) if other != k]
            for name, robot in ((WITHOUT, bare), (WITH, pdr.learn_residual(others, bare))):
                for shape in SHAPES[:3]:
                    payload = body(1.0, shape)
                    loaded = log.with_torques(real_log.payload_torques(payload))
                    for begin in np.arange(start, end - 1.0 + 1e-9, 0.5):
                        times = [time for time in AFTER if begin + time <= end]
                        track = Ours().run(robot, loaded.between(begin, end), begin, [begin + time for time in times])
                        for time, answer in zip(times, track.answers, strict=True):
                            results.append(judged("held out", self.arm, "cold", time, name, payload, answer))
        return results


Learnt = SecondPass | HeldOut


def trials(real: bool) -> list[Learnt]:
    """All of them; none where the logs are not on this machine."""
    if not real:
        return []
    on_log: list[Learnt] = [SecondPass(arm, mass) for arm in ("own", "published") for mass in (0.1, 1.0)]
    return [*on_log, HeldOut("own"), HeldOut("published")]
