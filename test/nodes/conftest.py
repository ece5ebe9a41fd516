# SPDX-License-Identifier: Apache-2.0
"""An isolated ROS domain, real nodes as processes, and what happens where ROS 2 is not installed.

Where rclpy cannot be imported these tests are skipped and say so; with PANDA_REQUIRE_ROS=1 (`make test`) a
session in which none of them ran fails.
"""

from __future__ import annotations

import importlib
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nodes.probe import Probe
    from nodes.processes import Nodes

HERE = Path(__file__).parent


def _free_domain() -> int:
    """A ROS domain in which nobody on this machine listens: its discovery port (RTPS 2.3, 9.6.2.3) can be bound."""
    domains = list(range(1, 101))
    random.shuffle(domains)  # sessions that start together shall not all try the same one first
    for domain in domains:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", 7400 + 250 * domain))
            except OSError:
                continue
            return domain
    raise RuntimeError("all ROS domains of this machine are taken")


# Before rclpy is imported, and for the nodes that inherit it: whatever robot the user talks to is left alone.
os.environ["ROS_DOMAIN_ID"] = str(_free_domain())
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["FASTDDS_BUILTIN_TRANSPORTS"] = "UDPv4"

try:
    importlib.import_module("rclpy")
except ImportError as error:
    ROS_MISSING = f"ROS 2 is not installed: {error}"
else:
    ROS_MISSING = ""


class _WithoutRos(pytest.Module):
    """A module of tests whose imports would fail."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip(ROS_MISSING, allow_module_level=True)
        yield from ()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if not ROS_MISSING or module_path.name == "test_ros_is_required.py":
        return None
    module: pytest.Module = _WithoutRos.from_parent(parent, path=module_path)
    return module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.name != "test_ros_is_required.py":
            item.add_marker(pytest.mark.ros)


class _Ledger:
    """How many ROS tests ran, and how many were skipped (a module that was skipped counts as one)."""

    ran = 0
    skipped = 0


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _Ledger.skipped += report.skipped


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "ros" in report.keywords:
        _Ledger.skipped += report.skipped
        _Ledger.ran += report.when == "call" and not report.skipped


def _all_were_skipped() -> bool:
    return os.environ.get("PANDA_REQUIRE_ROS") == "1" and _Ledger.skipped > 0 and _Ledger.ran == 0


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _all_were_skipped() and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _all_were_skipped():
        terminalreporter.write_line(
            f"FAILED: PANDA_REQUIRE_ROS=1, but every ROS test was skipped ({ROS_MISSING})", red=True
        )


@pytest.fixture(scope="session")
def probe() -> Iterator[Probe]:
    """This process's own node: it publishes, listens and calls services."""
    from nodes.probe import Probe

    with Probe() as probe:
        yield probe


@pytest.fixture(scope="module")
def nodes(probe: Probe, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Nodes]:
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
def fresh(nodes: Nodes) -> Nodes:
    """The same, but the nodes that were started before have been stopped."""
    assert set(nodes.stop().values()) <= {0}, nodes.logs()
    return nodes
