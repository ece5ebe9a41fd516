# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.faults`: real nodes under faults, longer than in the test suite, and what they say of them.

Each fault ends with good samples: the estimate must be what it was before, and right, since the torques are exact;
and the diagnostics must have counted and named the fault. Exit code 1 where one was not.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table

TESTS = Path(__file__).parents[1] / "test" / "nodes"
FILES = ("test_faults.py", "test_fault_streams.py", "test_payload_restart.py")


class Said:
    """Collects how each fault ended and what the diagnostics said of it."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After set-up, call and tear-down of each test; what was said is known at the end."""
        if report.when == "teardown" or report.outcome != "passed":
            name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
            said = dict(report.user_properties).get("diagnostics", "")
            self.rows.append((name, report.outcome, str(said)))


def main() -> int:
    """Run the faults and print the table; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="how many times longer than in the test suite (10)")
    os.environ["PANDA_FAULT_ROUNDS"] = str(parser.parse_args().rounds)
    os.environ["PANDA_REQUIRE_ROS"] = "1"
    said = Said()
    code = pytest.main(["-q", "-p", "no:cacheprovider", *(str(TESTS / name) for name in FILES)], plugins=[said])
    table = Table("fault", "outcome", "what the diagnostics said")
    for row in said.rows:
        table.add_row(*map(escape, row))
    Console().print(table)
    return int(code != pytest.ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())
