# SPDX-License-Identifier: Apache-2.0
"""Node `franka_state`: the states of a Franka by its IP address, read-only, without any other driver.

`panda-dynamics live IP --ros` publishes the same from the command's own connection (`published`).
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence

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

BURST = 20  # states that are waited for in one go
BODIES = "load", "end_effector"


class FrankaStateNode(Node):
    """Publishes the states of a robot, and each second in diagnostics how it is.

    stream, joint_names: the connection of a command, which takes the states itself, and the seven names to publish;
        None: the node connects to the robot that its parameters name.
    """

    def __init__(self, stream: FrankaStream | None = None, joint_names: Sequence[str] = ()) -> None:
        super().__init__("franka_state")
        if stream is None:
            host = fixed(self, "robot_ip", "", "Address or host name of the robot.")
            words = f"Python binding of libfranka: {', '.join(BINDINGS)}; auto: those installed."
            binding = fixed(self, "binding", AUTO, words)
            words = "The arm whose joint names are published; empty: panda or fr3, as connected."
            robot = fixed(self, "robot", "", words)
            prefix = fixed(self, "arm_prefix", "", "Prefix of the joint names.").rstrip("_")
            connection = FrankaConnection(host, binding)
            names = load_robot(robot or connection.robot).joint_names
            joint_names = [f"{prefix}_{name}" for name in names] if prefix else names
            stream = FrankaStream(connection, self.get_logger().warning)
            self.get_logger().info(f"reading {host} by {connection.binding}")
        self._stream, self._names, self._flange = stream, list(joint_names), link_name(joint_names, 8)
        self._robot_clock, self._stamps = RobotClock(), StreamMonitor()
        self._joint_states = publisher(self, JointState, "franka/joint_states", 50)
        self._external = publisher(self, JointState, "~/tau_ext_hat_filtered", 50)
        self._o_t_ee = publisher(self, Float64MultiArray, "~/o_t_ee", 50)
        self._bodies = {name: publisher(self, InertiaStamped, f"~/{name}", LATCHED) for name in BODIES}
        self._last_bodies: dict[str, list[float]] = {}
        self._state: FrankaState | None = None
        self._reported = 0  # states missed, until the last diagnostics
        diagnose(self, lambda: [self._diagnostic()])

    def wait_for_input(self) -> None:
        """Publish some states as they come; then a callback has its turn.

        Not in a thread, since on a busy machine threads take Python's lock from each other for seconds; nor in a
        timer's callback, which the executor would call again and again and never look for signals.
        """
        for _ in range(BURST):
            if (state := self._stream.next()) is None:
                return
            self.publish(state)

    def publish(self, state: FrankaState) -> None:
        """Publish one state, stamped by this machine's clock at the moment when the robot measured."""
        self._state, (robot_time, q, dq, tau) = state, state.sample
        self._stamps.accept(robot_time)
        stamp = conversions.time_message(self._robot_clock.at(robot_time, 1e-9 * now(self)))
        self._joint_states.publish(conversions.state_message(stamp, self._names, q, dq, tau, link_name(self._names, 0)))
        self._external.publish(conversions.torque_message(stamp, self._names, state.external_torques))
        self._o_t_ee.publish(conversions.o_t_ee_message(state.T_base_ee.T))
        for name in BODIES:  # latched, so only where it changes
            numbers = conversions.inertia_numbers(getattr(state, name))
            if numbers.tolist() != self._last_bodies.get(name):
                self._last_bodies[name] = numbers.tolist()
                self._bodies[name].publish(conversions.stamped_message(InertiaStamped, stamp, self._flange, numbers))

    def _diagnostic(self) -> DiagnosticStatus:
        stream, stamps = self._stream, self._stamps
        mode, errors = ("unknown", ()) if self._state is None else (self._state.mode, self._state.errors)
        missed, self._reported = stamps.lost - self._reported, stamps.lost
        level, words = DiagnosticStatus.OK, f"{stamps.rate:.0f} Hz, {mode}"
        if stream.problem:
            level, words = DiagnosticStatus.ERROR, stream.problem
        elif mode in MODES:
            level, words = DiagnosticStatus.WARN, f"{mode}: {MODES[mode]}"
        elif missed:
            level, words = DiagnosticStatus.WARN, f"{words}; {missed} states missed: network or machine too busy?"
        values = {
            "host": stream.connection.host,
            "binding": stream.connection.binding,
            "reconnections": stream.reconnections,
            "problem": stream.problem,
            "mode": mode,
            "errors": ", ".join(errors),
            "states": stamps.received,
            "missed": stamps.lost,
            "rate_hz": round(stamps.rate, 1),
        }
        return conversions.status_message(self, "robot", level, words, values, stream.connection.host)


@contextlib.contextmanager
def published(stream: FrankaStream, joint_names: Sequence[str]) -> Iterator[Callable[[FrankaState | None], None]]:
    """Within, a node of this process publishes the states of the stream that are handed to what this gives.

    It is called with None while no states come. Callbacks are served within its calls.
    """
    with ros([]):
        node, executor, calls = FrankaStateNode(stream, joint_names), make_executor(), itertools.count(1)
        executor.add_node(node)

        def hand_over(state: FrankaState | None) -> None:
            if state is not None:
                node.publish(state)
            if state is None or next(calls) % BURST == 0:
                executor.spin_once(timeout_sec=0.0)

        yield hand_over


if __name__ == "__main__":
    raise SystemExit(run_node(FrankaStateNode))
