# SPDX-License-Identifier: Apache-2.0
"""Synthetic recordings: the model's own torques with noise on a smooth motion, half of them with a payload."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from panda_dynamics_ros import InertialParameters, load_robot
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.recordings import JointStateSample, write_joint_states

DROID_RATE, DROID_SECONDS = 15.0, 16.6
"""Hz, and s of a mean episode: 76,000 episodes are 350 h (Khazatsky et al., 2024)."""


def motion(seconds: float, rate: float, seed: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """t (N,), q, dq, tau (N, 7); from a third of the time on, odd seeds carry 0.5 to 2 kg."""
    arm, rng = load_robot("panda"), np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate)
    speed = 2.0 * np.pi * rng.uniform(0.1, 0.3, 7)
    middle = 0.5 * (arm.limits.lower + arm.limits.upper)
    phase = speed * t[:, None]
    q, dq, ddq = middle + 0.4 * np.sin(phase), 0.4 * speed * np.cos(phase), -0.4 * speed**2 * np.sin(phase)
    tau = arm.inverse_dynamics(q, dq, ddq) + arm.friction_torques(dq)
    if seed % 2:
        mass = rng.uniform(0.5, 2.0)
        loaded = arm.with_payload(InertialParameters(mass, np.array([0.0, 0.0, 0.06]), 1e-3 * mass * np.eye(3)))
        carried = t > seconds / 3.0
        tau[carried] = (loaded.inverse_dynamics(q, dq, ddq) + arm.friction_torques(dq))[carried]
    return t, q, dq, tau + rng.normal(scale=0.1, size=tau.shape)


def write_droid(folder: Path, count: int) -> Path:
    """`count` episodes in HDF5 files with DROID's names, in folders of four labs."""
    for k in range(count):
        t, q, dq, tau = motion(DROID_SECONDS, DROID_RATE, k)
        episode = folder / f"lab{k % 4}" / f"episode_{k:05d}"
        episode.mkdir(parents=True)
        seconds = np.floor(t).astype(np.int64)
        with h5py.File(episode / "trajectory.h5", "w") as file:
            stamps = file.create_group("observation/timestamp/robot_state")
            stamps["robot_timestamp_seconds"] = seconds
            stamps["robot_timestamp_nanos"] = np.rint((t - seconds) * 1e9).astype(np.int64)
            state = file.create_group("observation/robot_state")
            state["joint_positions"], state["joint_velocities"], state["motor_torques_measured"] = q, dq, tau
    return folder


def write_1khz(folder: Path, count: int, seconds: float) -> Path:
    """`count` MCAP recordings at 1 kHz."""
    names = tuple(f"panda_joint{i}" for i in range(1, 8))
    for k in range(count):
        rows = zip(*motion(seconds, 1000.0, k), strict=True)
        samples = (JointStateSample(float(t), names, *values) for t, *values in rows)
        write_joint_states(folder / f"recording_{k}", samples)
    return folder
