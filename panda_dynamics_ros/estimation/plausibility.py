# SPDX-License-Identifier: Apache-2.0
"""Recognises torques that are not those of this arm and a payload, and states the probable cause and its remedy.

A filter fits a payload to any torques. Here the measured torque t and that of the arm's model h, both through the
low-pass filters of the regression, are compared over the last seconds of motion, by their second moments. Where they
contradict arm and payload, other explanations of t are tried: it is constant, a multiple of h, without gravity, of
opposite sign, or its columns have another order. The one that leaves least is reported, if it is far better.
Further checks concern the mass itself (below zero, above the heaviest payload, or contrary to what the user declared),
the declared shape, single joints whose residual is an offset or a share of their torque, and a gain of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled
from panda_dynamics_ros.estimation.arm_model import OFFSET, ArmErrors
from panda_dynamics_ros.robot.effort import CURRENT, MEASURED, WITHOUT_GRAVITY

MEMORY = 4.0  # s of motion, exponential
ENOUGH = 1.0
"""s of motion before anything is reported: twice the correlation time of an arm's residual."""
PERIOD = 0.25  # s of motion between two evaluations
HOLD = 2.0  # s of motion for which a sentence stays after its last confirmation, and its figures stay the same

CONTRADICTION = 6.0
"""Residual over the arm's own, RMS of all joints, above which causes are sought. The published model leaves 0.8 to 1.2
on real arms. A person who guides a Panda by hand makes up to 8, for which no cause is found."""
UNEXPLAINED = 12.0
"""The same, above which the torques are reported although no cause is found."""
JOINT_FAULT = 7.0
"""The same of one joint, above which causes are sought."""
FAR_BETTER = 0.25
"""Of the mean square that the model leaves, what another explanation may leave."""
ALIKE, UNITS = 0.9, (0.2, 5.0)
"""Correlation from which on torques are a multiple of the model's; gains that a payload or another arm may have."""
CONSTANT = 1e-4  # of the mean square: variance of torques that count as constant
STUCK = 1e-3  # of the variance that the model expects of a joint's torque: one that does not change
OFFSET_FAULT, UNUSUAL, GAIN_FAULT, CERTAIN = 6.5, 4.0, 0.05, 3.0
"""Mean residual of a joint over the arm's own, learnt offset over that of usual arms, and learnt gain of all torques,
that healthy sensors do not have; what is learnt must be significant at so many standard deviations. Mean residuals of
real arms reach 5.8 times their own; the prior of the gain draws what is learnt to a third of the truth."""
NEGATIVE_MASS, EXCESS_MASS = 0.15, 0.05  # kg, beside the estimate's own uncertainty
HAND = (0.6, 0.85)  # kg: the Franka Hand has 0.73 kg
WITH_HAND = ("panda_ledezma",)
"""Parameter sets of the library whose last link includes the hand. Nothing in the torques of an arm that carries
something from the start tells whether it is mounted: until a payload is picked up, put down or tared, the interval of
the mass allows for both."""

UNIT_REMEDY = {
    MEASURED: "check the unit of effort and the driver's scaling; of motor currents, set effort to current",
    CURRENT: "check motor_constants",
}
SENTENCES = {
    # What else the torques of all joints may be.
    "zero": (
        "all torques are zero: expected measured joint torques; check that torque sensing is on and that the topic "
        "carries effort"
    ),
    "constant": (
        "the torques stay constant while the arm moves: expected measured joint torques; check whether the driver "
        "repeats its first sample"
    ),
    "unit": "the torques are {gain:.2g} times those of the arm: expected N m on the link side; {remedy}",
    "gravity twice": (
        "with gravity added, the torques are {gain:.2g} times those of the arm: expected efforts without gravity; if "
        "the driver leaves gravity in them, set effort to measured"
    ),
    "gravity": (
        "the torques are too small to hold the arm against gravity: expected measured torques with gravity; torques "
        "without gravity, or external torques, do not show a payload, unless effort is without_gravity"
    ),
    "sign": (
        "the torques have the opposite sign of the arm's: expected the torques of the joints on the links; check the "
        "sign convention, and that the base is not mounted upside down"
    ),
    "order": (
        "the torque columns fit the arm in the order {order}: expected joint 1 to {n} from base to flange; check which "
        "effort belongs to which joint name"
    ),
    # What is wrong beside that, the most fundamental first.
    "stuck": (
        "the torque of joint {joint} stays at {torque:.2g} N m while the arm moves: expected its measured torque; "
        "check its sensor, and which effort belongs to which joint name"
    ),
    "light": (
        "the torques are {lighter:.2f} kg lighter than those of the unloaded arm: expected the parameters of this arm, "
        "got {robot}; check robot, and that a declared end_effector is mounted"
    ),
    "heavy": (
        "the torques are those of {mass:.2f} kg: expected at most max_mass = {max_mass:g} kg; raise it if the payload "
        "is as heavy, else check robot and end_effector"
    ),
    "known mass": (
        "the torques are those of {mass:.2f} kg, which contradicts known_mass = {known_mass:g} kg: correct it, or "
        "leave it out"
    ),
    "gain": (
        "the torques of all joints are {percent:+.0f} % off those of this arm: check robot and the calibration of the "
        "sensors, or identify the arm (panda-dynamics identify)"
    ),
    "sensor": (
        "the torque of joint {joint} is off by {offset:+.2g} N m: calibrate its sensor, or identify the arm "
        "(panda-dynamics identify)"
    ),
    "unexplained": (
        "the torques differ from those of arm and payload by {overall:.0f} times the arm's own residual, most at joint "
        "{joint} ({torque:.2g} N m): check robot, end_effector and mounting, or identify the arm (panda-dynamics "
        "identify)"
    ),
    "included hand": (
        "{mass:.2f} kg have been there from the start, and the links of {robot} include a hand of 0.73 kg: if none is "
        "mounted, {with_hand:.2f} kg are carried; set robot to panda"
    ),
    "hand": (
        "{mass:.2f} kg have been there from the start, about as much as the Franka Hand (0.73 kg): if it is mounted, "
        "set end_effector to hand; check robot, too"
    ),
}


@dataclass(frozen=True)
class Declaration:
    """What the user has declared about arm and payload.

    robot: name of the parameter set.
    max_mass, known_mass: kg; known_mass is 0 where it is unknown.
    has_end_effector: whether an end effector is part of the arm.
    effort: what the efforts are said to be (`robot.effort.KINDS`).
    """

    robot: str
    max_mass: float
    known_mass: float
    has_end_effector: bool
    effort: str = MEASURED


@compiled
def update_moments(new, t, y, e, cross, means, squares):
    """Exponential means, in place: cross (n, n) of t_i h_j; means and squares (3, n) of t, h = t - y and e."""
    for i in range(t.shape[0]):
        for j in range(t.shape[0]):
            cross[i, j] += new * (t[i] * (t[j] - y[j]) - cross[i, j])
        values = (t[i], t[i] - y[i], e[i])
        for k in range(3):
            means[k, i] += new * (values[k] - means[k, i])
            squares[k, i] += new * (values[k] * values[k] - squares[k, i])


class PlausibilityCheck:
    """Follows the filtered torques of one arm and names what contradicts it.

    sigma: (n,), N m, standard deviation of the arm's residual.
    declaration: of the user.

    problem: one sentence with cause and remedy; empty where nothing contradicts the arm.
    """

    def __init__(self, sigma: FloatArray, declaration: Declaration) -> None:
        self._sigma, self._declared = sigma, declaration
        self.restart()

    def restart(self) -> None:
        """Forget the torques so far."""
        n = len(self._sigma)
        self._cross, self._means, self._squares = np.zeros((n, n)), np.zeros((3, n)), np.zeros((3, n))
        self._motion_s = self._since_evaluation = self._age = 0.0
        self._kind, self.problem = "", ""

    def update(self, torque: FloatArray, y: FloatArray, residual: FloatArray, motion_time: float) -> bool:
        """Follow one step of the filter; whether `evaluate` is due.

        torque: (n,), N m, measured torque through the filters of the regression.
        y: (n,), N m, the part of it that the unloaded arm's model does not explain.
        residual: (n,), N m, the part that neither the model nor the payload explains.
        motion_time: s of motion since the last step.
        """
        if motion_time <= 0.0:
            return False
        self._motion_s += motion_time
        self._since_evaluation += motion_time
        self._age += motion_time
        new = motion_time / min(MEMORY, self._motion_s)  # plain means at first
        update_moments(new, torque, y, residual, self._cross, self._means, self._squares)
        return self._motion_s >= ENOUGH and self._since_evaluation >= PERIOD

    def evaluate(self, mass: float, mass_std: float, from_start: bool, errors: ArmErrors, of_shape: str = "") -> None:
        """Renew `problem`.

        mass, mass_std: kg, of the filter, before limits and consistency are applied; the tare included.
        from_start: whether no change of the payload was detected so far.
        errors: of the arm, as learnt so far.
        of_shape: what contradicts the declared shape (`prior_knowledge.shape_problem`); empty if nothing does.
        """
        self._since_evaluation = 0.0
        kind, figures = next(self._problems(mass, mass_std, from_start, errors), ("shape" if of_shape else "", {}))
        if self._age < HOLD and kind in ("", self._kind):
            return
        self._kind, self._age, self.problem = kind, 0.0, of_shape if kind == "shape" else ""
        if kind in SENTENCES:
            self.problem = SENTENCES[kind].format(mass=mass, **asdict(self._declared), **figures)

    def _problems(
        self, mass: float, mass_std: float, from_start: bool, errors: ArmErrors
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is wrong, the most fundamental first, with the figures of its sentence."""
        declared, tolerance = self._declared, NEGATIVE_MASS + 3.0 * mass_std
        is_light, is_heavy = mass < -tolerance, mass > declared.max_mass + EXCESS_MASS + 2.0 * mass_std
        ratios = np.sqrt(self._squares[2]) / self._sigma
        overall, worst = float(np.sqrt(np.mean(ratios**2))), int(np.argmax(ratios))
        if overall > CONTRADICTION or ratios[worst] > JOINT_FAULT or is_heavy or is_light:
            yield from self._other_torques()
        variance, expected, _ = self._squares - self._means**2
        for joint in np.flatnonzero((variance < STUCK * expected) & (expected > self._sigma**2)):
            yield "stuck", {"joint": joint + 1, "torque": self._means[0, joint]}
        if is_light:
            yield "light", {"lighter": -mass}
        if is_heavy:
            yield "heavy", {}
        known = declared.known_mass
        if known > 0.0 and mass > tolerance and abs(mass - known) > 3.0 * mass_std + 0.05 * known:
            yield "known mass", {}
        yield from self._sensor_faults(errors)
        if overall > UNEXPLAINED:
            yield "unexplained", {"overall": overall, "joint": worst + 1, "torque": ratios[worst] * self._sigma[worst]}
        if from_start and declared.robot in WITH_HAND and mass > NEGATIVE_MASS:
            yield "included hand", {"with_hand": mass + 0.73}
        if from_start and not declared.has_end_effector and mass_std <= 0.2 and HAND[0] < mass < HAND[1]:
            yield "hand", {}

    def _other_torques(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The alternative that explains the torques of all joints far better than arm and payload do, if one does."""
        weights, (tt, hh, _), effort = self._sigma**-2.0, self._squares, self._declared.effort
        T, H, C = float(weights @ tt), float(weights @ hh), float(weights @ np.diag(self._cross))
        gain, (order, of_order) = C / max(H, 1e-300), self._best_order()
        is_multiple = C / math.sqrt(max(T * H, 1e-300)) > ALIKE
        left = {  # mean square, in units of the residual's
            "zero": 0.0 if T == 0.0 else math.inf,
            "constant": 0.0 if float(weights @ (tt - self._means[0] ** 2)) < CONSTANT * T else math.inf,
            "unit": 0.0 if is_multiple and not UNITS[0] < gain < UNITS[1] else math.inf,
            "gravity twice": T - 4.0 * C + 4.0 * H if effort == WITHOUT_GRAVITY else math.inf,
            "gravity": 0.5 * T,  # the most usual mistake
            "sign": T + 2.0 * C + H,
            "order": of_order,
        }
        kind = min(left, key=left.__getitem__)
        if left[kind] < FAR_BETTER * (T - 2.0 * C + H):
            remedy, columns = UNIT_REMEDY.get(effort, UNIT_REMEDY[MEASURED]), ", ".join(map(str, order))
            yield kind, {"gain": gain, "remedy": remedy, "order": columns, "n": len(order)}

    def _best_order(self) -> tuple[list[int], float]:
        """Which measured column (1-based) fits joint 1, 2, .. best, and the sum of mean((t - h)^2) / sigma^2 then."""
        tt, hh, _ = self._squares
        joints = np.arange(len(tt))
        cost = (tt[:, None] - 2.0 * self._cross + hh) / self._sigma**2
        kept = np.where(np.eye(len(tt)) > 0.0, FAR_BETTER, 1.0)  # a column is exchanged where others fit far better
        if np.array_equal((cost * kept).argmin(axis=1), joints):  # no order fits better
            return [], math.inf
        from scipy.optimize import linear_sum_assignment  # takes a third of a node's start to import

        joint_of = linear_sum_assignment(cost * kept)[1]
        return [int(column) for column in np.argsort(joint_of) + 1], float(cost[joints, joint_of].sum())

    def _sensor_faults(self, errors: ArmErrors) -> Iterator[tuple[str, dict[str, Any]]]:
        """The gain of all torques, or the joint's offset, that is far from those of healthy sensors."""
        gain, std = float(errors.common_gain[0]), float(errors.common_gain_std[0])
        if abs(gain) > max(GAIN_FAULT, CERTAIN * std):
            yield "gain", {"percent": 100.0 * gain}
        mean, certain = self._means[2], np.abs(errors.offset) > CERTAIN * errors.offset_std
        size = np.maximum(np.abs(mean) / (OFFSET_FAULT * self._sigma), np.abs(errors.offset) / (UNUSUAL * OFFSET))
        joint = int(np.argmax(size * certain))
        if certain[joint] and size[joint] >= 1.0:
            yield "sensor", {"joint": joint + 1, "offset": max(mean[joint], errors.offset[joint], key=abs)}
