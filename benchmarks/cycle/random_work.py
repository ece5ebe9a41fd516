# SPDX-License-Identifier: Apache-2.0
"""Random work on random arms, reported by random signals: `scenario(seed)`.

Objects of 0.12 to 2.5 kg come and go at once or within half a second, at rest or in motion, one on top of another or in
its place. Meanwhile, whether the arm holds something or not, one of `HANDS` is at it. The arm may hold an object from
the start.
"""

from __future__ import annotations

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.cycle.recordings import RESIDUAL, ROBOTS, Recording, Work, drawn_arm
from benchmarks.cycle.signals import SIGNALS
from panda_dynamics_ros import InertialParameters

DURATION = 30.0  # s, about
HEAVIEST = 2.8  # kg, of all that is carried at once
UNUSUAL = (
    "dry friction of 6 % of the torque more", "motor currents with this friction", "torques 25 ms late",
    "torques behind a low-pass of 5 Hz",
)  # fmt: skip
"""Signals that `--signals` has and random work leaves out: most are outside of the model of an arm's errors."""
NOTHING = InertialParameters.zero()


def scenario(seed: int, hand: str = "pushes", loaded: bool = False) -> Recording:
    """A recording of some things that happen to an arm, as one of `SIGNALS` reports it.

    hand: one of `HANDS`. loaded: whether the arm holds something from the start.
    """
    rng = np.random.default_rng([seed, 27])
    robot = pdr.load_robot(str(rng.choice(ROBOTS)))
    arm = drawn_arm(robot, rng, rng.uniform(0.5, 1.5))
    work, carried = Work(robot, rng), NOTHING
    if loaded:
        carried = thing(rng)
        work.hold(carried)
    while work.time < DURATION:
        work.share = rng.uniform(0.15, 0.8)
        steps = (_pick, _pick_in_motion) if carried.mass == 0.0 else (_put_down, _drop_in_motion, _swap, _add)
        steps = (_go, HANDS[hand], *steps)
        carried = steps[int(rng.integers(len(steps)))](work, carried)
    recording = work.recorded(f"scenario {seed}", arm, rng.uniform(0.05, 0.2), RESIDUAL * rng.uniform(0.5, 1.5))
    usual = [name for name in SIGNALS if name not in UNUSUAL]
    name = usual[0] if rng.random() < 0.5 else str(rng.choice(usual))
    return SIGNALS[name](recording, rng)


def thing(rng: np.random.Generator, heaviest: float = 2.5) -> InertialParameters:
    """An object that may stick out by 0.25 m."""
    mass = min(float(np.exp(rng.uniform(np.log(0.12), np.log(2.5)))), heaviest)
    radius = rng.uniform(0.0, 0.1) if rng.random() < 0.8 else rng.uniform(0.1, 0.25)
    angle = rng.uniform(0.0, 2.0 * np.pi)
    com = np.array([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(0.0, 0.2)])
    return InertialParameters(mass, com, mass * np.diag([0.004, 0.004, 0.003]))


def _at_rest(work: Work, kind: str, carried: InertialParameters, rise: float) -> InertialParameters:
    work.rest(work.rng.uniform(0.3, 1.5))
    work.carry(kind, carried, rise)
    work.rest(rise + work.rng.choice([0.6, 1.5, 4.0]) * work.rng.uniform(0.8, 1.2))
    return carried


def _in_motion(work: Work, kind: str, carried: InertialParameters, rise: float) -> InertialParameters:
    work.carry(kind, carried, rise, work.time + work.rng.uniform(0.3, 0.7))
    work.move(work.place(), least=2.0)
    return carried


def _go(work: Work, carried: InertialParameters) -> InertialParameters:
    for _ in range(work.rng.integers(1, 4)):
        work.move(work.place())
    work.rest(work.rng.uniform(0.0, 6.0))
    return carried


def _push(work: Work, carried: InertialParameters) -> InertialParameters:
    """Somebody pushes the arm, in any direction."""
    rng = work.rng
    force, duration = rng.uniform(6.0, 30.0) * direction(rng), float(rng.choice([0.3, 1.0, 3.0]))
    work.push("pushed", force, work.time + 0.3, duration, float(rng.choice([0.02, 0.1, 0.3])))
    if rng.random() < 0.6:
        work.rest(0.3 + duration + rng.uniform(0.5, 2.0))
    else:
        work.move(work.place(), least=0.8 + duration)
    return carried


def _guide(work: Work, carried: InertialParameters) -> InertialParameters:
    """Somebody guides the arm, with forces that turn."""
    rng, begin, duration = work.rng, work.time + 0.3, work.rng.uniform(3.0, 8.0)
    strength = rng.uniform(4.0, 15.0)
    work.push("pushed", np.zeros(3), begin, duration)
    for at in np.arange(begin, begin + duration - 1.0, 0.5):  # linear from one force to the next
        work.pushes.append((at, at + 1.0, 0.5, strength * rng.standard_normal(3)))
    while work.time < begin + duration:
        work.move(work.place(), least=1.5)
    work.rest(rng.uniform(0.5, 2.0))
    return carried


def _press(work: Work, carried: InertialParameters) -> InertialParameters:
    """The arm presses on something, mostly from above, and half of the times moves along it, with friction."""
    rng, begin, duration, start = work.rng, work.time + 0.3, work.rng.uniform(3.0, 10.0), work.q
    force, rise = rng.uniform(5.0, 25.0), float(rng.choice([0.1, 0.3, 1.0]))
    normal = np.array([0.0, 0.0, 1.0]) if rng.random() < 0.7 else direction(rng)
    work.push("pushed", force * normal, begin, duration, rise)
    if rng.random() < 0.5:
        work.rest(0.3 + duration)
    else:
        friction = rng.uniform(0.1, 0.5) * force
        for at in np.arange(begin, begin + duration - 1.0, 0.5):
            along = np.cross(normal, direction(rng))
            work.pushes.append((at, at + 1.0, 0.5, friction * along / np.linalg.norm(along)))
        while work.time < begin + duration:
            work.move(start + 0.1 * rng.standard_normal(7), least=1.0)
    work.rest(rng.uniform(0.5, 2.0))
    return carried


def direction(rng: np.random.Generator) -> np.ndarray:
    """A unit vector."""
    d = rng.standard_normal(3)
    return np.asarray(d / np.linalg.norm(d))


def _pick(work: Work, carried: InertialParameters) -> InertialParameters:
    return _at_rest(work, "pick", thing(work.rng), float(work.rng.choice([0.02, 0.05, 0.2, 0.5])))


def _pick_in_motion(work: Work, carried: InertialParameters) -> InertialParameters:
    return _in_motion(work, "pick", thing(work.rng), float(work.rng.choice([0.02, 0.1, 0.3])))


def _put_down(work: Work, carried: InertialParameters) -> InertialParameters:
    return _at_rest(work, "release", NOTHING, 0.03)


def _drop_in_motion(work: Work, carried: InertialParameters) -> InertialParameters:
    return _in_motion(work, "release", NOTHING, 0.03)


def _swap(work: Work, carried: InertialParameters) -> InertialParameters:
    work.rest(0.3)
    work.carry("release", NOTHING, 0.03)
    work.rest(work.rng.uniform(0.3, 2.0))
    return _at_rest(work, "pick", thing(work.rng), 0.03)


def _add(work: Work, carried: InertialParameters) -> InertialParameters:
    if carried.mass > HEAVIEST - 0.2:
        return _go(work, carried)
    return _at_rest(work, "pick", carried + thing(work.rng, HEAVIEST - carried.mass), 0.03)


HANDS = {"pushes": _push, "guides": _guide, "presses": _press}
"""By name: forces of 6 to 30 N for at most 3 s, those of a hand for 3 to 8 s, those of a table for 3 to 10 s."""
