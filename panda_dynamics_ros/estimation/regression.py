# SPDX-License-Identifier: Apache-2.0
"""The regression y = Y theta + A phi + .. of a payload, which needs no acceleration.

The payload's torque is d/dt(Y_p theta) + Y_b theta (`dynamics.momentum`), and the torque that the unloaded arm does
not explain is tau - friction - dp/dt - bias. Both sides pass the same two first-order low-pass filters with pole w.
The derivative is taken together with the first filter, since w s / (s + w) = w (1 - w / (s + w)):

    Y = F2[ w Y_p - F1(w Y_p - Y_b) ],      y = F2[ F1(tau - friction) - (w p - F1(w p - bias)) ].

The second pole attenuates the noise of dq. After one pole only, this noise reaches y and Y alike, with gain w M, and
regressors that share the noise of the measurement bias the estimated mass (errors in variables).

`ArmTerms` has what goes into the filters, once for each sample; filters of any pole use the same terms. Dry friction
follows the way of the joints and is kept at rest (`dynamics.friction`), so that terms depend on the samples before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_of_joint, presliding_step
from panda_dynamics_ros.dynamics.kernels.chain import place_joints
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.dynamics.momentum import momentum_sample, payload_momentum_sample
from panda_dynamics_ros.estimation.validation import without_gaps
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.inertial import PARAMETERS
from panda_dynamics_ros.robot.joints import PRESLIDING, Friction
from panda_dynamics_ros.robot.residual_map import coordinates

ARM, TORQUE, UNEXPLAINED, COLUMNS = PARAMETERS, PARAMETERS + 1, PARAMETERS + 2, PARAMETERS + 3
"""Columns of terms and filters that belong to the arm, to the measured torque and to the share of the residual that a
map leaves, and their number; those before belong to the payload's parameters."""
BLOCK = 512  # samples of a recording whose terms are in memory at a time: 1 MB
TRANSIENT = 6.0  # time constants of the pole after which a step has passed both filters to within 2 %


def dry_friction(friction: Friction) -> FloatArray:
    """`Friction.table` (n, 9) in which a sigmoid of the velocity is dry friction with a memory, too.

    The published sigmoids were fitted to moving arms. On the public logs their amplitude, applied to the way instead of
    the velocity, explains more of unseen motion, and nothing is left for the function of the velocity.
    """
    table = np.array(friction.table)
    table[:, 1] += 0.5 * friction.amplitude
    table[:, 2] += friction.amplitude * (0.5 - 1.0 / (1.0 + np.exp(-friction.slope * friction.shift)))
    table[:, 4] = 0.0
    return checks.read_only(table)


@compiled
def sample_terms(table, friction, rotors, frame, rows, before, bounds):
    """Direction of dry friction, and momentum and bias, of N samples, in place in `rows`, but for a residual map.

    friction: (n, 9), as of `dry_friction`. rotors: (n,), kg m^2, whose momentum is part of p. before, bounds: state of
    the dry friction, which follows.
    """
    n = rows.q.shape[1]
    frames, S, work, p, arm_bias = np.empty((n, 12)), np.empty((n, 6)), np.empty((n, 9)), np.empty(n), np.empty(n)
    for k in range(rows.q.shape[0]):
        q, dq, tau, momentum, bias = rows.q[k], rows.dq[k], rows.tau[k], rows.momentum[k], rows.bias[k]
        presliding_step(bounds, before, q)
        place_joints(table, q, frames)
        payload_momentum_sample(table, frame, frames, dq, S, momentum, bias)
        momentum_sample(table, frames, dq, work, p, arm_bias)
        for i in range(n):
            before[i], s = q[i], 0.5 * (bounds[0, i] + bounds[1, i])
            rows.s[k, i], momentum[i, ARM] = s, -p[i] - rotors[i] * dq[i]
            bias[i, ARM] = tau[i] - friction_of_joint(friction[i], dq[i], s) - arm_bias[i]
            momentum[i, TORQUE] = momentum[i, UNEXPLAINED] = 0.0
            bias[i, TORQUE], bias[i, UNEXPLAINED] = tau[i], 1.0


class Rows(NamedTuple):
    """N samples of an arm, with what goes into the filters.

    stamp: (N,), s. q, dq, tau: (N, n), rad, rad/s, N m, link side.
    s: (N, n), direction of the dry friction, in [-1, 1].
    momentum: (N, n, 13), [Y_p | -p | 0 | 0]: of the payload's ten parameters in the flange frame, and of the arm.
    bias: (N, n, 13), [Y_b | tau - friction - bias - map | tau | share of the residual's variance that a map leaves];
        without a residual map, its mean is 0 and the share is 1.
    """

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    tau: FloatArray
    s: FloatArray
    momentum: FloatArray
    bias: FloatArray

    @property
    def unexplained(self) -> FloatArray:
        """(N, n), share of the residual's variance that a residual map leaves open; one without a map."""
        return self.bias[..., UNEXPLAINED]


class ArmTerms:
    """Momentum and bias of one arm and of the unit payloads, block after block.

    robot: the unloaded arm, with its friction and its residual map.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._n, self._map = robot.n, robot.residual_map
        rotors = robot.felt_rotor_inertia.copy()
        self._arm = robot.table, dry_friction(robot.friction), rotors, robot.frame_index("flange")
        self.restart()

    def resume(self, q: FloatArray) -> None:
        """Go on at q (n,), rad, after a gap: where the arm has moved, nobody knows the way of its joints."""
        if not np.abs(q - self._before).max() < PRESLIDING:
            self.restart()

    def restart(self) -> None:
        """Forget the way of the joints: the direction of their dry friction is unknown."""
        self._before, self._bounds = np.full(self._n, math.nan), np.ones((2, self._n))
        self._bounds[0] = -1.0

    def rows(self, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray) -> Rows:
        """The terms of N consecutive samples, checked by the caller: (N,) and (N, n), contiguous."""
        terms = np.empty((2, *q.shape, COLUMNS))
        rows = Rows(stamp, q, dq, tau, np.empty(q.shape), terms[0], terms[1])
        if math.isnan(self._before[0]):
            self._before[:] = q[0]
        sample_terms(*self._arm, rows, self._before, self._bounds)
        if self._map is not None:
            for k, x in enumerate(coordinates(q, dq, rows.s)):
                mean, rows.bias[k, :, UNEXPLAINED] = self._map.at(x)
                rows.bias[k, :, ARM] -= mean
        return rows


class FilterState(NamedTuple):
    """Both low-pass filters of terms, (n, columns) each: outputs of the first and second, and what they got last."""

    first: FloatArray
    direct: FloatArray
    second: FloatArray
    middle: FloatArray

    @classmethod
    def at_rest(cls, n: int, columns: int) -> FilterState:
        """Nothing has come yet."""
        return cls(*np.zeros((4, n, columns)))


@compiled
def first_order_hold(w, dt):
    """Coefficients of an exact low-pass step for an input that is linear between samples: a out + b0 new + b1 old.

    dt <= 0 starts the filter in its steady state.
    """
    if dt <= 0.0:
        return 0.0, 1.0, 0.0
    a = math.exp(-w * dt)
    c = (1.0 - a) / (w * dt)
    return a, 1.0 - c, c - a


@compiled
def filter_step(momentum, bias, w, hold, filters):
    """One step, of the coefficients `hold`, of both filters of terms (n, ..), in place; `filters.second` is the result.

    Started, it is as if the arm had always been in its state, at its momentum.
    """
    a, b0, b1 = hold
    first, direct, second, middle = filters
    for i in range(first.shape[0]):
        for k in range(first.shape[1]):
            derivative = w * momentum[i, k]
            new = derivative - bias[i, k]
            first[i, k] = a * first[i, k] + b0 * new + b1 * direct[i, k]
            direct[i, k] = new
            new = derivative - first[i, k]
            second[i, k] = a * second[i, k] + b0 * new + b1 * middle[i, k]
            middle[i, k] = new


@compiled
def filter_rows(momentum, bias, w, steps, filters, decay, age):
    """`filter_step` of one sample after the other, of N: (N, n, ..) and (N,); the age of the filters after them, s.

    The entries k and m of `decay` follow (see `OnsetRegressors`).
    """
    for k in range(steps.shape[0]):
        hold = first_order_hold(w, steps[k])
        filter_step(momentum[k], bias[k], w, hold, filters)
        a, b0, b1 = hold
        decay[1] = a * decay[1] + (b0 * a + b1) * decay[0]
        decay[0] *= a
        age += steps[k]
    return age


class MomentumRegression:
    """The filtered regression of one arm.

    n: joints.
    bandwidth: Hz, pole of both filters.
    columns: of the terms.

    pole: rad/s.
    age: s, since the filters started; nan before the first sample.
    filtered: (n, columns), [Y | y | tau | share that a residual map leaves] after the last sample.
    decay: (2,), what the samples since it was (1, 0) have made of an excess (see `OnsetRegressors`).
    """

    def __init__(self, n: int, bandwidth: float, columns: int = COLUMNS) -> None:
        self.pole = 2.0 * math.pi * bandwidth
        self.restart()
        self.filters, self.decay = FilterState.at_rest(n, columns), np.array([1.0, 0.0])
        self.filtered = self.filters.second

    def expected(self, theta: FloatArray) -> FloatArray:
        """(3, n), filtered: what the description expects, N m; with a payload, its rates, N m/s, and amounts, N m."""
        torques, late = self.filtered[:, TORQUE] - self.filtered[:, ARM], self.filters.middle - self.filtered
        rates = self.pole * (late[:, TORQUE] - late[:, ARM] + late[:, :ARM] @ theta)
        return np.array((torques, rates, np.abs(torques + self.filtered[:, :ARM] @ theta)))

    @property
    def settled(self) -> bool:
        """Whether the transient of the filters' start has died out; there is none of an arm that stands."""
        return self.age * self.pole >= self._transient

    def restart(self, stands: bool = False) -> None:
        """Forget the filters' state; the next sample starts them."""
        self.age, self._transient = math.nan, 0.0 if stands else TRANSIENT

    def rows(self, steps: FloatArray, momentum: FloatArray, bias: FloatArray) -> FloatArray:
        """`filtered` after N more samples: steps (N,), s, and terms (N, n, columns); a first step of 0 starts them."""
        if math.isnan(self.age) or steps[0] <= 0.0:
            steps, self.age = np.concatenate(([0.0], steps[1:])), 0.0
        self.age = filter_rows(momentum, bias, self.pole, steps, self.filters, self.decay, self.age)
        return self.filtered


def recorded_rows(
    robot: RobotDescription, stamp: FloatArray, q: FloatArray, dq: FloatArray, tau: FloatArray, bandwidth: float,
    period: float, max_gap: float,
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:  # fmt: skip
    """The regression of a recording every `period` s, as soon as the filters have settled.

    Each time the samples since the last one, s before each of them (0 after a gap), and [Y | y] (n, 11), a view.
    """
    steps = np.diff(stamp, prepend=-math.inf)
    steps[~((steps > 0.0) & (steps <= max_gap))] = 0.0
    terms, regression = ArmTerms(robot), MomentumRegression(robot.n, bandwidth)
    for part in without_gaps(steps):
        terms.restart()
        first, due = part.start, stamp[part.start] + max(period, TRANSIENT / regression.pole)
        while due <= stamp[part.stop - 1] + 1e-9:
            here = slice(first, int(np.searchsorted(stamp[: part.stop], due - 1e-9)) + 1)
            rows = terms.rows(stamp[here], q[here], dq[here], tau[here])
            yield here, steps[here], regression.rows(steps[here], rows.momentum, rows.bias)
            first, due = here.stop, stamp[here.stop - 1] + period


@compiled
def follow_onsets(decay, middle, filtered, new, share, first, second, found):
    """`OnsetRegressors.follow`, in place. middle, filtered: (n, ..), Y after each pole; row n is a constant torque."""
    (k, m), n = decay, filtered.shape[0]
    for i in range(n + 1):
        for c in range(first.shape[1] if i < n else 1):
            Y1, Y2 = (middle[i, c], filtered[i, c]) if i < n else (1.0, 1.0)
            E1, E2, G = first[i, c], second[i, c], found[i, c]
            for slot in range(share.shape[0]):
                more = new[slot] - share[slot]
                E2[slot] = k * E2[slot] - m * E1[slot] + more * Y2
                E1[slot] = k * E1[slot] - more * Y1
                G[slot] = new[slot] * Y2 - E2[slot]


class OnsetRegressors:
    """Regressors of payloads that appear at given onsets, at once or in parts: filters of Y that start at zero there.

    A payload that is picked up at t0 loads the joints from then on, and its torque rises through both filters: it is
    Y_t0 theta from the first sample. No filter has to run for an onset. Both get the same inputs, so that what those of
    Y have more than those of the onset, E1 after the first pole and E2 after the second, only decays: with a, b0, b1
    of each step (`first_order_hold`),

        E1 <- a E1,    E2 <- a E2 - (b0 a + b1) E1,

    that is E1 <- k E1 and E2 <- k E2 - m E1 over many steps, with two numbers k and m for all of them. They are linear
    in Y: parts of a payload that appear one after the other add up, and a constant torque has a column, too.

    n: joints. slots: onsets that are followed at once. columns: of Y, the first ones.

    share: (slots,), what has appeared of each.
    """

    def __init__(self, n: int, slots: int, columns: int = PARAMETERS) -> None:
        self._excess, self.share = np.zeros((2, n + 1, columns, slots)), np.zeros(slots)

    def start(self, slot: int, share: float) -> None:
        """Let `slot` follow another payload, of which `share` has been there since before the filters started."""
        self._excess[..., slot] = 0.0
        self.share[slot] = share

    def follow(self, share: FloatArray, regression: MomentumRegression) -> tuple[FloatArray, FloatArray]:
        """Let what has appeared of each payload be `share` (slots,) from now on.

        Returns the regressors (n, columns, slots), and those of a constant torque (slots,).
        """
        filters, found = regression.filters, np.empty(self._excess.shape[1:])
        follow_onsets(regression.decay, filters.middle, filters.second, share, self.share, *self._excess, found)
        self.share[:], regression.decay[:] = share, (1.0, 0.0)
        return found[:-1], found[-1, 0]
