# SPDX-License-Identifier: Apache-2.0
"""Node `simulated_panda`: a Panda on MuJoCo that publishes joint states as the real one does."""

import math
import time
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import LATCHED, declare_arm, every, fixed, publisher, serve, subscribe
from panda_dynamics_ros.nodes.runner import run_node
from panda_dynamics_ros.robot.joint_mapping import link_name
from panda_dynamics_ros.simulation import FourierMotion, Realism, SimulatedPanda, exciting_motion
from panda_dynamics_ros.simulation.motion_search import READY
from panda_dynamics_ros.simulation.plant import payload_cube

PERIOD, STEP = 0.001, 1_000_000  # s and ns, as the real robot's
START_DELAY = 1_000_000_000  # ns, from the start, or the last of the awaited subscribers, to the first sample
CLOCK_STEPS = 10  # samples from one /clock to the next
BURST = 10  # samples at most in one go: subscribers' queues are short
FINGERS = ("finger_joint1", "finger_joint2")  # they come first: users match joints by name
OPENING, STILL = np.full(2, 0.02), np.zeros(2)  # of the fingers: m; m/s and N
LARGEST_BACKLOG = 100  # samples; after a longer pause of the machine the robot's clock falls behind instead


class SimulatedPandaNode(Node):
    """Steps the plant in real time, publishes `joint_states`, and picks up and puts down by schedule or service."""

    def __init__(self, **options: Any) -> None:
        super().__init__("simulated_panda", **options)
        robot = declare_arm(self, with_effort=False)  # from which the plant deviates
        arm_prefix = fixed(self, "arm_prefix", "", "Prefix of the joint names.")
        seed = fixed(self, "seed", 0, "Seed of the plant's imperfections, its noise and its motion.", 0, 2**31)
        mass = fixed(self, "payload_mass_kg", 1.0, "Mass of the payload, kg.", 1e-3, 10.0)
        com = fixed(self, "payload_com_m", [0.02, -0.015, 0.06], "CoM of the payload in the flange frame, m.")
        self._pick_at = fixed(self, "pick_at_s", 8.0, "When the payload is picked up, s after the start; < 0: never.")
        release_at = fixed(self, "release_at_s", 18.0, "When it is put down, s after the start; < 0: never.")
        self._release_at = release_at if release_at >= 0.0 else math.inf
        words = "The schedule begins again after this time, s; 0, or without a release: once."
        cycle = fixed(self, "cycle_s", 24.0, words, 0.0, 1e6)
        self._cycle = cycle if cycle and release_at >= 0.0 else math.inf
        words = "Subscribers to joint_states that the arm waits for before it moves."
        self._awaited = fixed(self, "wait_for_subscribers", 0, words, 0, 100)
        words = "Stand still and move by ~/joint_trajectory, as under a joint_trajectory_controller; no schedule."
        follows = fixed(self, "follow_trajectories", False, words)
        self._payload = payload_cube(mass, checks.exactly(com, (3,), "payload_com_m"))
        self._manual = follows or self._pick_at < 0.0
        if not self._manual and not self._pick_at < min(self._release_at, self._cycle):
            raise ArgumentError(f"pick_at_s: expected less than release_at_s and cycle_s, got {self._pick_at:g}")
        prefix = f"{arm_prefix.rstrip('_')}_" if arm_prefix else ""
        names = self._names = [prefix + name for name in robot.joint_names]
        self._all_names = [*(names[0].removesuffix("joint1") + finger for finger in FINGERS), *names]
        self._base_frame, self._flange_frame = (link_name(names, k, robot) for k in (0, 8))
        with_clock = fixed(self, "clock", False, "Publish the stamps on /clock, for nodes with use_sim_time.")
        self._clock_publisher = publisher(self, ClockMessage, "/clock") if with_clock else None
        self._joint_states = publisher(self, JointState, "joint_states", 50)
        self._truth = publisher(self, InertiaStamped, "~/payload_truth", LATCHED)
        if follows:  # at rest in Franka's ready posture; its error repeats when it repeats a motion
            import scipy.interpolate  # noqa: F401  (takes half a second: not while the arm moves)

            at_rest = FourierMotion(np.array(READY), *np.zeros((2, len(READY), 1)))
            usual, realism = exciting_motion(robot, seed), Realism.repeating()
            self._plant = SimulatedPanda(robot, seed=seed, realism=realism, excitation=at_rest, arm_excitation=usual)
            subscribe(self, JointTrajectory, "~/joint_trajectory", self._on_trajectory, QoSProfile(depth=1))
        else:
            self._plant = SimulatedPanda(robot, seed=seed)
        serve(self, Trigger, "pick", partial(self._by_hand, True))
        serve(self, Trigger, "release", partial(self._by_hand, False))
        self._origin = self._due = time.time_ns() + START_DELAY
        self._sent = 0
        self._publish_truth()
        if self._awaited:
            self.get_logger().info(f"waiting for {self._awaited} subscribers to {self._joint_states.topic_name}")
        every(self, PERIOD, self._on_timer)

    def _stamp(self) -> Time:
        return conversions.exact_time_message(self._origin + self._sent * STEP)

    def _on_timer(self) -> None:
        """Publish what is due by the clock: stamps lie on an exact grid of 1 ms, however the timer is served."""
        now = time.time_ns()
        if not self._sent and self._joint_states.get_subscription_count() < self._awaited:
            self._origin = self._due = now + START_DELAY
        if now - self._due > LARGEST_BACKLOG * STEP:
            self.get_logger().warning("the machine paused: the robot's clock is behind", throttle_duration_sec=5.0)
            self._due = now
        for _ in range(BURST):
            if self._due > now:
                return
            self._due += STEP
            self._sent += 1
            if not self._manual:
                self._carry(self._pick_at <= PERIOD * self._sent % self._cycle < self._release_at)
            stamp, (_, q, dq, tau) = self._stamp(), self._plant.step()
            if self._clock_publisher is not None and self._sent % CLOCK_STEPS == 1:
                self._clock_publisher.publish(ClockMessage(clock=stamp))
            q, dq, tau = (np.concatenate(each) for each in ((OPENING, q), (STILL, dq), (STILL, tau)))
            self._joint_states.publish(conversions.state_message(stamp, self._all_names, q, dq, tau, self._base_frame))

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self._plant.follow(conversions.joint_trajectory(message, self._names))
        except PandaDynamicsError as error:
            self.get_logger().error(f"trajectory refused: {error}")
            return
        self.get_logger().info(f"follows a trajectory of {len(message.points)} points")

    def _carry(self, wanted: bool) -> bool:
        """Pick the payload up or put it down; returns whether there was anything to do."""
        if wanted == (self._plant.truth.mass > 0.0):
            return False
        if wanted:
            self._plant.attach(self._payload)
        else:
            self._plant.release()
        self.get_logger().info(f"{'picked up' if wanted else 'put down'} {self._payload.mass:.2f} kg")
        self._publish_truth()
        return True

    def _publish_truth(self) -> None:
        self._truth.publish(conversions.inertia_message(self._stamp(), self._flange_frame, self._plant.truth))

    def _by_hand(self, wanted: bool, _: Trigger.Request) -> tuple[bool, str]:
        """A service call ends the schedule: from now on the user decides."""
        self._manual = True
        words = f"carrying {self._payload.mass:.2f} kg" if wanted else "carrying nothing"
        return (True, words) if self._carry(wanted) else (False, f"already {words}")


if __name__ == "__main__":
    raise SystemExit(run_node(SimulatedPandaNode, kernels="simulated_panda"))
