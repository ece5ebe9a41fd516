# SPDX-License-Identifier: Apache-2.0
"""Short recordings for tests: torques of the model itself on a smooth motion, with a payload from some time on."""

from pathlib import Path

import numpy as np
import pytest
from motion import write_csv

import panda_dynamics_ros as pdr
from panda_dynamics_ros.annotation import Task
from panda_dynamics_ros.annotation.rows import COLUMNS, Row
from panda_dynamics_ros.checks import FloatArray

TASK = Task.of(pdr.load_robot("panda"), {})


def table(seconds: float = 2.0, rate: float = 100.0, mass: float = 0.0, seed: int = 0) -> FloatArray:
    """Rows t, q1.., dq1.., tau1.. of a Panda that carries `mass`, kg, at its flange."""
    arm, rng = pdr.load_robot("panda"), np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate)[:, None]
    middle = 0.5 * (arm.limits.lower + arm.limits.upper)
    rate_of = 2.0 * np.pi * rng.uniform(0.2, 0.5, 7)
    q, dq = middle + 0.3 * np.sin(rate_of * t), 0.3 * rate_of * np.cos(rate_of * t)
    ddq = -0.3 * rate_of**2 * np.sin(rate_of * t)
    loaded = arm.with_payload(pdr.InertialParameters(mass, np.array([0.0, 0.0, 0.05]), 1e-3 * mass * np.eye(3)))
    tau = loaded.inverse_dynamics(q, dq, ddq) + arm.friction_torques(dq)
    return np.hstack([t, q, dq, tau + rng.normal(scale=0.05, size=tau.shape)])


def write(folder: Path, count: int, seconds: float = 2.0) -> list[Path]:
    """`count` CSV files in folders of two arms; every other one with 1 kg."""
    files = []
    for k in range(count):
        file = folder / f"arm{k % 2}" / f"episode_{k:04d}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        files.append(write_csv(file, table(seconds, mass=float(k % 2), seed=k)))
    return files


def read_table(path: Path) -> list[Row]:
    """Rows of a Parquet table, without the empty cells."""
    table = pytest.importorskip("pyarrow.parquet").read_table(path)
    assert table.column_names == list(COLUMNS)
    return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]


def children(process: int) -> list[int]:
    """The processes that the threads of this one have started and that are there."""
    threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]
