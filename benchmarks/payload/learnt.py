# SPDX-License-Identifier: Apache-2.0
"""Trials of the residual map: what it is worth to know what one's own arm does unloaded.

SecondPass  the map of the public log's first 7.6 s, on the second run of the same motion, with virtual payloads
HeldOut     the map of two thirds of the first run, on the third that it has not seen
Cycles      simulated arms that repeat a cycle: three times empty, then with payloads; the map is learnt meanwhile
Elsewhere   simulated arms that learn on three motions and pick a payload up on another: nothing repeats

The arms of `Cycles` have a disturbance that does not repeat. On the log, the torques of two runs differ, after the
estimator's filters, by .055 .063 .057 .030 .007 .013 .004 N m RMS, .105 together; what the published model leaves is
.21 .80 .20 .24 .16 .11 .04. So nine tenths repeat. With a tenth of the residual's standard deviation as disturbance,
and a fifth of its correlation time, two cycles of a simulated arm differ by .039 .067 .033 .052 .020 .015 .007, .105
together: as much as on the log, and for longer (.11 to .20 s instead of .03 to .14 s in six joints of seven). All else
of the residual is friction, hysteresis and inertias, and repeats. Friction rises by a fifth in half an hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import BLOCKS, identified, published, real_own
from benchmarks.payload.incidents import Found, noticed
from benchmarks.payload.methods import Answer, Ours
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
EMPTY, PERIOD, START = 3, 10.0, 5.0  # empty cycles; s of a cycle; s until the arm is on it
PICKED_AT, PUT_DOWN_AT = 1.0, 6.0  # s in a cycle
MASSES = (1.0, 0.1, 1.0, 0.05, 1.0, 3.0, 0.3, 1.0, 0.5)
HALF_HOUR, WARM = 20, 1200.0
"""Repeats of all masses that take half an hour; s, after which these count: friction has risen by 13 to 20 % then."""
MOTIONS, AWAY = 3, 1.0  # that are learnt from before another; s without samples between them
ELSEWHERE = "elsewhere"
DRIFT, WARMING = 0.2 / 1800.0, ("viscous", "coulomb", "amplitude", "stribeck")  # 1/s, of these terms of friction


def repeating_arm(seed: int) -> SimulatedPanda:
    """A simulated arm at the start of a cycle of `PERIOD` s that it repeats, with the disturbance stated above."""
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


@dataclass(frozen=True)
class Cycles:
    """A simulated arm on its cycle, `repeats` times all masses, by the published model with what it learns."""

    seed: int
    repeats: int = 3

    def run(self) -> list[Outcome | Found]:
        """Outcomes 1 s after each pick, when picks were noticed, and events that nothing caused."""
        data = self._recording()
        return [result for learns in (False, True) for result in self._of(data, learns)]

    @property
    def _source(self) -> str:
        return "cycles" if self.repeats < HALF_HOUR else "last 10 min of 30"

    @property
    def _picks(self) -> list[tuple[float, float]]:
        """(s, kg)."""
        masses = MASSES * self.repeats
        return [(START + PERIOD * (EMPTY + k) + PICKED_AT, mass) for k, mass in enumerate(masses)]

    def _recording(self) -> Samples:
        return recordings.cached(f"cycles_{self.seed}_{self.repeats}", self._make)

    def _make(self) -> Samples:
        plant = repeating_arm(self.seed)
        arm, friction = plant.true_arm, plant.true_arm.robot.friction
        parts, now = [], 0.0
        changes = [(at + later, mass if later == 0.0 else 0.0) for at, mass in self._picks
                   for later in (0.0, PUT_DOWN_AT - PICKED_AT)]  # fmt: skip
        for until, mass in [*changes, (changes[-1][0] + PERIOD - PUT_DOWN_AT, 0.0)]:
            while now < until - 1e-6:
                step = min(1.0, until - now)
                grown = 1.0 + DRIFT * now
                warm = replace(friction, **{name: grown * getattr(friction, name) for name in WARMING})
                plant.true_arm = replace(arm, robot=replace(arm.robot, friction=warm))
                parts.append(recordings.run(plant, step))
                now += step
            if mass > 0.0:
                plant.attach(body(mass, self.seed))
            else:
                plant.release()
        return recordings.joined(parts)

    def _of(self, data: Samples, learns: bool) -> Iterator[Outcome | Found]:
        name, monitor = (WITH if learns else WITHOUT), pdr.ArmMonitor(published(), learn_residual=learns)
        asked = {round(1e3 * (at + 1.0)): mass for at, mass in self._picks}
        events: list[tuple[float, str]] = []
        for k in range(len(data.stamp)):
            estimate = monitor.update_payload(data.stamp[k], data.q[k], data.dq[k], data.tau[k]).estimate
            if estimate.event is not None:
                events.append((float(data.stamp[k]), estimate.event.kind))
            if k in asked and (self.repeats < HALF_HOUR or data.stamp[k] > WARM):
                answer = Answer(estimate.vector, estimate.covariance)
                yield judged(self._source, "published", "pick", 1.0, name, body(asked[k], self.seed), answer)
        for at, mass in self._picks:
            for kind, when in (("pick", at), ("drop", at + PUT_DOWN_AT - PICKED_AT)):
                found = noticed(name, "published", kind, mass, when, events, 1.0)
                yield found
                right = {when + found.delay} if np.isfinite(found.delay) else set()
                events = [event for event in events if not any(abs(event[0] - stamp) < 1e-6 for stamp in right)]
        yield Found(name, "published", "nothing", 0.0, float(data.stamp[-1]), np.nan, tuple(events))


@dataclass(frozen=True)
class Elsewhere:
    """A simulated arm picks 1 kg up on a motion unlike those before; half of its residual never repeats."""

    seed: int

    def run(self) -> list[Outcome | Found]:
        """Outcomes 1, 2 and 5 s after the pick, and what was reported besides."""
        parts = [recordings.training(self.seed, 1 + k) for k in range(MOTIONS)]
        parts.append(recordings.carrying(self.seed, 1.0))
        start, results = 0.0, list[Outcome | Found]()
        for k, part in enumerate(parts):
            parts[k] = replace(part, stamp=part.stamp - part.stamp[0] + start)
            start = parts[k].stamp[-1] + AWAY
        data, pick = recordings.joined(parts), float(parts[-1].stamp[0]) + recordings.LEAD
        truth = body(1.0, self.seed)
        for name, learns in ((WITHOUT, False), (WITH, True)):
            monitor, events = pdr.ArmMonitor(published(), learn_residual=learns), list[tuple[float, str]]()
            asked = {int(np.searchsorted(data.stamp, pick + time - 1e-6)): time for time in (1.0, 2.0, 5.0)}
            for k in range(max(asked) + 1):
                estimate = monitor.update_payload(data.stamp[k], data.q[k], data.dq[k], data.tau[k]).estimate
                if estimate.event is not None:
                    events.append((float(data.stamp[k]), estimate.event.kind))
                if k in asked:
                    answer = Answer(estimate.vector, estimate.covariance)
                    results.append(judged(ELSEWHERE, "published", "pick", asked[k], name, truth, answer))
            others = tuple(event for event in events if not pick <= event[0] < pick + 1.0)
            results.append(Found(name, "published", ELSEWHERE, 0.0, float(data.stamp[max(asked)]), np.nan, others))
        return results


Learnt = SecondPass | HeldOut | Cycles | Elsewhere


def trials(seeds: int, repeats: int, real: bool) -> list[Learnt]:
    """All of them: the simulated arms, which take long, first."""
    on_log: list[Learnt] = []
    if real:
        on_log = [SecondPass(arm, mass) for arm in ("own", "published") for mass in (0.1, 1.0)]
        on_log += [HeldOut("own"), HeldOut("published")]
    simulated: list[Learnt] = [Cycles(0, HALF_HOUR)] if repeats > 1 else []
    simulated += [Cycles(seed, repeats) for seed in range(seeds)]
    simulated += [Elsewhere(seed) for seed in range(seeds)]
    return [*simulated, *on_log]
