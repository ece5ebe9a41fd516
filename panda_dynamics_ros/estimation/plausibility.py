# SPDX-License-Identifier: Apache-2.0
"""Recognises torques that are not those of this arm and a payload, and states the probable cause and its remedy.

A filter fits a payload to any torques. Here the measured torque t and that of the arm's model h, both through the
low-pass filters of the regression, are compared over the last seconds of motion, by their second moments. Where they
contradict arm and payload, other explanations of t are tried: it is constant, a multiple of h, without gravity, of
opposite sign, or its columns have another order. The one that leaves least is reported, if it is far better.
Further checks concern the mass, the declared shape, a gain of all joints, and each joint's residual.
"""

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.arm_model import OFFSET, ArmErrors
from panda_dynamics_ros.estimation.options import EstimatorOptions
from panda_dynamics_ros.robot.description import CURRENT, WITHOUT_GRAVITY, RobotDescription

MEMORY = 4.0  # s of motion, exponential
ENOUGH = 1.0  # s of motion before anything is reported: twice the correlation time of an arm's residual
PERIOD = 0.25  # s of motion between two evaluations
HOLD = 2.0  # s of motion for which a sentence stays after its last confirmation, and its figures stay the same

CONTRADICTION = 6.0
"""Residual over the arm's own, RMS of all joints, above which causes are sought. The published model leaves 0.8 to 1.2
on real arms. A person who guides a Panda by hand makes up to 8, for which no cause is found."""
UNEXPLAINED = 12.0  # the same, above which the torques are reported although no cause is found
JOINT_FAULT = 7.0  # the same of one joint, above which causes are sought
FAR_BETTER = 0.25  # of the mean square that the model leaves, what another explanation may leave
ALIKE, UNITS = 0.9, (0.2, 5.0)
"""Correlation from which on torques are a multiple of the model's; gains that a payload or another arm may have."""
STUCK = 1e-6  # of the variance that the model expects of torques: frozen; of a joint without friction it may be 1e-4
OFFSET_FAULT, UNUSUAL, GAIN_FAULT, LATE, CERTAIN = 6.5, 4.0, 0.05, 0.015, 3.0
"""Mean residual of a joint over the arm's own, learnt offset over that of usual arms, learnt gain of all torques, and
delay, s, that healthy sensors do not have; what is learnt must be significant at so many standard deviations. Mean
residuals of real arms reach 5.8 times their own; the prior of the gain draws what is learnt to a third of the truth."""
NEGATIVE_MASS, EXCESS_MASS = 0.15, 0.05  # kg, beside the estimate's own uncertainty
HAND = (0.6, 0.85)  # kg: the Franka Hand has 0.73 kg
WITH_HAND = ("panda_ledezma",)
"""Parameter sets of the library whose last link includes the hand. Nothing in the torques of an arm that carries
something from the start tells whether it is mounted: until a payload is picked up, put down or tared, the interval of
the mass allows for both."""
_FIGURES = re.compile(r"[-+]?\d[-+.\de]*")


class PlausibilityCheck:
    """Follows the filtered torques of an arm, with the options of its estimator, and names what contradicts it.

    problem: one sentence with cause and remedy; empty where nothing contradicts the arm.
    """

    def __init__(self, robot: RobotDescription, options: EstimatorOptions) -> None:
        self._robot, self._options, self._sigma, n = robot, options, robot.residual.std, robot.n
        # of the measured torque, the model's, the residual, and the residual while nothing touches the arm
        self._cross, self._means, self._squares = np.zeros((n, n)), np.zeros((4, n)), np.zeros((4, n))
        self._motion_s, self._untouched_s, self._due, self._held_until = 0.0, 0.0, ENOUGH, 0.0
        self.problem = ""

    def update(
        self, torque: FloatArray, y: FloatArray, residual: FloatArray, motion_time: float, is_touched: bool
    ) -> bool:
        """Follow one step of the filter; whether `evaluate` is due.

        torque: (n,), N m, measured torque through the filters of the regression. y, residual: (n,), N m, parts of it:
            what the unloaded arm's model, and what neither the model nor the payload explain.
        motion_time: s of motion since the last step.
        is_touched: whether something touches the arm, whose torques are in the residual.
        """
        if motion_time <= 0.0:
            return False
        self._motion_s += motion_time
        self._untouched_s += 0.0 if is_touched else motion_time
        new = motion_time / min(MEMORY, self._motion_s)  # plain means at first
        last = 0.0 if is_touched else motion_time / min(MEMORY, self._untouched_s)
        values, weights = np.array((torque, torque - y, residual, residual)), np.array((new, new, new, last))[:, None]
        self._means += weights * (values - self._means)
        self._squares += weights * (values**2 - self._squares)
        self._cross += new * (torque[:, None] * values[1] - self._cross)
        return self._motion_s >= self._due

    def evaluate(
        self, masses: Sequence[tuple[float, float]], from_start: bool, errors: ArmErrors, of_shape: str = ""
    ) -> None:
        """Renew `problem`.

        masses: kg, each with its standard deviation, before limits and consistency are applied: what is carried beyond
            the tare, all that the torques show, and the least that they ever showed.
        from_start: whether nothing was tared, and no change of the payload was detected so far.
        errors: of the arm, as learnt so far.
        of_shape: what contradicts the declared shape (`options.shape_problem`); empty if nothing does.
        """
        self._due = self._motion_s + PERIOD
        problem = next(self._problems(masses, from_start, errors), of_shape)
        is_other = problem and _FIGURES.sub("", problem) != _FIGURES.sub("", self.problem)
        if is_other or self._motion_s >= self._held_until:
            self.problem, self._held_until = problem, self._motion_s + HOLD

    def _problems(self, masses: Sequence[tuple[float, float]], from_start: bool, errors: ArmErrors) -> Iterator[str]:
        """What is wrong, in a sentence each, the most fundamental first."""
        robot, known, max_mass = self._robot, self._options.known_mass, self._options.max_mass
        (carried, carried_std), (mass, mass_std), (least, least_std) = masses
        of_tare = NEGATIVE_MASS + 3.0 * carried_std
        is_light, is_heavy = least < -NEGATIVE_MASS - 3.0 * least_std, mass > max_mass + EXCESS_MASS + 2.0 * mass_std
        ratios = self._squares[2:] / self._sigma**2
        overall, untouched = np.sqrt(ratios.mean(axis=1))
        if overall > CONTRADICTION or ratios[0].max() > JOINT_FAULT**2 or is_heavy or is_light:
            yield from self._other_torques()
        variance, expected, *_ = self._squares - self._means**2
        for joint in np.flatnonzero((variance < STUCK * expected) & (expected > self._sigma**2)):
            yield (
                f"the torque of joint {joint + 1} stays at {self._means[0, joint]:.2g} N m while the arm moves: "
                "expected its measured torque; check its sensor, and which effort belongs to which joint name"
            )
        if is_light:
            yield (
                f"the torques are {-least:.2f} kg lighter than those of the unloaded arm: expected the parameters of "
                f"this arm, got {robot.name}; check robot, mounting, and that a declared end_effector is mounted"
            )
        if is_heavy:
            yield (
                f"the torques are those of {mass:.2f} kg: expected at most max_mass = {max_mass:g} kg; raise it if the "
                "payload is as heavy, else check robot, end_effector, mounting and gravity"
            )
        elif carried + of_tare < min(mass, 0.0):
            yield f"{-carried:.2f} kg less is carried than at the tare: call reset, or tare what is carried now"
        if known > 0.0 and carried > of_tare and abs(carried - known) > 3.0 * carried_std + 0.05 * known:
            yield (
                f"the torques are those of {carried:.2f} kg, which contradicts known_mass = {known:g} kg: correct it, "
                "or leave it out"
            )
        yield from self._sensor_faults(errors)
        if untouched > UNEXPLAINED:
            worst = int(np.argmax(ratios[1]))
            yield (
                f"the torques differ from those of arm and payload by {untouched:.0f} times the arm's own residual, "
                f"most at joint {worst + 1} ({math.sqrt(self._squares[3, worst]):.2g} N m): check robot, end_effector "
                "and mounting, or identify the arm (panda-dynamics identify)"
            )
        if from_start and robot.name in WITH_HAND and mass > NEGATIVE_MASS:
            yield (
                f"{mass:.2f} kg have been there from the start, and the links of {robot.name} include a hand of 0.73 "
                f"kg: if none is mounted, {mass + 0.73:.2f} kg are carried; set robot to panda"
            )
        is_bare_franka = np.allclose((robot.T_joint_flange @ robot.T_flange_ee)[:3, 3], (0.0, 0.0, 0.107))
        if from_start and is_bare_franka and mass_std <= 0.2 and HAND[0] < mass < HAND[1]:
            yield (
                f"{mass:.2f} kg have been there from the start, about as much as the Franka Hand (0.73 kg): if it is "
                "mounted, set end_effector to hand; check robot, too"
            )

    def _other_torques(self) -> Iterator[str]:
        """The alternative that explains the torques of all joints far better than arm and payload do, if one does."""
        weights, (tt, hh, *_), effort = self._sigma**-2.0, self._squares, self._robot.effort
        T, H, C = float(weights @ tt), float(weights @ hh), float(weights @ np.diag(self._cross))
        gain, (order, of_order) = C / max(H, 1e-300), self._best_order()
        is_multiple = C / math.sqrt(max(T * H, 1e-300)) > ALIKE
        varies, expected = weights @ (self._squares[:2] - self._means[:2] ** 2).T
        is_constant = varies < STUCK * expected
        remedy = "check the unit of effort and the driver's scaling; of motor currents, set effort to current"
        alternatives = (  # mean square that each leaves, in units of the residual's
            (
                0.0 if T == 0.0 else math.inf,
                "all torques are zero: expected measured joint torques; check that torque sensing is on and that the "
                "topic carries effort",
            ),
            (
                0.0 if is_constant else math.inf,
                "the torques stay constant while the arm moves: expected measured joint torques; check whether the "
                "driver repeats its first sample",
            ),
            (
                0.0 if is_multiple and not UNITS[0] < gain < UNITS[1] else math.inf,
                f"the torques are {gain:.2g} times those of the arm: expected N m on the link side; "
                f"{'check motor_constants' if effort == CURRENT else remedy}",
            ),
            (
                T - 4.0 * C + 4.0 * H if effort == WITHOUT_GRAVITY else math.inf,
                f"with gravity added, the torques are {gain:.2g} times those of the arm: expected efforts without "
                "gravity; if the driver leaves gravity in them, set effort to measured",
            ),
            (
                0.5 * T,  # the most usual mistake
                "the torques are too small to hold the arm against gravity: expected measured torques with gravity; "
                "torques without gravity, or external torques, do not show a payload, unless effort is without_gravity",
            ),
            (
                T + 2.0 * C + H,
                "the torques have the opposite sign of the arm's: expected the torques of the joints on the links; "
                "check the sign convention, and that the base is not mounted upside down",
            ),
            (
                of_order,
                f"the torque columns fit the arm in the order {', '.join(map(str, order))}: expected joint 1 to "
                f"{len(order)} from base to flange; check which effort belongs to which joint name",
            ),
        )
        left, sentence = min(alternatives, key=lambda each: each[0])
        if left < FAR_BETTER * (T - 2.0 * C + H):
            yield sentence

    def _best_order(self) -> tuple[list[int], float]:
        """Which measured column (1-based) fits joint 1, 2, .. best, and the sum of mean((t - h)^2) / sigma^2 then."""
        tt, hh, *_ = self._squares
        joints = np.arange(len(tt))
        cost = (tt[:, None] - 2.0 * self._cross + hh) / self._sigma**2
        kept = np.where(np.eye(len(tt)) > 0.0, FAR_BETTER, 1.0)  # a column is exchanged where others fit far better
        if np.array_equal((cost * kept).argmin(axis=1), joints):  # no order fits better
            return [], math.inf
        from scipy.optimize import linear_sum_assignment  # takes a third of a node's start to import

        joint_of = linear_sum_assignment(cost * kept)[1]
        return [int(column) for column in np.argsort(joint_of) + 1], float(cost[joints, joint_of].sum())

    def _sensor_faults(self, errors: ArmErrors) -> Iterator[str]:
        """The gain of all torques, or the joint's offset, that is far from those of healthy sensors."""
        gain, std = float(errors.common_gain[0]), float(errors.common_gain_std[0])
        if abs(gain) > max(GAIN_FAULT, CERTAIN * std):
            yield (
                f"the torques of all joints are {100.0 * gain:+.0f} % off those of this arm: check robot and the "
                "calibration of the sensors, or identify the arm (panda-dynamics identify)"
            )
        delay, std = float(errors.delay[0]), float(errors.delay_std[0])
        if abs(delay) > max(LATE, CERTAIN * std):
            yield (
                f"the torques are {1e3 * abs(delay):.0f} ms {'behind' if delay > 0.0 else 'ahead of'} the positions: "
                "expected both of one moment; check the stamps, and whether something filters one of them: starts and "
                "stops may look like contacts"
            )
        mean, certain = self._means[3], np.abs(errors.offset) > CERTAIN * errors.offset_std
        size = np.maximum(np.abs(mean) / (OFFSET_FAULT * self._sigma), np.abs(errors.offset) / (UNUSUAL * OFFSET))
        joint = int(np.argmax(size * certain))
        if certain[joint] and size[joint] >= 1.0:
            offset = max(mean[joint], errors.offset[joint], key=abs)
            yield (
                f"the torque of joint {joint + 1} is off by {offset:+.2g} N m: "
                "check mounting, calibrate its sensor, or identify the arm (panda-dynamics identify)"
            )
