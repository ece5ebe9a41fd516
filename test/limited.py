# SPDX-License-Identifier: Apache-2.0
"""Reads files in processes that have a gigabyte of memory and ten seconds of processor time each.

`python test/limited.py` is the server: it has imported all readers, and forks a child for each file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

MEMORY, SECONDS = 1 << 30, 10  # bytes beyond what an interpreter with the package has, s
ROOT = Path(__file__).resolve().parents[1]


class LimitedReaders:
    """The server's client. Use with `with`."""

    def __enter__(self) -> LimitedReaders:
        self._server = subprocess.Popen(
            [sys.executable, __file__], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def outcome(self, reader: str, path: Path) -> str:
        """ "read: ..", "refused: .." with the error of the package, or what else happened to the process."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{reader} {path}\n")
        self._server.stdin.flush()
        return self._server.stdout.readline().strip()


def _readers() -> dict[str, Any]:
    from panda_dynamics_ros import load_dataset, load_robot
    from panda_dynamics_ros.estimation.payload_file import load_estimate
    from panda_dynamics_ros.recordings import rosbag2
    from panda_dynamics_ros.simulation.motions import read_motion

    rosbag2.typestore(), rosbag2.zstd()
    robot = load_robot("panda")
    return {
        "dataset": lambda path: f"{len(load_dataset(path).stamp)} samples",
        "robot": lambda path: load_robot(path).name[:40],
        "end_effector": lambda path: load_robot("panda", end_effector=path).name[:40],
        "motion": lambda path: f"{read_motion(path).period:g} s",
        "payload": lambda path: str(load_estimate(path).vector[0]),
        "replay": lambda path: f"{len(load_dataset(path, robot).stamp)} samples",
        "replay_command": _replayed,
    }


def _replayed(path: str) -> str:
    """A refusal is one line on standard error and an exit code that is not 0."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from panda_dynamics_ros.cli import main
    from panda_dynamics_ros.errors import DataError

    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main(["replay", path, "--json"])
    if code == 0:
        return str(json.loads(output.getvalue())["samples"])
    assert len(errors.getvalue().splitlines()) == 1, errors.getvalue()
    raise DataError(errors.getvalue().strip())


def _child(read: Any, path: str) -> str:
    """One line, as a command would print it."""
    import resource
    import warnings

    from panda_dynamics_ros import PandaDynamicsError

    warnings.simplefilter("ignore")
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        return f"read: {read(path)}"
    except PandaDynamicsError as error:
        return f"refused: {error}" if "\n" not in str(error) else f"refused in several lines: {error!r}"
    except BaseException as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place is not None else ""
        return f"crashed: {type(error).__name__} in {where}: {error}"


def main() -> None:
    """Serve until the input ends."""
    readers, warm = _readers(), False
    for line in sys.stdin:
        reader, path = line.rstrip("\n").split(" ", 1)
        if reader == "replay_command" and not warm:  # its children need not load the kernels again
            warm = bool(_replayed(path))
        end, start = os.pipe()
        pid = os.fork()
        if pid == 0:
            text = _child(readers[reader], path)
            lines = text.splitlines() or [""]
            text = text if len(lines) == 1 else f"crashed: {len(lines)} lines: {lines[0]}"
            os.write(start, text.encode(errors="backslashreplace")[:50_000])
            os._exit(0)
        os.close(start)
        with os.fdopen(end, "rb") as stream:
            said = stream.read().decode()
        _, status = os.waitpid(pid, 0)
        print(said or f"crashed: signal {os.WTERMSIG(status)}", flush=True)


if __name__ == "__main__":
    main()
