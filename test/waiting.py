# SPDX-License-Identifier: Apache-2.0
"""How long tests wait: for a condition, never for a time. The limit only ends a test whose condition never comes."""

import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any

PATIENCE = 120.0  # s: what takes one second on an idle machine takes many beside eight busy processes
FIRST_START = 240.0  # s: so it is where kernels may have to be compiled before


def until(condition: Callable[[], object], what: Callable[[], str], patience: float = PATIENCE) -> None:
    """Wait until the condition holds; `what` says what was waited for, and what there is instead."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"waited {patience:.0f} s in vain for {what()}"
        time.sleep(0.05)


def ran(command: Iterable[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """A program that has ended by itself without an error; `options`: see `subprocess.run`."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done
