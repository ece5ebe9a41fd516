# SPDX-License-Identifier: Apache-2.0
"""The linear model of an identification: which column of the regression belongs to which parameter.

    tau = tau_prior(q, dq, ddq) + Y(q, dq, ddq) dpi + F(dq) dphi + T(q, dq, ddq) dg

dpi (10 n): change of the inertial parameters (De Luca, document 003, slide 5). dphi (4 n): viscous, Coulomb, offset and
Stribeck friction beside the prior's (slide 7). dg (2): tilt of the base, as the horizontal components
of gravity in units of g: a table that is 5 mrad off shows in the second joint with some 0.3 N m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot.friction import Friction

FRICTION_TERMS = ("viscous", "coulomb", "offset", "stribeck")
TRANSITION = 0.1
"""rad/s: width of the identified Coulomb step; Gaz's sigmoids are 0.06 to 0.2 rad/s wide."""
STRIBECK_VELOCITY = 0.2
"""rad/s: above it the identified Stribeck term fades."""
TILT = 2


AT_ONCE = 4096
"""Rows whose columns are in memory at a time: 20 MB. Those of an hour at 100 Hz are 2 GB."""
State = tuple[FloatArray, FloatArray, FloatArray]
Rows = NDArray[Any] | slice
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Columns A (N, n, p) and right-hand side b (N, n) of tau - tau_prior = A x; A is computed where it is needed.

    Attributes
    ----------
    columns: the columns (K, n, p) of K states. state: q, dq and ddq (N, n).
    """

    prior: RobotModel
    columns: Callable[..., FloatArray]
    state: State
    b: FloatArray

    @property
    def A(self) -> FloatArray:
        """(N, n, p)."""
        return self.columns(*self.state)

    def parts(self, rows: Rows = ALL) -> Iterator[NDArray[Any]]:
        """Numbers of the chosen rows, `AT_ONCE` at a time."""
        chosen = np.arange(len(self.b))[rows]
        return (chosen[first : first + AT_ONCE] for first in range(0, len(chosen), AT_ONCE))

    def of(self, rows: NDArray[Any]) -> FloatArray:
        """A of these rows."""
        return self.columns(*(values[rows] for values in self.state))

    def unexplained(self, x: FloatArray, rows: Rows = ALL) -> FloatArray:
        """b - A x of the chosen rows."""
        return np.concatenate([self.b[part] - self.of(part) @ x for part in self.parts(rows)])

    @property
    def names(self) -> tuple[str, ...]:
        """What each column of the friction and tilt belongs to, after the 10 n inertial ones."""
        joints = range(1, self.prior.n + 1)
        return (*(f"{term}{j}" for j in joints for term in FRICTION_TERMS), "tilt_x", "tilt_y")


def linear_model(prior: RobotModel, samples: MotionSamples) -> LinearModel:
    """The columns of all parameters for the rows of `samples`, around the `prior`."""
    state = samples.q, samples.dq, samples.ddq
    b = samples.tau - prior.inverse_dynamics(*state) - prior.friction_torques(samples.dq)
    return LinearModel(prior, partial(_columns, prior), state, b)


def _columns(prior: RobotModel, q: FloatArray, dq: FloatArray, ddq: FloatArray) -> FloatArray:
    state = q, dq, ddq
    tilt = _tilt(prior, state, prior.inverse_dynamics(*state))
    return np.concatenate([prior.regressor(*state), _friction(prior, dq), tilt], axis=-1)


def friction_slice(n: int) -> slice:
    """Where the friction's columns are."""
    return slice(10 * n, (10 + len(FRICTION_TERMS)) * n)


def _friction(prior: RobotModel, dq: FloatArray) -> FloatArray:
    step = np.tanh(dq / TRANSITION)
    terms = np.stack([dq, step, np.ones_like(dq), step * np.exp(-((dq / STRIBECK_VELOCITY) ** 2))], axis=-1)
    columns = np.zeros((*dq.shape, prior.n, len(FRICTION_TERMS)))
    for j in range(prior.n):
        columns[:, j, j] = terms[:, j]
    return columns.reshape(*dq.shape, -1)


def _tilt(prior: RobotModel, state: State, rigid: FloatArray) -> FloatArray:
    """d tau / d (g_x, g_y): torques are linear in gravity, so that a difference is exact."""
    size = float(np.linalg.norm(prior.gravity))
    leaning = (replace(prior, gravity=prior.gravity + size * axis) for axis in np.eye(3)[:TILT])
    return np.stack([robot.inverse_dynamics(*state) - rigid for robot in leaning], axis=-1)


def friction_of(prior: RobotModel, change: FloatArray) -> Friction:
    """The prior's friction with the identified terms (4 n,) joined to it.

    Where prior and change both have a Coulomb step, the sum has the identified width; the prior's own share is exact
    where it has none, or where its width is the same. So it is with the Stribeck velocity.
    """
    old, terms = prior.friction, change.reshape(-1, len(FRICTION_TERMS))
    return replace(
        old,
        viscous=old.viscous + terms[:, 0],
        coulomb=old.coulomb + terms[:, 1],
        offset=old.offset + terms[:, 2],
        transition=np.where(terms[:, [1, 3]].any(axis=1), TRANSITION, old.transition),
        stribeck=old.stribeck + terms[:, 3],
        stribeck_velocity=np.where(terms[:, 3] != 0.0, STRIBECK_VELOCITY, old.stribeck_velocity),
    )


def tilted(prior: RobotModel, tilt: FloatArray) -> FloatArray:
    """Gravity (3,) with the horizontal components `tilt` (2,) in units of its size, which it keeps."""
    size = float(np.linalg.norm(prior.gravity))
    gravity = prior.gravity + size * np.append(tilt, 0.0)
    return gravity * (size / float(np.linalg.norm(gravity)))
