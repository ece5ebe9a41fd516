# SPDX-License-Identifier: Apache-2.0
"""The payload estimator's estimate in files: saved on request or by itself, and restored at a start."""

from pathlib import Path

from rclpy.node import Node

from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError, PandaDynamicsError
from panda_dynamics_ros.estimation import ArmMonitor
from panda_dynamics_ros.estimation.payload_file import load_estimate, save_estimate
from panda_dynamics_ros.nodes.interface import every, fixed

RESUME_PERIOD = 1.0  # s


class EstimateFile:
    """Saves and restores the estimate of a node.

    Two files: `save_path` is the user's. `resume_path` is for a launch that starts a node anew which has ended by
    itself: the node goes on from what it holds.

    problem: why the estimate could not be saved the last time; empty where it could.
    """

    def __init__(self, node: Node, monitor: ArmMonitor) -> None:
        self._node, self._estimator, self.problem = node, monitor.payload_estimator, ""
        words = "Where the estimate is saved; empty: ~/.ros/<namespace>/panda_payload.yaml."
        default = f"~/.ros{node.get_namespace().rstrip('/')}/panda_payload.yaml"
        self._path = fixed(node, "save_path", "", words) or default
        words = "Period with which the node saves to save_path, s, and once at the end; 0: only when ~/save is called."
        self._period = fixed(node, "autosave_period_s", 0.0, words, 0.0, 3600.0)
        if self._period > 0.0:
            every(node, self._period, self._autosave)
        if fixed(node, "restore", False, "Continue from the file save_path, if it exists."):
            self._restore(self._path, DataFileNotFoundError)  # which is a first start
        words = "File in which the estimate is kept for a restart after a failure; empty: none."
        self._resume_path = fixed(node, "resume_path", "", words)
        if self._resume_path:
            if Path(self._resume_path).exists():
                self._restore(self._resume_path, PandaDynamicsError)  # a bad file is no reason to fail again
            every(node, RESUME_PERIOD, self._keep)

    def save(self) -> tuple[bool, str]:
        """Save to `save_path`; whether that worked, and in words."""
        self.problem = self._write(self._path)
        return not self.problem, self.problem or f"saved to {Path(self._path).expanduser()}"

    def close(self) -> None:
        """Save for the last time, where the node saves by itself."""
        if self._period > 0.0:
            self._autosave()

    def _write(self, path: str) -> str:
        """Why the estimate could not be written; empty where it could."""
        try:
            save_estimate(self._estimator.estimate, self._estimator.memory, path)
        except (OSError, ArgumentError) as error:
            return f"not saved to {path}: {error}"
        return ""

    def _autosave(self) -> None:
        if self._estimator.counts.used and not self.save()[0]:  # where nothing was learnt, the file may know more
            self._node.get_logger().warning(self.problem, throttle_duration_sec=60.0)

    def _keep(self) -> None:
        if self._estimator.counts.used and (problem := self._write(self._resume_path)):
            self._node.get_logger().warning(f"a start anew would begin without payload: {problem}", once=True)

    def _restore(self, path: str, harmless: type[PandaDynamicsError]) -> None:
        """Go on from a saved estimate; of what is `harmless` the log is told, anything else is an error."""
        try:
            self._estimator.restore(load_estimate(path))
        except harmless as error:
            self._node.get_logger().warning(f"nothing is restored: {error}")
            return
        mass = self._estimator.estimate.mass
        self._node.get_logger().info(f"restored a payload of {mass:.3f} kg from {Path(path).expanduser()}")
