# SPDX-License-Identifier: Apache-2.0
"""Recordings of pick-and-place cycles at 1 kHz, computed from planned motions without a physics engine.

`cycles(robot, seed)`, `empty(robot, seed)` and `steady(robot, seed)` return one `Recording` each, on the arm of that
seed. An arm differs from its model as real ones do: links, torque offsets, gains, friction that it keeps at rest
(amplitudes about those fitted to public logs, which nobody tells the estimator), and a coloured residual. What the
model leaves unexplained of a real arm that stands wanders by .01 N m only (eleven recordings of a standing Panda), so
the residual moves on with the way of the joints; a small share of it moves on with time.

The joints give way under a load as those of a controlled arm do, so that a pick moves them by a part of a milliradian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

import panda_dynamics_ros as pdr
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.robot.joints import PRESLIDING
from panda_dynamics_ros.simulation import SimulatedPanda, exciting_motion
from panda_dynamics_ros.simulation.realism import (
    PRESLIDING_SPREAD,
    OrnsteinUhlenbeck,
    SensorLevels,
    Sensors,
    perturbed_body,
)

STEP = 1e-3  # s
ROBOTS = ("panda", "fr3")
DRY = {"panda": (0.27, 0.36, 0.22, 0.48, 0.37, 0.18, 0.26), "fr3": (0.47, 0.36, 0.31, 0.25, 0.35, 0.26, 0.13)}
"""N m, of friction with memory beside offset and viscous friction, fitted to the public 1 kHz logs."""
DRY_SPREAD = 0.3  # standard deviation of the logarithm, from arm to arm
VISCOUS, OFFSET = 0.1, 0.25  # N m s/rad and N m, standard deviations; those of the logs are .1 to .4 and .01 to .6
LINK_MASS, LINK_COM, LINK_SHAPE = 0.03, 0.002, 0.03  # relative, m, relative: standard deviations
GAIN = 0.005  # of each joint's torque sensor, standard deviation
RESIDUAL, RESIDUAL_TIME = 0.5, 0.4  # of the published residual's level and correlation time, as in `Realism`
AT_REST = 0.1  # share of the residual's standard deviation that moves on with time, not with the way
WAY_SPEED = 1.0  # rad/s, |dq| of the public log, on which the correlation times were measured
COMPLIANCE, BANDWIDTH = 2e-4, 40.0  # rad/(N m) and rad/s: how a joint gives way under a load
SHARE = 0.5  # of the limits of velocity and acceleration
HAND = (0.0, 0.0, 0.1)  # m, in flange axes: where an empty hand is pushed
FRANKA_HAND = InertialParameters(0.73, np.array([-0.01, 0.0, 0.03]), np.diag([0.001, 0.0025, 0.0017]))  # not turned
LINE, LINE_SPEED, PULL, LIFT = 0.15, 0.25, 13.0, 20.0  # m, m/s, N, N
MASSES = (1.0, 0.3, 1.0, 2.0, 1.0, 0.1, 1.0, 3.0, 1.0, 0.5)  # kg
HAPPENINGS = ("none", "reoriented", "poured", "pulled", "lifted")
BRISK_TIME = 64.0  # s
BRISK_RESTS = ((10.0, 2.0), (20.0, 2.0), (31.0, 1.0), (40.0, 0.8), (50.0, 3.0))  # s: begin and length
BRISK_LOADS = (
    *((11.0, 1.0), (21.0, 0.0), (25.0, 0.5), (31.5, 0.0), (35.0, 2.0)),
    *((38.0, 0.0), (40.3, 0.7), (45.0, 0.0), (51.0, 0.3), (58.0, 0.0)),
)  # s, kg: what is carried from then on
STEADY = ((0.7, 1.0), (1.0, 0.5), (1.5, 2.0), (2.0, 1.0), (1.0, 3.0), (1.5, 0.3))  # s within which kg come on
SLIPS = ((1.0, True), (0.5, False), (2.0, True), (1.0, False), (0.8, True), (1.5, False))  # kg; whether at rest
PATIENCE = 1.0  # s after which a pick or release that is complete counts as not noticed


def next_values(p: OrnsteinUhlenbeck, count: int) -> FloatArray:
    """The next `count` values (count, n) of coloured processes at once, as so many steps would give them."""
    noise = p._rng.standard_normal((count, 2 * p._decay.size)).view(np.complex128) * p._input
    driven = np.concatenate([p._state[None], noise])
    states = np.column_stack([lfilter([1.0], [1.0, -a], x) for a, x in zip(p._decay, driven.T, strict=True)])
    p._state = states[-1].copy()
    return np.ascontiguousarray(states[:-1].real)


class RowSensors(Sensors):
    """Sensors that measure a whole motion at once."""

    def measure_rows(self, q: FloatArray, dq: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is reported of the true q, dq and link-side torque (N, n), from their first sample on."""
        noise = (self._white * self.rng.standard_normal((len(q), self._white.size))).reshape(len(q), 3, -1)
        lagging, _ = lfilter([self._gain], [1.0, self._gain - 1.0], dq, axis=0, zi=(1.0 - self._gain) * dq[:1])
        vibration = next_values(self._vibration, len(q))
        return self._rounded(q + noise[:, 0]), lagging + noise[:, 1], tau + noise[:, 2] + vibration


@dataclass(frozen=True)
class Happening:
    """Something that happens to the arm.

    kind: pick, handed over (the load comes on within half a second while the arm stands in the air), steadily (within
    one or two while it moves), held from the start, release, poured, pulled, lifted or pushed. begin, end: s. payload:
    what is carried at `end`.
    """

    kind: str
    begin: float
    end: float
    payload: InertialParameters


@dataclass(frozen=True, eq=False)
class Recording:
    """What an arm of the model `robot` reports, and the truth.

    stamp (N,) s; q, dq, tau (N, n) as measured; truth (N, 10), the inertial vector that is carried, in flange axes.
    """

    name: str
    robot: RobotModel
    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    tau: FloatArray
    truth: FloatArray
    happenings: tuple[Happening, ...]


@dataclass(frozen=True, eq=False)
class Arm:
    """The arm as it is: `robot` with its true links, dry friction with memory (N m, and rad by which it builds up),
    viscous friction, offsets and gains."""

    robot: RobotModel
    dry: FloatArray
    presliding: FloatArray
    viscous: FloatArray
    offset: FloatArray
    gain: FloatArray

    def torques(self, q: FloatArray, dq: FloatArray, ddq: FloatArray, load: FloatArray) -> FloatArray:
        """Link-side torques (N, n) of a motion with `load` (N, n), without residual and noise."""
        s, _ = presliding_states(q * (PRESLIDING / self.presliding))
        rigid = self.robot.inverse_dynamics(q, dq, ddq)
        return self.gain * (rigid + load + self.dry * s + self.viscous * dq + self.offset)


def drawn_arm(robot: RobotModel, rng: np.random.Generator, scale: float = 1.0) -> Arm:
    """An arm that differs from the model as real ones do; scale: of its links' errors, offsets and gains."""
    n, errors = robot.n, (scale * LINK_MASS, scale * LINK_SHAPE, scale * LINK_COM)
    links = tuple(perturbed_body(link, rng, *errors) for link in robot.links)
    dry = np.array(DRY["fr3" if "fr3" in robot.name else "panda"]) * np.exp(DRY_SPREAD * rng.standard_normal(n))
    return Arm(
        replace(robot, links=links),
        dry,
        PRESLIDING * np.exp(PRESLIDING_SPREAD * rng.standard_normal(n)),
        VISCOUS * np.abs(rng.standard_normal(n)),
        scale * OFFSET * rng.standard_normal(n),
        1.0 + scale * GAIN * rng.standard_normal(n),
    )


def cycles(
    robot: RobotModel | str, seed: int, count: int = 10, *, arm: Arm | None = None, at_rest: float = AT_REST,
    heaviest: float = math.inf,
) -> Recording:  # fmt: skip
    """`count` cycles on the arm of a seed: twelve seconds each.

    arm: another one than that of the seed. at_rest: share of the residual that moves on with time; 1 for all of it.
    heaviest: kg, of the objects.
    """
    model = pdr.load_robot(robot) if isinstance(robot, str) else robot
    rng = np.random.default_rng([seed, 24])
    arm = arm or drawn_arm(model, rng)
    work = Work(model, rng)
    for k in range(count):
        mass = min(MASSES[k % len(MASSES)], heaviest)
        work.cycle(mass, HAPPENINGS[k % len(HAPPENINGS)], (1.0, 0.3)[k % 2], handed=k % 5 == 2)
    return work.recorded(f"{model.name}, arm {seed}, cycles", arm, at_rest)


def undeclared(robot: RobotModel | str, seed: int, count: int = 10, *, at_rest: float = AT_REST) -> Recording:
    """`cycles` of an arm with Franka's hand on its flange, of which its model `robot` does not know."""
    model = pdr.load_robot(robot) if isinstance(robot, str) else robot
    arm = drawn_arm(model, np.random.default_rng([seed, 24]))
    arm = replace(arm, robot=arm.robot.with_payload(FRANKA_HAND))
    r = cycles(model, seed, count, arm=arm, at_rest=at_rest, heaviest=2.0)
    happenings = tuple(replace(h, payload=h.payload + FRANKA_HAND) for h in r.happenings)
    return replace(r, truth=r.truth + FRANKA_HAND.vector, happenings=happenings)


def empty(
    robot: RobotModel | str, seed: int, duration: float = 300.0, *, arm: Arm | None = None, at_rest: float = AT_REST
) -> Recording:
    """The same motions with nothing in the hand."""
    model = pdr.load_robot(robot) if isinstance(robot, str) else robot
    rng = np.random.default_rng([seed, 24])
    arm = arm or drawn_arm(model, rng)
    work, k = Work(model, rng), 0
    while work.time < duration:
        work.cycle(0.0, ("none", "reoriented")[k % 2], (1.0, 0.3)[k % 2])
        k += 1
    return work.recorded(f"{model.name}, arm {seed}, empty", arm, at_rest)


def steady(robot: RobotModel | str, seed: int, *, arm: Arm | None = None, at_rest: float = AT_REST) -> Recording:
    """Loads that come on steadily in the middle of a motion, and are put down at rest, ten seconds later."""
    model = pdr.load_robot(robot) if isinstance(robot, str) else robot
    rng = np.random.default_rng([seed, 26])
    arm = arm or drawn_arm(model, rng)
    work = Work(model, rng)
    work.wander(4)
    for rise, mass in STEADY:
        work.move(work.place())
        work.rest(0.5)
        begin = work.time + rng.uniform(0.2, 0.8)
        work.move(work.place(), least=rise + 1.5)
        work.carry("steadily", object_of(mass, rng), rise, begin)
        work.wander(3)
        work.put_down()
    return work.recorded(f"{model.name}, arm {seed}, steadily", arm, at_rest)


def slips(robot: RobotModel | str, seed: int, *, at_rest: float = AT_REST) -> Recording:
    """Objects that slip or turn in the hand by some centimetres, at rest or in motion, and keep their mass."""
    model = pdr.load_robot(robot) if isinstance(robot, str) else robot
    rng = np.random.default_rng([seed, 28])
    arm, work = drawn_arm(model, rng), Work(model, rng)
    work.wander(4)
    for mass, stands in SLIPS:
        work.rest(1.0)
        body = object_of(mass, rng)
        work.carry("pick", body, 0.03)
        work.rest(0.6)
        work.wander(3)
        way = rng.normal(size=3)
        body = replace(body, com=body.com + rng.uniform(0.02, 0.06) * way / np.linalg.norm(way))
        if stands:
            work.rest(0.5)
            work.carry("slipped", body, 0.2)
            work.rest(0.6)
        else:
            begin = work.time + rng.uniform(0.2, 0.8)
            work.move(work.place(), least=2.0)
            work.carry("slipped", body, 0.2, begin)
        work.wander(3)
        work.put_down()
    return work.recorded(f"{model.name}, arm {seed}, slips", arm, at_rest)


def brisk(seed: int) -> Recording:
    """Objects that come and go on MuJoCo's Panda, at rest and in the middle of a brisk motion."""
    robot, rng = pdr.load_robot("panda"), np.random.default_rng([seed, 25])
    plant = SimulatedPanda(robot, seed=seed, excitation=replace(exciting_motion(robot, seed), pauses=BRISK_RESTS))
    happenings = [
        Happening("pick" if mass else "release", at, at, object_of(mass, rng) if mass else InertialParameters.zero())
        for at, mass in BRISK_LOADS
    ]
    rows, truth = [], []
    for k in range(round(BRISK_TIME / STEP)):
        for happening in happenings:
            if k == round(happening.begin / STEP):
                plant.attach(happening.payload) if happening.payload.mass else plant.release()
        rows.append(plant.step())
        truth.append(plant.truth.vector)
    stamp, q, dq, tau = (np.array(column) for column in zip(*rows, strict=True))
    return Recording(f"panda, arm {seed}, brisk", robot, stamp, q, dq, tau, np.array(truth), tuple(happenings))


def object_of(mass: float, rng: np.random.Generator) -> InertialParameters:
    """A body of the size of a hand within some centimetres of the flange's axis."""
    angle, radius = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.0, 0.06)
    com = np.array([radius * np.cos(angle), radius * np.sin(angle), rng.uniform(0.03, 0.15)])
    return InertialParameters(mass, com, mass * np.diag([0.004, 0.004, 0.003]))


@dataclass(eq=False)
class Work:
    """A motion as it is planned, piece by piece, and what happens meanwhile.

    share: of the limits of velocity and acceleration.
    """

    robot: RobotModel
    rng: np.random.Generator
    pieces: list[tuple[FloatArray, FloatArray, FloatArray]] = field(default_factory=list)
    ramps: list[tuple[float, float, FloatArray]] = field(default_factory=list)
    pushes: list[tuple[float, float, float, FloatArray]] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    rows: int = 0
    share: float = SHARE

    def __post_init__(self) -> None:
        self.q = self.place()
        self.rest(1.0)

    @property
    def time(self) -> float:
        """s, of what is planned."""
        return self.rows * STEP

    def rest(self, duration: float) -> None:
        """Stand."""
        q = np.tile(self.q, (max(1, round(duration / STEP)), 1))
        self._add(q, np.zeros_like(q), np.zeros_like(q))

    def move(self, goal: FloatArray, least: float = 0.8) -> None:
        """Go to a posture, all joints together, from rest to rest."""
        way, limits = goal - self.q, self.robot.limits
        acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, 10.0)
        velocity, acceleration = self.share * limits.velocity, self.share * acceleration
        times = [1.875 * np.abs(way) / velocity, np.sqrt(5.774 * np.abs(way) / acceleration)]
        u, du, ddu = _rest_to_rest(max(least, float(np.max(times))))
        self._add(self.q + u * way, du * way, ddu * way)

    def line(self, shift: tuple[float, float, float]) -> None:
        """Move the flange by `shift` (m, base axes) on a straight line; it keeps its orientation."""
        start, q = self.robot.pose(self.q), self.q
        nodes, postures = np.linspace(0.0, 1.0, 21), [self.q]
        for node in nodes[1:]:
            goal = start.copy()
            goal[:3, 3] += node * np.array(shift)
            q = _inverse_kinematics(self.robot, goal, q)
            postures.append(q)
        path = CubicSpline(nodes, postures)
        u, du, ddu = _rest_to_rest(1.875 * float(np.linalg.norm(shift)) / LINE_SPEED)
        x = u[:, 0]
        self._add(path(x), path(x, 1) * du, path(x, 2) * du**2 + path(x, 1) * ddu)

    def wander(self, count: int) -> None:
        """Go to so many places, one after the other."""
        for _ in range(count):
            self.move(self.place())

    def put_down(self) -> None:
        """Stand, and put down at rest what is carried."""
        self.rest(1.0)
        self.carry("release", InertialParameters.zero(), 0.03)
        self.rest(0.8)

    def carry(self, kind: str, payload: InertialParameters, rise: float, begin: float | None = None) -> None:
        """From `begin` on, or now, within `rise` s the load becomes that of `payload`."""
        begin = self.time if begin is None else begin
        self.ramps.append((begin, rise, payload.vector))
        self.happenings.append(Happening(kind, begin, begin + rise, payload))

    def hold(self, payload: InertialParameters) -> None:
        """What is carried from the start."""
        self.ramps.append((-1.0, 1.0, payload.vector))
        self.happenings.append(Happening("held from the start", 0.0, 0.0, payload))

    def push(self, kind: str, force: FloatArray, begin: float, duration: float = 1.0, rise: float = 0.05) -> None:
        """A force (3,), N in base axes, on the payload's centre, or an empty hand; nothing is picked up.

        It rises and falls within `rise` s, as a hand's does.
        """
        carried = self.happenings[-1].payload if self.happenings else InertialParameters.zero()
        self.pushes.append((begin, begin + duration, rise, force))
        self.happenings.append(Happening(kind, begin, begin + duration, carried))

    def cycle(self, mass: float, happening: str, pause: float, handed: bool = False) -> None:
        """Fetch an object of `mass` and put it down elsewhere; without mass the same motion empty."""
        rng = self.rng
        thing = object_of(mass, rng) if mass else None
        self.move(self.place())
        self.line((0.0, 0.0, -LINE))
        before = pause * rng.uniform(0.4, 0.6)
        self.rest(before)
        if thing is not None and not handed:
            self.carry("pick", thing, 0.03)
        self.rest(pause - before)
        self.line((0.0, 0.0, LINE))
        if thing is not None and handed:
            self.rest(1.0)
            self.carry("handed over", thing, 0.5)
            self.rest(1.5)
        began = self.time
        self.move(self.place(), least=3.0 if happening == "lifted" else 0.8)
        if thing is not None and happening == "lifted":
            self.push("lifted", np.array([0.0, 0.0, LIFT]), began + 1.0)
        if happening == "reoriented":
            turned = self.q.copy()
            turned[4:] += rng.uniform(0.4, 0.8, 3) * rng.choice([-1.0, 1.0], 3)
            back = self.q
            self.move(np.clip(turned, self.robot.limits.lower + 0.1, self.robot.limits.upper - 0.1))
            self.rest(pause)
            self.move(back)
        if thing is not None and happening == "poured":
            self.rest(1.0)
            self.carry("poured", InertialParameters(mass / 3.0, thing.com, thing.inertia / 3.0), 3.0)
            self.rest(4.5)
        if thing is not None and happening == "pulled":
            self.rest(3.5)
            angle = rng.uniform(0.0, 2.0 * np.pi)
            down = np.array([0.5 * np.cos(angle), 0.5 * np.sin(angle), -1.0])
            self.push("pulled", PULL * down / np.linalg.norm(down), self.time - 2.5)
        self.line((0.0, 0.0, -LINE))
        self.rest(pause / 2.0)
        if thing is not None:
            self.carry("release", InertialParameters.zero(), 0.03)
        self.rest(pause / 2.0)
        self.line((0.0, 0.0, LINE))

    def recorded(self, name: str, arm: Arm, at_rest: float, residual: float = RESIDUAL) -> Recording:
        """What the arm reports on the motion so far."""
        q, dq, ddq = (np.concatenate(parts) for parts in zip(*self.pieces, strict=True))
        stamp = np.linspace(0.0, STEP * (len(q) - 1), len(q))
        truth = self._truth(stamp)
        given = self._load(q, dq, ddq, truth, stamp)
        bend = -COMPLIANCE * _second_order(given, BANDWIDTH)
        bend_rate = np.gradient(bend, STEP, axis=0)
        true = q + bend, dq + bend_rate, ddq + np.gradient(bend_rate, STEP, axis=0)
        tau = arm.torques(*true, self._load(*true, truth, stamp)) + self._residual(true[1], at_rest, residual)
        levels = SensorLevels()
        sensors = RowSensors(levels, levels.joint_offset * self.rng.standard_normal(self.robot.n), STEP, self.rng)
        measured = sensors.measure_rows(true[0], true[1], tau)
        return Recording(name, self.robot, stamp, *measured, truth, tuple(self.happenings))

    def _truth(self, stamp: FloatArray) -> FloatArray:
        carried, truth = np.zeros(10), np.zeros((len(stamp), 10))
        for begin, rise, vector in self.ramps:
            share = np.clip((stamp - begin) / rise, 0.0, 1.0)[:, None]
            after = stamp >= begin
            truth[after] = ((1.0 - share) * carried + share * vector)[after]
            carried = vector
        return truth

    def _load(self, q: FloatArray, dq: FloatArray, ddq: FloatArray, truth: FloatArray, stamp: FloatArray) -> FloatArray:
        """Torques (N, n) of what is carried, less those of what pushes at its centre."""
        load = np.zeros_like(q)
        held = np.flatnonzero(truth[:, 0] > 0.0)
        for part in np.array_split(held, max(1, len(held) // 4096)):
            Y = self.robot.payload_regressor(q[part], dq[part], ddq[part])
            load[part] = np.einsum("kij,kj->ki", Y, truth[part])
        for begin, end, within, force in self.pushes:
            pushed = np.flatnonzero((stamp >= begin) & (stamp < end))
            J, T = self.robot.jacobian(q[pushed]), self.robot.pose(q[pushed])
            mass = truth[pushed, :1]
            com = np.where(mass > 0.0, truth[pushed, 1:4] / np.maximum(mass, 1e-9), HAND)
            moment = np.cross(np.einsum("kij,kj->ki", T[:, :3, :3], com), force)
            wrench = np.concatenate([np.broadcast_to(force, moment.shape), moment], axis=1)
            rise = np.clip(np.minimum(stamp[pushed] - begin, end - stamp[pushed]) / within, 0.0, 1.0)
            load[pushed] -= rise[:, None] * np.einsum("kij,ki->kj", J, wrench)
        return load

    def _residual(self, dq: FloatArray, at_rest: float, level: float) -> FloatArray:
        residual, rows = self.robot.residual, len(dq)
        std, time = level * residual.std, RESIDUAL_TIME * residual.correlation_time
        way = np.cumsum(np.linalg.norm(dq, axis=1) / WAY_SPEED * STEP)
        on_way = next_values(
            OrnsteinUhlenbeck(np.sqrt(1.0 - at_rest**2) * std, time, STEP, self.rng), int(way[-1] / STEP) + 2
        )
        in_time = next_values(OrnsteinUhlenbeck(at_rest * std, time, STEP, self.rng), rows)
        return on_way[(way / STEP).astype(int)] + in_time

    def place(self) -> FloatArray:
        """A posture above a table whose flange points down, within some degrees."""
        rng = self.rng
        q = np.array(
            [rng.uniform(-0.9, 0.9), rng.uniform(-0.4, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-2.3, -1.8), 0, 0, 0]
        )
        q[4:] = rng.uniform(-0.3, 0.3), q[1] - q[3] + rng.uniform(-0.15, 0.15), 0.8 + rng.uniform(-1.0, 1.0)
        return q

    def _add(self, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> None:
        self.pieces.append((q, dq, ddq))
        self.rows += len(q)
        self.q = q[-1].copy()


def _rest_to_rest(duration: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """u from 0 to 1 and its derivatives, (k, 1): the polynomial of fifth degree."""
    k = max(2, round(duration / STEP))
    x, T = (np.arange(1, k + 1) / k)[:, None], k * STEP
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2 / T,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / T**2,
    )


def _inverse_kinematics(robot: RobotModel, goal: FloatArray, q: FloatArray) -> FloatArray:
    """The posture near q whose flange is at `goal`: Newton's method with the smallest steps."""
    for _ in range(10):
        T = robot.pose(q)
        turn = 0.5 * sum(np.cross(T[:3, i], goal[:3, i]) for i in range(3))
        error = np.concatenate([goal[:3, 3] - T[:3, 3], turn])
        if np.abs(error).max() < 1e-10:
            break
        q = q + np.linalg.pinv(robot.jacobian(q)) @ error
    return q


def _second_order(x: FloatArray, bandwidth: float) -> FloatArray:
    """x (N, n) through two real poles at `bandwidth`, rad/s, from rest at its first value."""
    pole = np.exp(-bandwidth * STEP)
    for _ in range(2):
        x, _ = lfilter([1.0 - pole], [1.0, -pole], x, axis=0, zi=pole * x[:1])
    return x
