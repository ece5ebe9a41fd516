# SPDX-License-Identifier: Apache-2.0
"""Motions and torques with a known answer, for the estimator's tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros import InertialParameters, JointDataset, RobotModel
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.estimation import ArmMonitor, PayloadEstimate, PayloadEstimator
from panda_dynamics_ros.recordings import JointStateSample, write_joint_states
from panda_dynamics_ros.simulation import Realism, SimulatedPanda
from panda_dynamics_ros.simulation.realism import SensorLevels

NO_ERRORS = SensorLevels((0.0,) * 7, (0.0,) * 7, 0.0, 0.0, 0.0, 0.0, 0.0)
IDEAL = Realism(residual=0.0, sensors=NO_ERRORS)
"""The model itself, without link-side friction."""
PAYLOAD = InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), np.diag([0.004, 0.004, 0.003]))
REST = np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6])
AMPLITUDE = np.array([0.5, 0.35, 0.45, 0.4, 0.6, 0.5, 0.7])
FREQUENCY = np.array([0.31, 0.23, 0.37, 0.29, 0.41, 0.47, 0.53])  # Hz


@dataclass(frozen=True)
class Motion:
    """Samples of a motion whose derivatives are exact: stamp (N,), q, dq, ddq (N, 7)."""

    stamp: FloatArray
    q: FloatArray
    dq: FloatArray
    ddq: FloatArray


def lifting(plant: SimulatedPanda, payload: InertialParameters, *lengths: float) -> tuple[JointDataset, Any]:
    """A recording without the payload, with it, and without it again, for these times, s; where it is carried (N,)."""
    runs = []
    for k, length in enumerate(lengths):
        if k:
            plant.attach(payload) if k == 1 else plant.release()
        runs.append(plant.record(length))
    stamp, q, dq, tau = (np.concatenate([getattr(run, name) for run in runs]) for name in ("stamp", "q", "dq", "tau"))
    carried = np.repeat(np.arange(len(runs)) == 1, [len(run.stamp) for run in runs])
    return JointDataset(stamp, q, dq, tau, runs[0].names, "simulated"), carried


def sinusoids(duration: float, rate: float = 1000.0, start: float = 0.0) -> Motion:
    """Every joint on a sine of its own; peak speeds about 1 to 2 rad/s."""
    return sinusoids_at(start + np.arange(round(duration * rate)) / rate)


def standing(duration: float, rate: float) -> Motion:
    """Every joint at rest."""
    stamp = np.arange(round(duration * rate)) / rate
    return Motion(stamp, np.tile(REST, (len(stamp), 1)), *np.zeros((2, len(stamp), 7)))


def sinusoids_at(stamp: FloatArray) -> Motion:
    """The same at any times (N,)."""
    A, w = AMPLITUDE, 2.0 * np.pi * FREQUENCY
    phase = stamp[:, None] * w
    return Motion(stamp, REST + A * np.sin(phase), A * w * np.cos(phase), -A * w**2 * np.sin(phase))


def sinusoids_paced(stamp: FloatArray, pace: FloatArray) -> Motion:
    """The same, slowed down to a pace (N,) of 0 to 1 at equally spaced times (N,): at 0 the arm rests."""
    return sinusoids_by_clock(stamp, stamp[1] * np.cumsum(pace), pace, np.gradient(pace, stamp))


def sinusoids_by_clock(stamp: FloatArray, phase: FloatArray, pace: FloatArray, rise: FloatArray) -> Motion:
    """The same by a clock (N,), whose derivatives are `pace` and `rise`."""
    along, pace = sinusoids_at(phase), pace[:, None]
    return Motion(stamp, along.q, along.dq * pace, along.ddq * pace**2 + along.dq * rise[:, None])


def torques(robot: RobotModel, motion: Motion, payload: InertialParameters | None = None) -> FloatArray:
    """Link-side torques of the arm with its friction and the payload, exactly; dry friction follows the joints' way."""
    arm, f = robot.with_payload(payload) if payload is not None else robot, robot.friction
    s, _ = presliding_states(motion.q)
    sigmoid = 1.0 / (1.0 + np.exp(-f.slope * (motion.dq + f.shift)))
    smooth = robot.friction_torques(motion.dq, s) - f.amplitude * (sigmoid - 0.5)
    return arm.inverse_dynamics(motion.q, motion.dq, motion.ddq) + smooth + 0.5 * f.amplitude * s


def carried(
    robot: RobotModel, motion: Motion, begin: float, end: float = np.inf, payload: InertialParameters = PAYLOAD,
    seed: int | None = None,
) -> FloatArray:  # fmt: skip
    """`torques` of an arm that carries the payload from `begin` to `end`, s; with a residual of this seed, if any."""
    during = (motion.stamp >= begin) & (motion.stamp < end)
    tau = np.where(during[:, None], torques(robot, motion, payload), torques(robot, motion))
    return tau if seed is None else tau + coloured(robot, motion.stamp, np.random.default_rng(seed))


def coloured(robot: RobotModel, stamp: FloatArray, rng: np.random.Generator) -> FloatArray:
    """An Ornstein-Uhlenbeck disturbance (N, 7) with the robot's residual model."""
    sigma, correlation_time = robot.residual.std, robot.residual.correlation_time
    noise = rng.normal(size=(len(stamp), robot.n))
    out = np.empty_like(noise)
    out[0] = sigma * noise[0]
    for k in range(1, len(stamp)):
        a = np.exp(-(stamp[k] - stamp[k - 1]) / correlation_time)
        out[k] = a * out[k - 1] + sigma * np.sqrt(1.0 - a * a) * noise[k]
    return out


def columns(n: int = 7) -> list[str]:
    """The columns of a table of n joints."""
    return ["t", *(f"{field}{i + 1}" for field in ("q", "dq", "tau") for i in range(n))]


def write_csv(path: Path, *values: NDArray[np.floating]) -> Path:
    """Samples as a table, with every digit: t (N,), q, dq and tau (N, n), or (N, 1 + 3n) of all."""
    table = np.column_stack(values)
    header = ",".join(columns(table.shape[1] // 3))
    with path.open("w", encoding="utf-8") as stream:  # np.savetxt itself takes a name that is no text for a URL
        np.savetxt(stream, table, delimiter=",", header=header, comments="", fmt="%.17g")
    return path


def write_recording(path: Path, names: Sequence[str], *values: NDArray[np.floating]) -> Path:
    """Samples as joint states of these joints: stamps (N,), q, dq, tau (N, n). Returns the recording's file."""
    return write_joint_states(path, (JointStateSample(t, tuple(names), *row) for t, *row in zip(*values, strict=True)))


def followed(
    robot: RobotModel, samples: Motion | JointDataset, tau: FloatArray, **options: Any
) -> tuple[PayloadEstimator, list[PayloadEstimate]]:
    """An estimator after these samples, and each of its estimates."""
    monitor = ArmMonitor(robot, **options)
    found = monitor.update_rows(samples.stamp, samples.q, samples.dq, tau)
    return monitor.payload_estimator, [estimate for _, estimate, _ in found.estimates]


def fed(estimator: PayloadEstimator, samples: Motion | JointDataset, tau: FloatArray) -> list[PayloadEstimate]:
    """What an estimator says to one sample after the other."""
    return [estimator.update(*each) for each in zip(samples.stamp, samples.q, samples.dq, tau, strict=True)]


def kinds(estimates: list[PayloadEstimate]) -> list[str]:
    """Of the events."""
    return [estimate.event.kind for estimate in estimates if estimate.event]
