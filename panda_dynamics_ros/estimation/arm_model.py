# SPDX-License-Identifier: Apache-2.0
"""The generative model: how an arm differs from its description, what its torques do besides, what people do to it.

The filtered torque that the description of the unloaded arm leaves unexplained (`regression`) is

    y = Y theta + d + A phi + e.

theta    the payload (10,) as the torques show it, (1 + g) times what is carried (g: common gain below), so that y is
         linear; a Gaussian prior of mean zero; a random walk but for changes (`hypotheses`).
phi      what the description has wrong for long, standard normal. Each column of A is a torque that the description
         would have to add, times how far arms of one type differ from it, one sigma:

    links        an error of the inertial parameters: Y_arm J u_k, with J J' the covariance of their errors and u_k the
                 directions that move the torques most (principal components over the arm's range of motion)
    tilt         of the base, about its two horizontal axes: the change of the gravity torques
    delay        of the torque signal: minus the rate of the torques that description and payload make
    common gain  of all torques: what the description expects of the arm. A gain of the load cannot be told from its
                 mass, so that it is learnt from the arm's own torques
    load         dry friction of the gears, which grows with the torque, |torque| s: only motor currents have it
    offset       of each joint's torque: 1
    friction     dry, of each joint: s, which follows the way of the joint and is kept at rest (`dynamics.friction`)
    viscous      friction of each joint: dq
    soft         what published friction, a function of the velocity, has beside these
    rotor        inertia of each joint: d/dt dq

d        what changes with posture and velocity: one Ornstein-Uhlenbeck process per joint, d <- a d + w with
         var w = sigma^2 (1 - a^2) and a = exp(-u). Its clock u runs with time in motion and where the joint's dry
         friction turns; at rest it creeps, as sensors and friction do. sigma is learnt. While somebody touches the arm,
         d is what the hand does: large, and it changes with time.
e        white noise, whose variance is learnt, that of the signals themselves, torques and velocities, which is
         measured, and a slow ripple of the sensors that does not average out.

Gains of single joints are not in phi: its links and offsets explain as much of the torques. A, Y and y pass the same
two low-pass filters. Delay and gain belong to modelled torques, not to the measured one: a regressor that shares the
noise of y would be biased (errors in variables).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_of_joint
from panda_dynamics_ros.dynamics.kernels.chain import place_joints
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.dynamics.momentum import momentum_sample
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_of_one
from panda_dynamics_ros.estimation.regression import ARM, FilterState, dry_friction, filter_step, first_order_hold
from panda_dynamics_ros.robot.description import CURRENT, INERTIAL, TRANSLATION, RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS, InertialParameters
from panda_dynamics_ros.robot.joints import PRESLIDING
from panda_dynamics_ros.robot.residual_map import DRIFT, DRIFT_TIME, NOISE_TIME

# ---- phi, one sigma: how arms of one type differ. docs/payload.md has the sources of all numbers of this file.
LINK_MASS, LINK_COM, LINK_SHAPE = 0.028, 0.0014, 0.035  # share; m, each coordinate; share of the second moments
TILT, DELAY, COMMON_GAIN, LOAD_FRICTION = 0.005, 0.005, 0.015, 0.02  # rad; s; share; share of the torque
OFFSET, DRY_SHARE, DRY, VISCOUS, SOFT, ROTOR = 0.3, 0.4, 0.3, 0.3, 0.7, 0.05
"""N m; share of the published dry friction, or N m where none is published; N m s/rad; share; kg m^2."""
# ---- d and e, in standard deviations and correlation times of the residual of the description (`ResidualModel`)
DISTURBANCE, CORRELATION, WHITE = 0.75, 0.8, 0.3
RIPPLE, RIPPLE_TIME = 0.03, 0.4  # s: what a sensor wanders by while the arm stands
FULL_SPEED, SLOW = 0.3, 0.1  # rad/s, |dq| from which on all time counts as motion, below in proportion; share at rest
CREEP = 0.01  # s of motion that a second at rest counts as: sensors warm up, and friction creeps
TURN, TURN_PLAY = 0.5, 0.1  # clock per unit of s, and by how much s may change before it counts
TOUCH, TOUCH_TIME = 20.0, 0.3  # of a hand that touches the arm: level; s
# ---- memories, s of motion
LEVEL_MEMORY, LEVEL_PRIOR, WHITE_PRIOR = 20.0, 3.0, 1.0
OUTLIER = 9.0  # variances, beyond which a value does not count as more

TERMS = ("offset", "friction", "viscous", "soft", "rotor_inertia")
"""Of each joint, in the order of its columns."""
OWN, EXTRA = len(TERMS), 5
"""Columns of each joint alone; shared columns beside those of the links: two tilts, delay, common gain, load."""
NEGLIGIBLE = 0.1  # torque, in standard deviations of the residual, that the directions left out make up at most
_STATES, _SPEED, _ACCELERATION = 300, 0.3, 0.15  # random states; shares of the limits, one sigma


@compiled
def error_terms(tables, moving, dry, published, memory, std, q, dq, s, momentum, bias):
    """Terms (n, k + 4) of all columns, as `regression` has them, in place.

    They are links, tilts, and [friction, viscous, soft, rotor] of each joint; `std` (n, 5) is for `TERMS`. Momentum and
    bias are linear in what `tables` (k, ..) have as inertia, those of the links, which are `moving` so many, or as
    gravity.
    """
    n, last = q.shape[0], tables.shape[0]
    frames, work = np.empty((n, 12)), np.empty((n, 9))
    p, torque, rest = np.empty(n), np.empty(n), np.zeros(n)
    place_joints(tables[0], q, frames)
    for k in range(last):
        momentum_sample(tables[k], frames, dq if k < moving else rest, work, p, torque)
        for i in range(n):
            momentum[i, k], bias[i, k] = p[i], torque[i]
    for i in range(n):
        momentum[i, last] = momentum[i, last + 1] = momentum[i, last + 2] = 0.0
        bias[i, last] = std[i, 1] * dry[i] * s[i]
        bias[i, last + 1] = std[i, 2] * dq[i]
        steady = friction_of_joint(published[i], dq[i], math.tanh(dq[i] / published[i, 3]))
        bias[i, last + 2] = std[i, 3] * (steady - friction_of_joint(memory[i], dq[i], s[i]))
        momentum[i, last + 3], bias[i, last + 3] = std[i, 4] * dq[i], 0.0


@compiled
def error_columns(second, arm, load, std, ratio, share, A):
    """A (n, size of phi) from the filtered terms, in place; zeros stay.

    `arm` (3, n): as of `MomentumRegression.expected`. `load` (n,), 1/(N m): friction that 1 N m of load adds, over
    that of the joint's own column. All columns are multiplied by `ratio` and `share` (n,).
    """
    delay = second.shape[1] - OWN + 1
    for i in range(A.shape[0]):
        scale, own = ratio[i] * share[i], delay + 3 + OWN * i
        A[i, delay], A[i, delay + 1] = -DELAY * scale * arm[1, i], COMMON_GAIN * scale * arm[0, i]
        A[i, delay + 2] = load[i] * scale * arm[2, i] * second[i, delay]
        A[i, own] = scale * std[i, 0]
        for k in range(second.shape[1]):
            A[i, k if k < delay else own + 1 + k - delay] = scale * second[i, k]


@dataclass(frozen=True, eq=False)
class ArmErrors:
    """What an arm's description has wrong, as learnt, each with its standard deviation (`_std`).

    offset: (n,), N m. friction: (n,), share of the published dry friction, or N m where none is published.
    viscous: (n,), N m s/rad. soft: (n,), share. rotor_inertia: (n,), kg m^2.
    tilt: (2,), rad, to `robot.horizontal`. delay: (1,), s, of the torques. common_gain: (1,), share, of all torques.
    """

    offset: FloatArray
    friction: FloatArray
    viscous: FloatArray
    soft: FloatArray
    rotor_inertia: FloatArray
    tilt: FloatArray
    delay: FloatArray
    common_gain: FloatArray
    offset_std: FloatArray
    friction_std: FloatArray
    viscous_std: FloatArray
    soft_std: FloatArray
    rotor_inertia_std: FloatArray
    tilt_std: FloatArray
    delay_std: FloatArray
    common_gain_std: FloatArray


class ErrorColumns:
    """The columns A (n, size) of one arm, for phi: `shared` entries that act on all joints, then five of each joint.

    robot: the arm as it is described.
    pole: rad/s, of both filters.
    ratio: of all errors of this arm, beside its `residual.error_ratio`, to those of an arm known by its type only.
    """

    def __init__(self, robot: RobotDescription, pole: float, ratio: float = 1.0) -> None:
        self._pole = pole
        self._published, self._memory = robot.friction.table, dry_friction(robot.friction)
        dry = self._memory[:, 1]
        self._std = np.tile([OFFSET, DRY_SHARE, VISCOUS, SOFT, ROTOR], (robot.n, 1))
        self._std[dry == 0.0, 1] = DRY
        self._dry = np.where(dry == 0.0, 1.0, dry)
        self.dry = np.where(dry == 0.0, DRY, dry)
        """(n,), N m: amplitude of the dry friction that the description has, or what is usual."""
        self._load = LOAD_FRICTION * (robot.effort == CURRENT) / (self._std[:, 1] * self._dry)
        self._ratio = ratio * robot.residual.error_ratio
        self._shared_ratio = float(self._ratio.mean())
        changes = [_with_inertia(robot, change) for change in error_directions(robot).T]
        self._links = len(changes)  # none for an arm whose links weigh next to nothing
        self._tables = checks.read_only(np.array([*changes, _leaning(robot, 0), _leaning(robot, 1)]))
        self.shared, columns = self._links + EXTRA, len(self._tables) + OWN - 1
        self._terms, self._filters = np.zeros((2, robot.n, columns)), FilterState.at_rest(robot.n, columns)
        self.H = np.eye(robot.n, PARAMETERS + robot.n + self.shared + OWN * robot.n, PARAMETERS)  # [Y | 1 | A]

    @property
    def A(self) -> FloatArray:
        """The last columns of `H`; no attribute, which a copy of the estimator would have apart from it."""
        return self.H[:, PARAMETERS + len(self.H) :]

    @property
    def size(self) -> int:
        """Length of phi."""
        return self.A.shape[1]

    @property
    def common_gain(self) -> tuple[int, float]:
        """Place of the common gain in phi, and its one sigma."""
        return self.shared - 2, COMMON_GAIN * self._shared_ratio

    def step(self, dt: float, sample: tuple[FloatArray, ...], arm: FloatArray, share: FloatArray) -> FloatArray:
        """A at a sample (q, dq, s) that comes `dt` s after the last one; infinite, and it starts the filters.

        arm: (3, n), N m and N m/s, as of `MomentumRegression.expected`.
        share: (n,), what a residual map leaves of the errors.
        """
        momentum, bias = self._terms
        error_terms(
            self._tables, self._links, self._dry, self._published, self._memory, self._std, *sample, momentum, bias
        )
        filter_step(momentum, bias, self._pole, first_order_hold(self._pole, dt), self._filters)
        error_columns(self._filters.second, arm, self._load, self._std, self._ratio, share, self.A)
        return self.A

    def delay(self, phi: FloatArray) -> float:
        """s, by which the torques are behind the positions."""
        return DELAY * self._shared_ratio * float(phi[self.shared - 3])

    def errors(self, mean: FloatArray, variance: FloatArray) -> ArmErrors:
        """Mean and variance of phi, (size,) each, in physical units."""
        found: dict[str, Any] = {}
        ratio, k = self._shared_ratio, self.shared
        for suffix, values in (("", mean), ("_std", np.sqrt(np.maximum(variance, 0.0)))):
            own = values[k:].reshape(-1, OWN) * self._std * self._ratio[:, None]
            found |= {f"{name}{suffix}": own[:, place] for place, name in enumerate(TERMS)}
            found[f"tilt{suffix}"] = ratio * TILT * values[k - 5 : k - 3]
            found[f"delay{suffix}"] = ratio * DELAY * values[k - 3 : k - 2]
            found[f"common_gain{suffix}"] = ratio * COMMON_GAIN * values[k - 2 : k - 1]
        return ArmErrors(**found)


def _leaning(robot: RobotDescription, axis: int) -> FloatArray:
    """The table of an arm whose gravity is what one sigma of tilt adds to it."""
    table, size = robot.table.copy(), float(np.linalg.norm(robot.gravity))
    table[robot.n + 2, TRANSLATION : TRANSLATION + 3] = TILT * size * robot.horizontal[axis]
    return table


def _with_inertia(robot: RobotDescription, vector: FloatArray) -> FloatArray:
    """The table of an arm with other inertial parameters (10 n,), in which momentum and torques are linear."""
    table = robot.table.copy()
    table[: robot.n, INERTIAL:] = vector.reshape(robot.n, PARAMETERS)
    return table


@lru_cache(maxsize=4)  # a tenth of the time of a short recording, of many with one robot
def error_directions(robot: RobotDescription) -> FloatArray:
    """J U (10 n, k): changes of the links' inertial vectors, one sigma each, that the torques show.

    J J' is the prior covariance of all links' errors, and U has the principal components of the torques Y J that they
    make in random states, in units of the residual. Those that are left out make up `NEGLIGIBLE` of it, RMS.
    """
    rng, limits, n = np.random.default_rng(0), robot.limits, robot.n
    q = rng.uniform(limits.lower, limits.upper, (_STATES, n))
    dq = _SPEED * limits.velocity * rng.standard_normal((_STATES, n))
    ddq = _ACCELERATION * limits.acceleration * rng.standard_normal((_STATES, n))
    J = np.zeros((PARAMETERS * n, PARAMETERS * n))
    for i, link in enumerate(robot.links):
        J[PARAMETERS * i : PARAMETERS * (i + 1), PARAMETERS * i : PARAMETERS * (i + 1)] = _link_errors(link)
    torques = np.empty((PARAMETERS * n, _STATES, n))
    for change, torque in zip(J.T, torques, strict=True):
        table = checks.read_only(_with_inertia(robot, change))
        newton_euler_of_one(table, 1.0, q.ravel(), dq.ravel(), ddq.ravel(), torque.ravel())
    torques = np.moveaxis(torques / robot.residual.std, 0, -1)
    variances, U = np.linalg.eigh(np.einsum("kia,kib->ab", torques, torques) / (_STATES * n))
    left_out = np.cumsum(variances) < NEGLIGIBLE**2
    kept = U[:, ~left_out][:, ::-1]
    # The sign of a component is arbitrary; what is saved on one machine is to mean the same on another.
    kept *= np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])])
    return np.ascontiguousarray(J @ kept)


def _link_errors(link: InertialParameters) -> FloatArray:
    """(10, 10): the change of a link's inertial vector by one sigma of its mass, CoM (3) and second moments (6)."""
    m, c, size = link.mass, link.com, 0.5 * float(np.trace(link.inertia))
    columns = [LINK_MASS * link.vector]
    for e in np.eye(3):  # d/dc of m (c'c 1 - c c')
        steiner = m * (2.0 * (e @ c) * np.eye(3) - np.outer(e, c) - np.outer(c, e))
        columns.append(LINK_COM * np.concatenate(([0.0], m * e, steiner[np.triu_indices(3)])))
    diagonal = np.array([1.0, 0.5, 0.5, 1.0, 0.5, 1.0])  # products of inertia are smaller
    columns += [np.concatenate((np.zeros(4), row)) for row in np.diag(LINK_SHAPE * size * diagonal)]
    return np.column_stack(columns)


@compiled
def follow_density(momentum, bias, w, steps, age, last, density):
    """Follow the spectral density (n,), (N m)^2 s, of the white noise of bias - w momentum of the arm; the new age, s.

    Second differences of white noise of variance r have the variance 6 r; those of the arm's motion are small.

    momentum, bias: (N, n, 13), terms; w: rad/s, pole of the filters. density, last: in place.
    age: s, of the stream, which starts again where `steps` (N,) has a zero. last: (2, n), input and first difference.
    """
    for k in range(steps.shape[0]):
        age = age + steps[k] if steps[k] > 0.0 else 0.0
        for i in range(bias.shape[1]):
            new = bias[k, i, ARM] - w * momentum[k, i, ARM]
            change = new - last[0, i]
            if age > steps[k] > 0.0:
                seen = (change - last[1, i]) ** 2 * steps[k] / 6.0
                if age > WHITE_PRIOR:
                    seen = min(seen, OUTLIER * density[i])
                density[i] += steps[k] / min(LEVEL_MEMORY, age) * (seen - density[i])
            last[0, i], last[1, i] = new, change
    return age


class Noise:
    """Level and clock of one arm's disturbance, and the white noise beside it, learnt by expectation maximisation.

    robot: the arm, with its residual model and its residual map.
    period: s, of the filter.

    ratio: (n,), standard deviation of the disturbance in units of the residual model's `DISTURBANCE`; 1 at first.
    white: (n,), (N m)^2.
    unexplained: (n,), share of the residual's variance that a residual map leaves open.
    share: (n,), standard deviation of what a map leaves, slow changes since then included, over the whole.
    """

    def __init__(self, robot: RobotDescription, period: float) -> None:
        residual, residual_map = robot.residual, robot.residual_map
        self._std, self._time = DISTURBANCE * residual.std, CORRELATION * residual.correlation_time
        self._least = (RIPPLE * residual.std) ** 2 * max(1.0, 2.0 * RIPPLE_TIME / period)
        self._quick = np.zeros(robot.n)
        if residual_map is not None:  # what keeps its value for longer than an update counts once
            self._quick = max(1.0, 2.0 * NOISE_TIME / period) * residual_map.noise**2
        self.restart()

    def restart(self) -> None:
        """Return to the residual model's level."""
        n = len(self._std)
        self.ratio, self.white, self._motion = np.ones(n), (WHITE * self._std) ** 2, 0.0
        self.enter(np.ones(n))
        self._turned, self._age, self._last, self._density = np.zeros(n), 0.0, np.zeros((2, n)), np.zeros(n)

    def measure(self, momentum: FloatArray, bias: FloatArray, pole: float, steps: FloatArray) -> None:
        """Follow the noise of N samples by their terms (N, n, 13). steps: (N,), s before each; 0: a stream starts."""
        self._age = follow_density(momentum, bias, pole, steps, self._age, self._last, self._density)

    def enter(self, unexplained: FloatArray) -> None:
        """Come to a state in which a residual map leaves this share (n,) of the variance open."""
        # Of the two parts, weighted by their variances; without a map there is no second one.
        self.unexplained, known = unexplained, (1.0 - unexplained) * DRIFT**2
        self.share = np.sqrt(unexplained + known)
        self._level, self._floor = self.share * self._std, unexplained * self._least + (1.0 - unexplained) * self._quick
        times = unexplained * self._time + known * np.minimum(self._time, DRIFT_TIME)
        self._correlation = times / (unexplained + known)

    @property
    def std(self) -> FloatArray:
        """(n,), N m, of the disturbance in the present state."""
        return self.ratio * self._level

    def decay(self, motion_time: float, s: FloatArray) -> FloatArray:
        """a (n,), for `motion_time` s of motion that have led to the direction s (n,) of the dry friction."""
        before, self._turned = self._turned, np.minimum(np.maximum(self._turned, s - TURN_PLAY), s + TURN_PLAY)
        return np.exp(-motion_time / self._correlation - TURN * np.abs(self._turned - before))

    def white_variance(self, dt: float, not_averaged: float) -> FloatArray:
        """(n,), (N m)^2, of e, of which there is a value each `dt` s.

        The noise of the signals counts by its spectral density, since neighbours share what the filters have
        spread. `not_averaged`: share of the disturbance's variance that a slow stream aliases.
        """
        return self.unexplained * self.white + self._floor + not_averaged * self.std**2 + self._density / dt

    def learn(self, motion_time: float, d: FloatArray, variance: FloatArray, nu: FloatArray, S: FloatArray) -> None:
        """Follow the disturbance, known as d and its variance (n,), and innovations nu of variance S (n,).

        sigma^2 <- mean of E[d]^2 + var d over time in motion, since the innovations say only how quickly the torque
        changes, and not how far it stays off; R <- mean of E[e^2].
        """
        self._motion += motion_time
        squared = self.ratio**2
        seen = np.minimum((d**2 + variance) / self._level**2, OUTLIER * squared)
        self.ratio = np.sqrt(squared + motion_time / min(LEVEL_MEMORY, LEVEL_PRIOR + self._motion) * (seen - squared))
        gain = self.white / S  # of e = sqrt(u) w it is w whose variance is learnt
        more = self.unexplained * gain * (gain * np.minimum(nu**2, OUTLIER * S) - self.white)
        self.white = self.white + motion_time / min(LEVEL_MEMORY, WHITE_PRIOR + self._motion) * more


class MotionClock:
    """Time in motion, from positions that pass a play of the size of the dry friction's presliding: noise is none."""

    def __init__(self, n: int) -> None:
        self._place = np.full(n, math.nan)
        self.still = 0.0
        """s, at rest since the last motion."""

    def restart(self) -> None:
        """Forget the posture."""
        self._place[:] = math.nan

    def step(self, q: FloatArray, dt: float) -> float:
        """s of the last `dt` s, which have led to q (n,), that count as motion."""
        if math.isnan(self._place[0]):
            self._place[:] = q
        before, self._place = self._place, np.minimum(np.maximum(self._place, q - PRESLIDING), q + PRESLIDING)
        moved = self._place - before
        motion = min(dt, math.sqrt(float(moved @ moved)) / FULL_SPEED)
        self.still = 0.0 if motion > SLOW * dt else self.still + dt
        return motion
