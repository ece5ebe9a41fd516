# SPDX-License-Identifier: Apache-2.0
"""What an arm's model may have wrong, as a regression A phi with standard normal phi beside the payload's Y theta.

Every column is a torque that the model would have to add, times how far an arm may differ from its model (one sigma):

    links      an error of the inertial parameters: Y_arm J u_k, with J J' the covariance of their errors and u_k the
               directions that move the torques most (principal components over the arm's range of motion)
    tilt       of the base, about its two horizontal axes: the change of the gravity torques
    delay      of the torque signal: minus the rate of the gravity torques
    offset     of each joint's torque: 1
    friction   share of each joint's published friction, or Coulomb friction where none is published
    viscous    friction of each joint: dq
    rotor      inertia of each joint: d/dt dq
    gain       of each joint's torque: the torque that the model expects of the arm and of what it carries

All pass the same two low-pass filters as Y and y (`regression`). Rate and gain belong to modelled torques and not to
the measured torque: a regressor that shares the noise of y would be biased (errors in variables). The rate is that of
the gravity torques, because the rate of the others is mostly noise of the velocity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_of_joint, friction_sample
from panda_dynamics_ros.dynamics.momentum import momentum_sample
from panda_dynamics_ros.dynamics.newton_euler import newton_euler_kernel
from panda_dynamics_ros.estimation.momentum_terms import dry_friction
from panda_dynamics_ros.estimation.regression import filter_step
from panda_dynamics_ros.kernels.batch import one_at_a_time
from panda_dynamics_ros.kernels.scratch import scratch, zeros
from panda_dynamics_ros.kernels.vectors import compiled, place_joints
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.description import INERTIAL, TRANSLATION
from panda_dynamics_ros.robot.inertial import PARAMETERS

MASS, COM, SHAPE = 0.028, 0.0014, 0.035
"""Of each link: share of its mass; m, each coordinate of its CoM; share of its second moments."""
TILT, DELAY = 0.005, 0.005
"""rad; s."""
SOFT = 0.7
OFFSET, FRICTION, COULOMB, VISCOUS, ROTOR, GAIN, COMMON_GAIN = 0.3, 0.4, 0.3, 0.3, 0.05, 0.01, 0.015
"""Of each joint: N m; share; N m, where no friction is published; N m s/rad; kg m^2; share."""
TERMS = ("offset", "friction", "viscous", "soft", "rotor_inertia", "gain")
"""Of each joint, in the order of its columns."""
OWN, EXTRA = len(TERMS), 4
"""Columns of each joint alone, and shared columns beside those of the links: two tilts, delay and common gain."""
TRANSITION = 0.1
"""rad/s, width of the Coulomb step."""
SCALED = (0, 1, 2, 4, 7)
"""Columns of `Friction.table` that are torques: viscous, Coulomb, offset, amplitude, Stribeck."""
NEGLIGIBLE = 0.1
"""Torque, in standard deviations of the residual, that the directions left out make up at most."""
_STATES, _SPEED, _ACCELERATION = 300, 0.3, 0.15  # random states; shares of the limits, one sigma


@compiled
def error_terms(table, tables, tilted, dry, published, memory, std, q, dq, s, momentum, bias):
    """Terms (n, links + 2 + 4) of all columns, as `regression.momentum_terms` has them, in place.

    They are links, tilts, and [friction, viscous, rotor, gravity] of each joint; `std` (n, 5) is for `TERMS`. Momentum
    and bias are linear in what `tables` (links, ...) have as inertia and `tilted` (2, ...) as gravity.
    """
    n, links = q.shape[0], tables.shape[0]
    frames, work = scratch((n, 12)), scratch((n, 18))
    p, torque, rest = scratch(n), scratch(n), zeros(n)
    place_joints(table, q, frames)
    for k in range(links + 3):
        of_link = k < links
        changed = tables[k] if of_link else (tilted[k - links] if k < links + 2 else table)
        momentum_sample(changed, frames, dq if of_link else rest, work, p, torque)
        column = k if k < links + 2 else k + 4
        for i in range(n):
            momentum[i, column], bias[i, column] = p[i], torque[i]
    soft = scratch(n)
    friction_sample(published, dq, soft)
    first = links + 2
    for i in range(n):
        momentum[i, first] = momentum[i, first + 1] = 0.0
        bias[i, first], bias[i, first + 1] = std[i, 1] * dry[i] * s[i], std[i, 2] * dq[i]
        momentum[i, first + 2] = 0.0
        bias[i, first + 2] = std[i, 3] * (soft[i] - friction_of_joint(memory[i], dq[i], s[i]))
        momentum[i, first + 3], bias[i, first + 3] = std[i, 4] * dq[i], 0.0


@compiled
def error_columns(second, old_middle, arm, load, pole, std, ratio, share, A):
    """A (n, links + 3 + 5) from the filters of the terms, in place.

    `arm` and `load` (n,) are the filtered torques of the model and of what is carried. All columns count `ratio` (n,)
    and `share` (n,); `gain_torque` (n,) has what one sigma of gain makes of all torques, in which the load's is whole.
    """
    n, shared = A.shape[0], A.shape[1] - OWN
    delay = shared - 2
    gravity = delay + 4
    for i in range(n):
        for k in range(delay):
            A[i, k] = second[i, k]
        A[i, delay] = -DELAY * pole * (old_middle[i, gravity] - second[i, gravity])
        A[i, shared] = std[i, 0]
        for k in range(4):
            A[i, shared + 1 + k] = second[i, delay + k]
        A[i, shared - 1] = 0.0
        for k in range(shared + 5):
            A[i, k] *= ratio[i] * share[i]
        A[i, shared - 1] = COMMON_GAIN * ratio[i] * (share[i] * arm[i] + load[i])
        A[i, shared + 5] = std[i, 5] * ratio[i] * share[i] * arm[i]


class LearntModel(NamedTuple):
    """`RobotDescription.table`, `Friction.table`, rotor inertia (n,), kg m^2, and gain (n,) of the measured torque."""

    table: FloatArray
    friction: FloatArray
    rotors: FloatArray
    gain: FloatArray


@dataclass(frozen=True, eq=False)
class ArmErrors:
    """What an arm's model has wrong, as learnt, each with its standard deviation (`_std`).

    Attributes
    ----------
    offset: (n,), N m. friction: (n,), share of the published friction, or N m where none is published.
    viscous: (n,), N m s/rad. rotor_inertia: (n,), kg m^2. gain: (n,), share. tilt: (2,), rad, about x and y.
    delay: (1,), s, of the torque signal.
    common_gain: share, of all torques; the masses of the links, all larger by this, look nearly the same.
    """

    offset: FloatArray
    friction: FloatArray
    viscous: FloatArray
    soft: FloatArray
    rotor_inertia: FloatArray
    gain: FloatArray
    tilt: FloatArray
    delay: FloatArray
    offset_std: FloatArray
    friction_std: FloatArray
    viscous_std: FloatArray
    soft_std: FloatArray
    rotor_inertia_std: FloatArray
    gain_std: FloatArray
    tilt_std: FloatArray
    delay_std: FloatArray
    common_gain: float = 0.0
    common_gain_std: float = 0.0


class ArmErrorRegression:
    """The columns A (n, shared + 5) of one arm, sample by sample.

    Shared columns belong to the first `shared` entries of phi, and the five of joint i to those from
    shared + 5 i on.

    Parameters
    ----------
    robot: the arm as it is modelled.
    pole: rad/s, of both filters.
    ratio: of all errors of this arm, beside its `residual.error_ratio`, to those of an arm of which only the type is
        known.
    """

    def __init__(self, robot: RobotDescription, pole: float, ratio: float = 1.0) -> None:
        self._pole, self._table, self._friction = pole, robot.table, dry_friction(robot.friction)
        friction = robot.friction
        self._dry = friction.coulomb + 0.5 * friction.amplitude
        self._coulomb = self._dry == 0.0
        self._std = np.tile([OFFSET, FRICTION, VISCOUS, SOFT, ROTOR, GAIN], (robot.n, 1))
        self._std[self._coulomb, 1] = COULOMB
        self._published = friction.table
        self._amplitude = np.where(self._coulomb, 1.0, self._dry)
        self._rotors = robot.felt_rotor_inertia
        self._ratio = ratio * robot.residual.error_ratio
        self._tables = checks.read_only(
            np.stack([_with_inertia(robot, change) for change in error_directions(robot).T])
        )
        self._tilted = checks.read_only(np.stack([_leaning(robot, axis) for axis in (0, 1)]))
        links = len(self._tables)
        self.shared = links + EXTRA
        self._terms, self._filters = np.zeros((2, robot.n, links + 7)), np.zeros((6, robot.n, links + 7))
        self.A = np.zeros((robot.n, self.shared + OWN))
        self.restart()

    @property
    def size(self) -> int:
        """Length of phi."""
        return self.shared + OWN * len(self.A)

    @property
    def gain_ratio(self) -> float:
        """Factor on the common gain's one sigma."""
        return float(self._ratio.mean())

    def restart(self) -> None:
        """Forget the filters' state; the next sample starts them."""
        self._filters[:], self._started = 0.0, False

    def step(
        self, dt: float, q: FloatArray, dq: FloatArray, s: FloatArray, arm: FloatArray, load: FloatArray,
        share: FloatArray,
    ) -> None:
        """Bring A to a sample `dt` s after the last one.

        arm, load: (n,), N m, filtered torques of the arm's model and of all that is carried. share: (n,), what a
        residual map, which was learnt unloaded, leaves of the errors. A gain cannot be learnt from loads alone: each
        new one would take a little of its mass for gain, and always to the same side. Its error in the load's torque
        is in `gain_torque` only.
        """
        momentum, bias = self._terms
        error_terms(
            self._table, self._tables, self._tilted, self._amplitude, self._published, self._friction, self._std, q, dq, s, momentum, bias
        )  # fmt: skip
        filter_step(momentum, bias, self._pole, dt if self._started else 0.0, *self._filters)
        error_columns(
            self._filters[4], self._filters[5], arm, load, self._pole, self._std, self._ratio, share,
            self.A,
        )  # fmt: skip
        self._started = True

    def model(self, phi: FloatArray) -> LearntModel:
        """The arm with the errors phi (size,), but for the delay."""
        shared, own = float(self._ratio.mean()) * phi[: self.shared], phi[self.shared :].reshape(-1, OWN)
        offset, share, viscous, _soft, rotor, gain = (own * self._std * self._ratio[:, None]).T
        table, friction, n = self._table.copy(), self._friction.copy(), len(self.A)
        table[:n, INERTIAL:] += np.tensordot(shared[:-EXTRA], self._tables[:, :n, INERTIAL:], 1)
        gravity = slice(TRANSLATION, TRANSLATION + 3)
        table[n + 2, gravity] += shared[-EXTRA:-2] @ self._tilted[:, n + 2, gravity]
        friction[:, 1] += share * self._amplitude
        friction[:, 0] += viscous
        friction[:, 2] += offset
        return LearntModel(table, friction, self._rotors + rotor, gain + COMMON_GAIN * float(self._ratio.mean()) * phi[self.shared - 1])

    def errors(self, mean: FloatArray, variance: FloatArray) -> ArmErrors:
        """Mean and variance of phi, (size,) each, in physical units."""
        found: dict[str, Any] = {}
        shared = float(self._ratio.mean())
        for suffix, values in (("", mean), ("_std", np.sqrt(variance))):
            own = values[self.shared :].reshape(-1, OWN) * self._std * self._ratio[:, None]
            found |= {f"{name}{suffix}": own[:, k] for k, name in enumerate(TERMS)}
            found[f"tilt{suffix}"] = shared * TILT * values[self.shared - 4 : self.shared - 2]
            found[f"delay{suffix}"] = shared * DELAY * values[self.shared - 2 : self.shared - 1]
        return ArmErrors(**found)


def _leaning(robot: RobotDescription, axis: int) -> FloatArray:
    """The table of an arm whose gravity is what one sigma of tilt adds to it."""
    table, size = robot.table.copy(), float(np.linalg.norm(robot.gravity))
    table[robot.n + 2, TRANSLATION : TRANSLATION + 3] = TILT * size * np.eye(3)[axis]
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
    with one_at_a_time():
        for change, torque in zip(J.T, torques, strict=True):
            newton_euler_kernel(checks.read_only(_with_inertia(robot, change)), 1.0, q, dq, ddq, torque)
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
    columns = [MASS * link.vector]
    for e in np.eye(3):  # d/dc of m (c'c 1 - c c')
        steiner = m * (2.0 * (e @ c) * np.eye(3) - np.outer(e, c) - np.outer(c, e))
        columns.append(COM * np.concatenate(([0.0], m * e, steiner[np.triu_indices(3)])))
    diagonal = np.array([1.0, 0.5, 0.5, 1.0, 0.5, 1.0])  # products of inertia are smaller
    columns += [np.concatenate((np.zeros(4), row)) for row in np.diag(SHAPE * size * diagonal)]
    return np.column_stack(columns)
