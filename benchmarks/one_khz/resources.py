# SPDX-License-Identifier: Apache-2.0
"""What a process takes of the machine, read from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

TICK = 1.0 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Usage:
    """CPU time and memory of one process, over time."""

    pid: int
    elapsed: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def look(self, now: float) -> None:
        """Note what the process has used until `now`, s."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        self.elapsed.append(now)
        self.cpu.append(TICK * (int(fields[11]) + int(fields[12])))  # utime and stime, proc(5)
        self.memory.append(PAGE * int(fields[21]))

    @property
    def share(self) -> float:
        """Of one core, from the first look to the last."""
        return (self.cpu[-1] - self.cpu[0]) / (self.elapsed[-1] - self.elapsed[0])

    @property
    def growth(self) -> int:
        """Of memory, from a quarter of the time on, bytes: by then caches are filled."""
        return self.memory[-1] - self.memory[len(self.memory) // 4]
