# SPDX-License-Identifier: Apache-2.0
"""Node `franka_state`: the states of a Franka by its IP address, read-only, without any other driver.

`panda-dynamics live IP --ros` publishes the same from the command's own connection (`published`).
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.live import AUTO, BINDINGS, MODES, FrankaConnection, FrankaStream, RobotClock
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import LATCHED, diagnose, fixed, now, publisher
from panda_dynamics_ros.nodes.runner import make_executor, ros, run_node
from panda_dynamics_ros.robot.joint_mapping import link_name
from panda_dynamics_ros.robot.libfranka_state import FrankaState
from panda_dynamics_ros.robot.stamps import StreamMonitor

NAME = "franka_state"
BURST = 20  # states that are waited for in one go
BODIES = "load", "end_effector"


class FrankaStateOutput:
    """Publishes libfranka states on the topics of a node, and each second in diagnostics how the robot is.

    joint_names: the seven names to publish.
    about: what else the diagnostics tell, with the robot's address as `host`.
    problem: why no states come; empty where they do.
    """

    def __init__(self, node: Node, joint_names: Sequence[str]) -> None:
        self._node, self._clock, self._stamps = node, RobotClock(), StreamMonitor()
        self.about: dict[str, object] = {}
        self.problem = ""
        self._joint_states = publisher(node, JointState, "franka/joint_states", 50)
        self._external = publisher(node, JointState, "~/tau_ext_hat_filtered", 50)
        self._o_t_ee = publisher(node, Float64MultiArray, "~/o_t_ee", 50)
        self._bodies = {name: publisher(node, InertiaStamped, f"~/{name}", LATCHED) for name in BODIES}
        self._last_bodies: dict[str, list[float]] = {}
        self._names, self._flange = list(joint_names), link_name(joint_names, 8)
        self._state: FrankaState | None = None
        diagnose(node, lambda: [self._diagnostic()])

    def publish(self, state: FrankaState) -> None:
        """Publish one state, stamped by this machine's clock at the moment when the robot measured."""
        self._state, (robot_time, q, dq, tau) = state, state.sample
        self._stamps.accept(robot_time)
        stamp = conversions.time_message(self._clock.at(robot_time, 1e-9 * now(self._node)))
        message = conversions.state_message(stamp, self._names, q, dq, tau)
        message.header.frame_id = link_name(self._names, 0)
        self._joint_states.publish(message)
        self._external.publish(conversions.torque_message(stamp, self._names, state.external_torques))
        self._o_t_ee.publish(conversions.o_t_ee_message(state.T_base_ee.T))
        for name in BODIES:  # latched, so only where it changes
            numbers = conversions.inertia_numbers(getattr(state, name))
            if numbers.tolist() != self._last_bodies.get(name):
                self._last_bodies[name] = numbers.tolist()
                self._bodies[name].publish(conversions.stamped_message(InertiaStamped, stamp, self._flange, numbers))

    def _diagnostic(self) -> DiagnosticStatus:
        state = self._state
        mode = state.mode if state is not None else "unknown"
        level, words = DiagnosticStatus.OK, f"{self._stamps.rate:.0f} Hz, {mode}"
        if self.problem:
            level, words = DiagnosticStatus.ERROR, self.problem
        elif mode in MODES:
            level, words = DiagnosticStatus.WARN, f"{mode}: {MODES[mode]}"
        values = {
            **self.about,
            "problem": self.problem,
            "mode": mode,
            "errors": ", ".join(state.errors) if state is not None else "",
            "states": self._stamps.received,
            "missed": self._stamps.lost,
            "rate_hz": round(self._stamps.rate, 1),
        }
        hardware = str(self.about.get("host", ""))
        return conversions.status_message(self._node, "robot", level, words, values, hardware)


def declared(node: Node) -> tuple[str, str, str, str]:
    """Declare the node's parameters; returns robot_ip, binding, robot, arm_prefix."""
    return (
        fixed(node, "robot_ip", "", "Address or host name of the robot."),
        fixed(node, "binding", AUTO, f"Python binding of libfranka: {', '.join(BINDINGS)}; auto: those installed."),
        fixed(node, "robot", "", "The arm whose joint names are published; empty: panda or fr3, as connected."),
        fixed(node, "arm_prefix", "", "Prefix of the joint names.").rstrip("_"),
    )


class FrankaStateNode(Node):
    """Connects to a robot and publishes its states.

    It waits for them in `wait_for_input`, not in a thread, since on a busy machine threads take Python's lock from each
    other for seconds; nor in a timer's callback, which the executor would call again and again and never look for
    signals.
    """

    def __init__(self) -> None:
        super().__init__(NAME)
        host, binding, robot, prefix = declared(self)
        connection = FrankaConnection(host, binding)
        names = load_robot(robot or connection.robot).joint_names
        self._stream = FrankaStream(connection, self.get_logger().warning)
        self._output = FrankaStateOutput(self, [f"{prefix}_{name}" for name in names] if prefix else names)
        self._output.about = {"host": host, "binding": connection.binding}
        self.get_logger().info(f"reading {host} by {connection.binding}")

    def wait_for_input(self) -> None:
        """Publish some states as they come; then a callback has its turn."""
        for _ in range(BURST):
            state = self._stream.next()
            self._output.problem = self._stream.problem
            if state is None:
                return
            self._output.publish(state)
        self._output.about["reconnections"] = self._stream.reconnections


@contextlib.contextmanager
def published(joint_names: Sequence[str]) -> Iterator[Callable[[FrankaState | None, str], None]]:
    """Within, a node of this process publishes the states that are handed to what this gives.

    It is called with None, and the reason, while no states come. Callbacks are served within its calls.
    """
    with ros():
        node, executor, calls = Node(NAME), make_executor(), itertools.count(1)
        output = FrankaStateOutput(node, joint_names)
        executor.add_node(node)

        def hand_over(state: FrankaState | None, reason: str) -> None:
            output.problem = reason
            if state is not None:
                output.publish(state)
            if state is None or next(calls) % BURST == 0:
                executor.spin_once(timeout_sec=0.0)

        yield hand_over


main = partial(run_node, FrankaStateNode)


if __name__ == "__main__":
    raise SystemExit(main())
