# SPDX-License-Identifier: Apache-2.0
"""Recognises torques that are not those of this arm and a payload, and states the probable cause and its remedy.

A filter fits a payload to any torques. Here the measured torque t and the torque h of the arm's model, both through the
low-pass filters of the regression, are compared over the last seconds of motion by their moments

    mean(t_i h_j),    mean(t_i^2),    mean(h_j^2),    mean(t_i),

from which follow the residuals of other hypotheses: torques that are constant, of opposite sign, of another unit,
without gravity, or with their columns in another order. A hypothesis is reported only where the torques contradict the
arm and its payload, and it explains them far better. Further checks concern the mass itself (below zero, above the
heaviest payload, or contrary to what the user declared), and single joints whose residual is an offset or a share of
their torque.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.payload.arm_errors import ArmErrors
from panda_dynamics_ros.kernels.vectors import compiled
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
OFFSET_FAULT, GAIN_FAULT, CERTAIN = 6.5, 0.04, 3.0
"""Mean residual of a joint over the arm's own, and learnt gain, that a healthy sensor does not have; offset or gain
must be significant at so many standard deviations. Offsets of real arms reach 5.8 times their residual."""
FAR_BETTER = 0.25  # of the residual's mean square that a hypothesis may leave
SMALL = 0.3  # of the model's mean square: torques as small as these do not hold the arm
CONSTANT = 1e-4  # of their mean square: variance of torques that count as constant
NEGATIVE_MASS, EXCESS_MASS = 0.15, 0.05  # kg, beside the estimate's own uncertainty
STUCK = 1e-3  # of the variance that the model expects of a joint's torque: one that does not change
TWICE = (1.6, 2.4)  # gain of torques to which gravity was added although they had it
UNIT_REMEDY = {
    MEASURED: "check the unit of effort and the driver's scaling; of motor currents, set effort to current",
    CURRENT: "check motor_constants",
}
HAND = (0.6, 0.85)  # kg: the Franka Hand has 0.73 kg
WITH_HAND = ("panda_ledezma",)
"""Parameter sets of the library whose last link includes the hand. Nothing in the torques of an arm that carries
something from the start tells whether it is mounted."""


@compiled
def update_moments(t, h, e, keep, cross, moments):
    """Exponential means, in place: cross (n, n) of t_i h_j; moments (7, n) of t, h, e, t^2, h^2, e^2, e h."""
    new = 1.0 - keep
    for i in range(t.shape[0]):
        for j in range(t.shape[0]):
            cross[i, j] = keep * cross[i, j] + new * t[i] * h[j]
        values = (t[i], h[i], e[i], t[i] * t[i], h[i] * h[i], e[i] * e[i], e[i] * h[i])
        for k in range(7):
            moments[k, i] = keep * moments[k, i] + new * values[k]


@dataclass(frozen=True)
class Declaration:
    """What the user has declared about arm and payload.

    Attributes
    ----------
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


class PlausibilityCheck:
    """Follows the filtered torques of one arm and names what contradicts it.

    Parameters
    ----------
    sigma: (n,), N m, standard deviation of the arm's residual.
    declaration: of the user.

    Attributes
    ----------
    problem: one sentence with cause and remedy; empty where nothing contradicts the arm.
    """

    def __init__(self, sigma: FloatArray, declaration: Declaration) -> None:
        self._sigma, self._declared = sigma, declaration
        self.restart()

    def restart(self) -> None:
        """Forget the torques so far."""
        n = len(self._sigma)
        self._cross, self._moments = np.zeros((n, n)), np.zeros((7, n))
        self._motion_s = self._since_evaluation = self._age = 0.0
        self._kind, self.problem = "", ""

    def update(self, torque: FloatArray, y: FloatArray, residual: FloatArray, motion_time: float) -> bool:
        """Follow one step of the filter; whether `evaluate` is due.

        Parameters
        ----------
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
        keep = 1.0 - motion_time / min(MEMORY, self._motion_s)  # plain means at first
        update_moments(torque, torque - y, residual, keep, self._cross, self._moments)
        return self._motion_s >= ENOUGH and self._since_evaluation >= PERIOD

    def evaluate(self, mass: float, mass_std: float, from_start: bool, errors: ArmErrors) -> None:
        """Renew `problem`.

        Parameters
        ----------
        mass, mass_std: kg, of the filter, before limits and consistency are applied; the tare included.
        from_start: whether no change of the payload was detected so far.
        errors: of the arm, as learnt so far.
        """
        self._since_evaluation = 0.0
        self._report(*self._most_probable(mass, mass_std, from_start, errors))

    def _report(self, kind: str, sentence: str) -> None:
        """Show a sentence; one of the same kind keeps its figures for `HOLD`, and none is dropped before."""
        if kind == self._kind and self._age < HOLD:
            return
        if kind or self._age >= HOLD:
            self._kind, self.problem, self._age = kind, sentence, 0.0

    def _most_probable(self, mass: float, mass_std: float, from_start: bool, errors: ArmErrors) -> tuple[str, str]:
        """Kind and sentence of the most probable problem."""
        tolerance = NEGATIVE_MASS + 3.0 * mass_std
        heaviest = self._declared.max_mass + EXCESS_MASS + 2.0 * mass_std
        ratios = np.sqrt(self._moments[5]) / self._sigma
        overall = float(np.sqrt(np.mean(ratios**2)))
        impossible = not -tolerance < mass < heaviest
        found = ("", "")
        if overall > CONTRADICTION or ratios.max() > JOINT_FAULT or impossible:
            found = self._signal_problem()
        if not found[0]:
            found = self._stuck_joint()
        if not found[0]:
            found = self._mass_problem(mass, mass_std, tolerance, heaviest)
        if not found[0]:
            found = self._joint_problem(errors)
        if not found[0] and overall > UNEXPLAINED:
            found = self._unexplained(overall, ratios)
        if not found[0] and from_start:
            found = self._hand_problem(mass, mass_std)
        return found

    def _signal_problem(self) -> tuple[str, str]:
        """The hypothesis on the signal that explains the torques far better than arm and payload do, if one does."""
        mean_t, _, _, tt, hh, _, _ = self._moments
        w = self._sigma**-2.0
        T, H, C = float(w @ tt), float(w @ hh), float(w @ np.diag(self._cross))
        correlation, gain = C / math.sqrt(max(T * H, 1e-300)), C / max(H, 1e-300)
        if T == 0.0:
            return "zero", (
                "all torques are zero: expected measured joint torques; check that torque sensing is on and that the "
                "topic carries effort"
            )
        if float(w @ (tt - mean_t**2)) < CONSTANT * T:
            return "constant", (
                "the torques stay constant while the arm moves: expected measured joint torques; check whether the "
                "driver repeats its first sample"
            )
        if correlation > 0.9 and not 0.2 < gain < 5.0:
            remedy = UNIT_REMEDY.get(self._declared.effort, UNIT_REMEDY[MEASURED])
            return "unit", f"the torques are {gain:.2g} times those of the arm: expected N m on the link side; {remedy}"
        if self._declared.effort == WITHOUT_GRAVITY and correlation > 0.9 and TWICE[0] < gain < TWICE[1]:
            return "gravity twice", (
                f"with gravity added, the torques are {gain:.2g} times those of the arm: expected efforts without "
                "gravity; if the driver leaves gravity in them, set effort to measured"
            )
        if T < SMALL * H:
            return "gravity", (
                "the torques are too small to hold the arm against gravity: expected measured torques with gravity; "
                "torques without gravity, or external torques, do not show a payload, unless effort is without_gravity"
            )
        order, of_order = self._best_order()
        of_sign = T + 2.0 * C + H
        if correlation < -0.5 and of_sign < of_order:
            return "sign", (
                "the torques have the opposite sign of the arm's: expected the torques of the joints on the links; "
                "check the sign convention, and that the base is not mounted upside down"
            )
        if of_order < FAR_BETTER * (T - 2.0 * C + H):
            return "order", (
                f"the torque columns fit the arm in the order {', '.join(map(str, order))}: expected joint 1 to "
                f"{len(order)} from base to flange; check which effort belongs to which joint name"
            )
        return "", ""

    def _stuck_joint(self) -> tuple[str, str]:
        """The joint whose torque does not change although the model's does."""
        mean_t, mean_h, _, tt, hh, _, _ = self._moments
        variance, expected = tt - mean_t**2, hh - mean_h**2
        stuck = np.flatnonzero((variance < STUCK * expected) & (expected > self._sigma**2))
        if not len(stuck):
            return "", ""
        return "stuck", (
            f"the torque of joint {stuck[0] + 1} stays at {mean_t[stuck[0]]:.2g} N m while the arm moves: expected its "
            "measured torque; check its sensor, and which effort belongs to which joint name"
        )

    def _best_order(self) -> tuple[list[int], float]:
        """Which measured column (1-based) fits joint 1, 2, .. best, and the sum of mean((t - h)^2) / sigma^2 then."""
        tt, hh = self._moments[3], self._moments[4]
        cost = (tt[:, None] - 2.0 * self._cross + hh[None, :]) / self._sigma[None, :] ** 2
        kept = np.where(np.eye(len(tt)) > 0.0, FAR_BETTER, 1.0)  # a column is exchanged where others fit far better
        columns = joints = np.arange(len(tt))
        if not np.array_equal((cost * kept).argmin(axis=1), joints):  # else no order fits better
            from scipy.optimize import linear_sum_assignment  # takes a third of a node's start to import

            columns, joints = linear_sum_assignment(cost * kept)
        return [int(column) for column in columns[np.argsort(joints)] + 1], float(cost[columns, joints].sum())

    def _mass_problem(self, mass: float, mass_std: float, tolerance: float, heaviest: float) -> tuple[str, str]:
        declared = self._declared
        if mass < -tolerance:
            return "light", (
                f"the torques are {-mass:.2f} kg lighter than those of the unloaded arm: expected the parameters of "
                f"this arm, got {declared.robot}; check robot, and that a declared end_effector is mounted"
            )
        if mass > heaviest:
            return "heavy", (
                f"the torques are those of {mass:.2f} kg: expected at most max_mass = {declared.max_mass:g} kg; raise "
                "it if the payload is as heavy, else check robot and end_effector"
            )
        known = declared.known_mass
        if known > 0.0 and mass > tolerance and abs(mass - known) > 3.0 * mass_std + 0.05 * known:
            return "known mass", (
                f"the torques are those of {mass:.2f} kg, which contradicts known_mass = {known:g} kg: correct it, or "
                "leave it out"
            )
        return "", ""

    def _joint_problem(self, errors: ArmErrors) -> tuple[str, str]:
        """The joint whose torque has an offset, or a gain, that is far from those of healthy sensors."""
        mean_e = self._moments[2]
        is_offset = np.abs(errors.offset) > CERTAIN * errors.offset_std
        is_gain = np.abs(errors.gain) > CERTAIN * errors.gain_std
        of_offset = np.where(is_offset, np.abs(mean_e), 0.0) / (OFFSET_FAULT * self._sigma)
        of_gain = np.where(is_gain, np.abs(errors.gain), 0.0) / GAIN_FAULT
        joint = int(np.argmax(np.maximum(of_offset, of_gain)))
        if max(of_offset[joint], of_gain[joint]) < 1.0:
            return "", ""
        by_gain = of_gain[joint] > of_offset[joint]
        what = f"{100.0 * errors.gain[joint]:+.0f} %" if by_gain else f"{mean_e[joint]:+.2g} N m"
        return f"joint {joint + 1}", (
            f"the torque of joint {joint + 1} is off by {what}: calibrate its sensor, or identify the arm "
            "(panda-dynamics identify)"
        )

    def _unexplained(self, overall: float, ratios: FloatArray) -> tuple[str, str]:
        worst = int(np.argmax(ratios))
        return "unexplained", (
            f"the torques differ from those of arm and payload by {overall:.0f} times the arm's own residual, most at "
            f"joint {worst + 1} ({ratios[worst] * self._sigma[worst]:.2g} N m): check robot, end_effector and "
            "mounting, or identify the arm (panda-dynamics identify)"
        )

    def _hand_problem(self, mass: float, mass_std: float) -> tuple[str, str]:
        declared = self._declared
        if declared.robot in WITH_HAND and mass > NEGATIVE_MASS:
            return "hand", (
                f"{mass:.2f} kg have been there from the start, and the links of {declared.robot} include a hand of "
                f"0.73 kg: if none is mounted, {mass + 0.73:.2f} kg are carried; set robot to panda"
            )
        if declared.has_end_effector or mass_std > 0.2 or not HAND[0] < mass < HAND[1]:
            return "", ""
        return "hand", (
            f"{mass:.2f} kg have been there from the start, about as much as the Franka Hand (0.73 kg): if it is "
            "mounted, set end_effector to hand"
        )
