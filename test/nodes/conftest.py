# SPDX-License-Identifier: Apache-2.0
"""An isolated ROS domain, real nodes as processes, and what happens where ROS 2 is not installed.

Where rclpy cannot be imported these tests are skipped and say so; with PANDA_REQUIRE_ROS=1 (`make test`) that is an
error.
"""

import importlib
import math
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ros_domain import own_domain

HERE = Path(__file__).parent


# Before rclpy is imported, and for the nodes that inherit it: whatever robot the user talks to is left alone.
os.environ["ROS_DOMAIN_ID"] = str(own_domain())
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

try:
    importlib.import_module("rclpy")
except ImportError as error:
    ROS_MISSING = f"ROS 2 is not installed: {error}"
    if os.environ.get("PANDA_REQUIRE_ROS") == "1":
        raise pytest.UsageError(f"PANDA_REQUIRE_ROS=1, but {ROS_MISSING}") from error
else:
    ROS_MISSING = ""


class _WithoutRos(pytest.Module):
    """A module of tests whose imports would fail."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip(ROS_MISSING, allow_module_level=True)
        yield from ()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if not ROS_MISSING:
        return None
    return _WithoutRos.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.ros)


@pytest.fixture(scope="session")
def probe() -> Iterator[Any]:
    """This process's own node: it publishes, listens and calls services."""
    from nodes.probe import Probe
    from panda_dynamics_ros.nodes.runner import ros

    with ros([]):
        yield Probe()


@pytest.fixture(scope="module")
def nodes(probe: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Starts nodes as processes in a namespace of the module's own; at the end all must stop as asked."""
    from nodes.processes import Nodes

    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    running = Nodes(name, tmp_path_factory.mktemp(name))
    try:
        yield running
    finally:
        codes = running.stop()
    assert set(codes.values()) <= {0}, f"{codes}; {running.logs()}"
    assert "Traceback" not in running.logs()


@pytest.fixture
def fresh(nodes: Any) -> Any:
    """The same, but the nodes that were started before have been stopped."""
    assert set(nodes.stop().values()) <= {0}, nodes.logs()
    return nodes


@pytest.fixture
def dynamics(probe: Any) -> Iterator[Any]:
    """A node in this process, whose callbacks are called by hand."""
    yield from _by_hand("dynamics.DynamicsNode")


@pytest.fixture
def estimator(probe: Any) -> Iterator[Any]:
    """The other one, likewise."""
    yield from _by_hand("payload_estimator.PayloadEstimatorNode")


def _by_hand(name: str) -> Iterator[Any]:
    node = pkgutil.resolve_name(f"panda_dynamics_ros.nodes.{name}")()
    node.samples._gather_s = 0.0  # tests hand it their samples: none come meanwhile
    node.samples._served = math.inf  # and no executor serves its timers
    yield node
    node.destroy_node()
