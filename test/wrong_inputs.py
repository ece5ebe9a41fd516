# SPDX-License-Identifier: Apache-2.0
"""Joint states that are not what they are taken for: what is changed of a good recording, and words of its sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from motion import PAYLOAD, Motion, coloured, sinusoids, torques

from panda_dynamics_ros import RobotModel
from panda_dynamics_ros.checks import FloatArray


@dataclass(frozen=True)
class Recording:
    """A motion and its torques (N, 7), N m; `external`: the part that the arm's model does not explain."""

    motion: Motion
    tau: FloatArray
    external: FloatArray
    gravity: FloatArray

    def with_motion(self, **fields: FloatArray) -> Recording:
        return replace(self, motion=replace(self.motion, **fields))


def recording(robot: RobotModel, seconds: float = 3.0, rate: float = 1000.0, seed: int = 5) -> Recording:
    """A Panda that carries 1 kg from the start, with the coloured residual of its model."""
    motion = sinusoids(seconds, rate)
    noise = coloured(robot, motion.stamp, np.random.default_rng(seed))
    tau, arm = torques(robot, motion, PAYLOAD) + noise, torques(robot, motion)
    return Recording(motion, tau, tau - arm, robot.with_payload(PAYLOAD).gravity_torques(motion.q))


def _of_joint(joint: int, value: float) -> FloatArray:
    return value * (np.arange(7) == joint - 1)


def _scaled(factor: float | FloatArray) -> Change:
    return lambda r: replace(r, tau=factor * r.tau)


def _added(joint: int, offset: float) -> Change:
    return lambda r: replace(r, tau=r.tau + _of_joint(joint, offset))


def _other(r: Recording, offset: float) -> Recording:
    """Every other sample is of a second robot, whose joints stand elsewhere by `offset`, rad, and which is empty."""
    second = (np.arange(len(r.tau)) % 2 == 1)[:, None]
    return replace(r.with_motion(q=r.motion.q + offset * second), tau=r.tau - second * r.external)


Change = Callable[[Recording], Recording]
WRONG: dict[str, tuple[Change, str]] = {
    "external torques": (lambda r: replace(r, tau=r.external), "too small to hold the arm"),
    "without gravity": (lambda r: replace(r, tau=r.tau - r.gravity), "with gravity"),
    "sign": (_scaled(-1.0), "opposite sign"),
    "upside down": (lambda r: replace(r, tau=r.tau - 2.0 * r.gravity), "upside down"),
    "zero": (lambda r: replace(r, tau=0.0 * r.tau), "all torques are zero"),
    "constant": (lambda r: replace(r, tau=r.tau[:1] + 0.0 * r.tau), "stay constant"),
    "one constant": (
        lambda r: replace(r, tau=np.where(_of_joint(4, 1.0) > 0.0, r.tau[0], r.tau)),
        "the torque of joint 4 stays at",
    ),
    "order": (lambda r: replace(r, tau=r.tau[:, [0, 3, 2, 1, 4, 5, 6]]), "in the order 1, 4, 3, 2, 5, 6, 7"),
    "thousandth": (_scaled(1e-3), "check the unit"),
    "joint 4 + 3 N m": (_added(4, 3.0), "the torque of joint 4 is off"),
    "joint 4 gain + 15 %": (_scaled(1.0 + _of_joint(4, 0.15)), "the torque of joint 4 is off"),
    "milliseconds": (lambda r: r.with_motion(stamp=1e3 * r.motion.stamp), "are they in milliseconds"),
    "thousandths of stamps": (lambda r: r.with_motion(stamp=1e-3 * r.motion.stamp), "stamps in s"),
    "no velocities": (lambda r: r.with_motion(dq=0.0 * r.motion.dq), "do not change as the velocities say"),
    "sign of velocities": (lambda r: r.with_motion(dq=-r.motion.dq), "check sign, unit and order of the velocities"),
    "two robots, near": (lambda r: _other(r, 0.02), "two robots on one topic"),
}
"""By name: the change, and words of the sentence that the library, `replay` and the node say."""
REFUSED: dict[str, tuple[Change, str, str]] = {
    "degrees": (
        lambda r: r.with_motion(q=np.degrees(r.motion.q), dq=np.degrees(r.motion.dq)),
        "degrees",
        "outside joint limits",
    ),
    "thousandfold": (_scaled(1e3), "tau: expected at most", "torque beyond limits"),
    "two robots": (lambda r: _other(r, 0.3), "two robots on one topic", "position jump"),
}
"""The same where samples are left out: words of the library and the node, and the reason that `replay` counts."""
