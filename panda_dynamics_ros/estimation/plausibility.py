# SPDX-License-Identifier: Apache-2.0
"""Recognises torques that are not those of this arm and a payload, and states the probable cause and its remedy.

A filter fits a payload to any torques. Here the measured torque and that of the arm's model, both through the low-pass
filters of the regression, are compared over the last seconds of motion. A hypothesis on the signal
(`torque_hypotheses`) is reported only where the torques contradict the arm and its payload, and it explains them far
better. Further checks concern the mass itself (below zero, above the heaviest payload, or contrary to what the user
declared), the declared shape, single joints whose residual is an offset or a share of their torque, and a gain of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.arm_model import ArmErrors
from panda_dynamics_ros.estimation.torque_hypotheses import signal_problem, stuck_joint, update_moments
from panda_dynamics_ros.robot.effort import MEASURED

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
OFFSET_FAULT, GAIN_FAULT, CERTAIN = 6.5, 0.03, 3.0
"""Mean residual of a joint over the arm's own, and learnt gain, that a healthy sensor does not have; offset or gain
must be significant at so many standard deviations. Offsets of real arms reach 5.8 times their residual."""
COMMON_FAULT = 0.05
"""The same of a gain of all torques; its prior draws what is learnt to a third of the truth."""
NEGATIVE_MASS, EXCESS_MASS = 0.15, 0.05  # kg, beside the estimate's own uncertainty
HAND = (0.6, 0.85)  # kg: the Franka Hand has 0.73 kg
WITH_HAND = ("panda_ledezma",)
"""Parameter sets of the library whose last link includes the hand. Nothing in the torques of an arm that carries
something from the start tells whether it is mounted: until a payload is picked up, put down or tared, the interval of
the mass allows for both."""


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

    def evaluate(self, mass: float, mass_std: float, from_start: bool, errors: ArmErrors, of_shape: str = "") -> None:
        """Renew `problem`.

        Parameters
        ----------
        mass, mass_std: kg, of the filter, before limits and consistency are applied; the tare included.
        from_start: whether no change of the payload was detected so far.
        errors: of the arm, as learnt so far.
        of_shape: what contradicts the declared shape (`prior_knowledge.shape_problem`); empty if nothing does.
        """
        self._since_evaluation = 0.0
        found = self._most_probable(mass, mass_std, from_start, errors)
        self._report(*found if found[0] or not of_shape else ("shape", of_shape))

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
            found = signal_problem(self._cross, self._moments, self._sigma, self._declared.effort)
        if not found[0]:
            found = stuck_joint(self._moments, self._sigma)
        if not found[0]:
            found = self._mass_problem(mass, mass_std, tolerance, heaviest)
        if not found[0]:
            found = self._joint_problem(errors)
        if not found[0] and overall > UNEXPLAINED:
            found = self._unexplained(overall, ratios)
        if not found[0] and from_start:
            found = self._hand_problem(mass, mass_std)
        return found

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
        """All torques, or the joint's, whose gain or offset is far from those of healthy sensors."""
        gain, std = float(errors.common_gain[0]), float(errors.common_gain_std[0])
        if abs(gain) > max(COMMON_FAULT, CERTAIN * std):
            return "gain", (
                f"the torques of all joints are {100.0 * gain:+.0f} % off those of this arm: check robot "
                "and the calibration of the sensors, or identify the arm (panda-dynamics identify)"
            )
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
