# SPDX-License-Identifier: Apache-2.0
"""`identify --scheduler`: recordings that the processes of a Dask cluster read give the same model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from simulated_arm import other_arm, record

import panda_dynamics_ros as pdr
from panda_dynamics_ros.annotation.job import open_executor
from panda_dynamics_ros.cli import main
from panda_dynamics_ros.errors import ArgumentError

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        yield str(cluster.scheduler_address)


def test_a_cluster_reads_what_identify_sums(
    panda: pdr.RobotModel, rng: np.random.Generator, tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arm, paths = other_arm(panda, rng), []
    for k in range(2):
        data = record(arm, 5.0, rng)
        paths.append(str(tmp_path / f"{k}.csv"))
        header = ",".join(["t", *(f"{name}{j}" for name in ("q", "dq", "tau") for j in range(1, 8))])
        np.savetxt(paths[-1], np.column_stack((data.stamp, data.q, data.dq, data.tau)), "%.17g", ",", header=header,
                   comments="")  # fmt: skip
    found = []
    for options in ([], ["--scheduler", address]):
        output = ["--output", str(tmp_path / "mine.yaml"), "--force", "--json"]
        assert main(["identify", *paths, *options, *output]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["samples"] > 800
    assert found[0] == found[1]


def test_results_and_errors_come_in_order(address: str) -> None:
    with open_executor(scheduler=address) as executor:
        assert list(executor.map(divmod, [9, 8, 7], [2, 2, 2])) == [(4, 1), (4, 0), (3, 1)]
        with pytest.raises(ZeroDivisionError):
            list(executor.map(divmod, [3, 2], [0, 0]))
    with (
        pytest.raises(ArgumentError, match="expected the address of a Dask scheduler, got nowhere"),
        open_executor(scheduler="nowhere"),
    ):
        pass
