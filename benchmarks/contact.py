# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.contact`: how soon pushes are noticed, and how often nothing is taken for one.

A push is a force on one of the links 2 to 7, up to 8 cm off its centre of mass, in any direction. It rises within a
time, is held for half a second and falls. Its size is the torque of the joint that it loads most, in standard
deviations of what the first model leaves unexplained. Its torques are added to those that a simulated arm measures: an
arm that is stiffly controlled moves little. The arm is in motion, or stands still for some seconds now and then; an own
model is identified from other, unloaded motion. A payload is known to the monitor as a part of the arm.

Noticed is what `ArmMonitor` reports as a contact or a load, from the push's begin until it has fallen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.common import console, parser, print_json, run_jobs, table
from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import BLOCKS, published, real_own, simulated
from benchmarks.payload.samples import Samples, body
from panda_dynamics_ros import ArmMonitor, RobotModel
from panda_dynamics_ros.checks import FloatArray

LINKS = range(2, 8)  # a force on link 1 has next to no lever
RISES = (0.0, 0.01, 0.1, 0.3, 1.0)  # s
SIZES = ((5.0, 6.0), (6.0, 8.0), (8.0, 10.0), (10.0, 20.0))  # sigmas
OFF_CENTRE, MOST_FORCE = 0.08, 150.0  # m; N, and a push that would need more is drawn anew
HELD, FALL, PERIOD, FIRST = 0.5, 0.05, 6.0, 8.0  # s: of a push, between begins, and the first begin
PAUSE, BEFORE = 3.5, 1.0  # s: standing still, and how long before a push
IN_TIME = 0.0505  # s: 50 ms, and half a sample for the stamps' rounding
EVENTS, MODELS = ("load", "contact"), ("own", "published")
QUICK, FULL = (2, 20, 4.0), (12, 25, 61.0)  # arms; pushes of each rise and arm; minutes without any


class Found(NamedTuple):
    """What became of a push: s until it was noticed (nan: never), and the link that was named at its end (0: none)."""

    model: str
    mass: float
    still: bool
    rise: float
    sigmas: float
    link: int
    delay: float
    named: int


class Watched(NamedTuple):
    """Motion without contacts: its length, s, and the stamps at which one was reported."""

    source: str
    model: str
    mass: float
    duration: float
    alarms: tuple[float, ...]


class Push(NamedTuple):
    """A push from `at` s on: force (3,), N, base axes, and the joint torques (n,) that it adds at most."""

    at: float
    rise: float
    link: int
    sigmas: float
    force: FloatArray
    torque: FloatArray


def recorded(seed: int, mass: float, still: bool, duration: float) -> Samples:
    """The arm of a seed in motion, which stands still around each push if `still`."""
    moments = np.arange(FIRST, duration, PERIOD)
    pauses = tuple((float(at) - BEFORE, PAUSE) for at in moments if at + PAUSE + 1.0 < duration) if still else ()

    def make() -> Samples:
        plant = recordings.arm(seed, 0, pauses=pauses)
        if mass > 0.0:
            plant.attach(body(mass, seed))
        return recordings.run(plant, duration)

    return recordings.cached(f"watched_{seed}_{mass:g}_{still}_{duration:g}", make)


def push_gain(robot: RobotModel, q: FloatArray, link: int, lever: FloatArray) -> FloatArray:
    """(n, 3): torques that a force adds to the measured ones, less J^T F, `lever` m off the link's centre of mass."""
    J = robot.com_jacobian(q, link)
    moment = np.cross(lever, np.eye(3)).T  # F -> lever x F
    return -(J[:3].T + J[3:].T @ moment)


def drawn(robot: RobotModel, rng: np.random.Generator, at: float, q: FloatArray, rise: float) -> Push:
    """A push at posture q (n,)."""
    sigmas, link = float(rng.uniform(SIZES[0][0], SIZES[-1][1])), int(rng.choice(LINKS))
    while True:
        direction, lever = rng.standard_normal((2, 3))
        lever *= rng.uniform(0.0, OFF_CENTRE) / np.linalg.norm(lever)
        torque = push_gain(robot, q, link, lever) @ direction
        scale = sigmas / np.abs(torque / robot.residual.std).max()
        if scale * np.linalg.norm(direction) <= MOST_FORCE:
            return Push(at, rise, link, sigmas, scale * direction, scale * torque)


def pushed(data: Samples, pushes: Sequence[Push]) -> Samples:
    """The recording with the torques of pushes, at the posture of their begin."""
    extra = np.zeros_like(data.tau)
    for push in pushes:
        since = data.stamp - push.at
        up = np.clip(since / push.rise, 0.0, 1.0) if push.rise > 0.0 else 1.0 * (since >= -1e-6)
        down = np.clip((since - push.rise - HELD) / FALL, 0.0, 1.0)
        extra += (up - down)[:, None] * push.torque
    return data.with_torques(extra)


def reported(robot: RobotModel, data: Samples) -> list[tuple[float, int]]:
    """When the monitor has reported a contact (with the link named at its end) or a load (0)."""
    found = ArmMonitor(robot).update_rows(data.stamp, data.q, data.dq, data.tau)
    links = {contact.start: contact.link for _, contact in found.contacts}
    events = [(float(data.stamp[k]), 0) for k, e, _ in found.estimates if e.event and e.event.kind in EVENTS]
    return sorted([*links.items(), *events])


class Pushes(NamedTuple):
    """`number` pushes of each rise on the arm of `seed`."""

    seed: int
    mass: float
    still: bool
    number: int
    models: tuple[str, ...]

    def run(self) -> list[Found | Watched]:
        """A `Found` for each push and model, and what was reported without any."""
        rng, measure = np.random.default_rng([self.seed, 11, self.still]), simulated(self.models[0], self.seed)
        data = recorded(self.seed, self.mass, self.still, FIRST + PERIOD * self.number)
        found: list[Found | Watched] = []
        rows = np.searchsorted(data.stamp, FIRST + PERIOD * np.arange(self.number) - 1e-6)
        for rise in RISES:
            pushes = [drawn(measure, rng, float(data.stamp[row]), data.q[row], rise) for row in rows]
            touched = pushed(data, pushes)
            for model in self.models:
                robot = loaded(simulated(model, self.seed), self.mass, self.seed)
                said = reported(robot, touched)
                for p in pushes:
                    hits = [(t - p.at, link) for t, link in said if -1e-6 <= t - p.at < rise + HELD + FALL]
                    delay = hits[0][0] if hits else np.nan
                    named = next((link for _, link in hits if link), 0)
                    found.append(Found(model, self.mass, self.still, rise, p.sigmas, p.link, delay, named))
        return found


class Free(NamedTuple):
    """The arm of `seed` in motion for `duration` s, which stands still now and then."""

    seed: int
    mass: float
    duration: float
    models: tuple[str, ...]

    def run(self) -> list[Found | Watched]:
        """One `Watched` for each model."""
        data = recorded(self.seed, self.mass, True, self.duration)
        return [
            watched("simulated", model, self.mass, loaded(simulated(model, self.seed), self.mass, self.seed), data)
            for model in self.models
        ]


class RealLogs(NamedTuple):
    """The unloaded logs of real arms: the published model, and own ones fitted to the rest of the 1 kHz log."""

    def run(self) -> list[Found | Watched]:
        """A `Watched` for each log and model."""
        log, bag = real_log.log(), real_log.log(real_log.LOG_30HZ)
        own = [watched("1 kHz log", "own", 0.0, real_own(k), log.between(*times)) for k, times in enumerate(BLOCKS)]
        bare = published()
        return [*own, *(watched(name, "published", 0.0, bare, x) for name, x in (("1 kHz log", log), ("bag", bag)))]


Job = Pushes | Free | RealLogs


@cache
def loaded(robot: RobotModel, mass: float, seed: int) -> RobotModel:
    """The arm with the payload as a part of it."""
    if mass == 0.0:
        return robot
    return replace(robot.with_payload(body(mass, seed)), residual=robot.residual)


def watched(source: str, model: str, mass: float, robot: RobotModel, data: Samples) -> Watched:
    """What is reported of motion without contacts."""
    alarms = tuple(stamp for stamp, _ in reported(robot, data))
    return Watched(source, model, mass, float(data.stamp[-1] - data.stamp[0]), alarms)


def cell(found: Sequence[Found]) -> str:
    """Noticed and in time, %, and median delay, ms."""
    if not found:
        return "-"
    delays = np.array([each.delay for each in found])
    median = "-" if np.isnan(delays).all() else f"{1e3 * np.nanmedian(delays):.0f}"
    return f"{np.mean(np.isfinite(delays)):.0%}, {np.mean(delays < IN_TIME):.0%}, {median} ms"


def links_named(found: Sequence[Found]) -> tuple[float, float]:
    """Of the pushes whose contact named a link: how many named the right one, and it or a neighbour."""
    off = np.array([abs(each.named - each.link) for each in found if each.named])
    return (float(np.mean(off == 0)), float(np.mean(off <= 1))) if off.size else (np.nan, np.nan)


def run(job: Job) -> list[Found | Watched]:
    """One job, in a worker process."""
    return job.run()


def main() -> None:
    """Run the benchmark."""
    options = parser("contact", "Detection of contacts")
    options.add_argument("--no-real", action="store_true", help="leave the real logs out")
    options.add_argument("--arms", type=int, help="simulated arms")
    options.add_argument("--pushes", type=int, help="of each rise time and arm")
    options.add_argument("--models", nargs="+", default=MODELS, choices=MODELS, help="the first one measures pushes")
    args = options.parse_args()
    arms, count, minutes = QUICK if args.quick else FULL
    arms, count, models = args.arms or arms, args.pushes or count, tuple(args.models)
    jobs: list[Job] = [Pushes(seed, 0.0, still, count, models) for seed in range(arms) for still in (False, True)]
    jobs += [Pushes(seed, 1.0, False, count, models) for seed in range(arms)]
    jobs += [Free(seed, mass, 60.0 * minutes / arms, models) for seed in range(arms) for mass in (0.0, 1.0)]
    if real_log.LOG_1KHZ.is_file() and not args.no_real:
        jobs.append(RealLogs())
    results = run_jobs(run, jobs, args.processes)
    found = [each for each in results if isinstance(each, Found)]
    quiet = [each for each in results if isinstance(each, Watched)]
    if args.json:
        print_json({"pushes": [x._asdict() for x in found], "watched": [x._asdict() for x in quiet]})
        return
    out = console()
    for model, mass, still in dict.fromkeys((x.model, x.mass, x.still) for x in found):
        mine = [x for x in found if (x.model, x.mass, x.still) == (model, mass, still)]
        rows = [
            [f"{rise:g} s", *(cell([x for x in mine if x.rise == rise and a <= x.sigmas < b]) for a, b in SIZES),
             cell([x for x in mine if x.rise == rise])]
            for rise in RISES
        ]  # fmt: skip
        right, near = links_named(mine)
        title = (
            f"{model} model, {mass:g} kg, {'at rest' if still else 'in motion'}, {len(mine)} pushes: noticed, within "
            f"50 ms, median delay; link right {right:.0%}, it or a neighbour {near:.0%}"
        )
        out.print(table(title, ["rise", *(f"{a:g} to {b:g} sigmas" for a, b in SIZES), "all"], rows))
    rows = []
    for key in dict.fromkeys((x.source, x.model, x.mass) for x in quiet):
        mine_quiet = [x for x in quiet if (x.source, x.model, x.mass) == key]
        seconds, alarms = sum(x.duration for x in mine_quiet), sum(len(x.alarms) for x in mine_quiet)
        rows.append([*map(str, key), f"{seconds:.0f}", str(alarms)])
    out.print(table("Reported where nothing touched the arm", ["source", "model", "kg", "s", "reports"], rows))


if __name__ == "__main__":
    main()
