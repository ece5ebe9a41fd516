#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weighs what an arm carries: runs the motion of `panda-dynamics weigh --plan`, records it, and weighs (docs/weigh.md).

    panda-dynamics weigh --plan
    python3 examples/weigh_on_robot.py --ros-args -r joint_states:=franka/joint_states \\
        -r weigh_on_robot/joint_trajectory:=joint_trajectory_controller/joint_trajectory
    ros2 service call /weigh_on_robot/next std_srvs/srv/Trigger    # before each run, when the log says so

The arm moves only when `~/next` is called, by a joint_trajectory_controller that listens on `~/joint_trajectory`. The
node sends no command of its own beside the trajectory, and refuses to while the arm is not where it starts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import yaml
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from panda_dynamics_ros.cli import main as panda_dynamics
from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.interface import declare_arm, fixed
from panda_dynamics_ros.nodes.runner import CANNOT_START, run_node
from panda_dynamics_ros.recordings import JointStateSample, write_joint_states
from panda_dynamics_ros.robot import write_robot
from panda_dynamics_ros.robot.joint_mapping import OTHER_JOINTS, JointMapping, resolve_joint_names

# A second of samples may wait while the executor does something else; none is to be lost.
EVERY_SAMPLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
START_TOLERANCE, STILL = 0.02, 0.02  # rad, rad/s
RANGE_TOLERANCE = 0.1  # rad, by which a joint's range of motion may differ from the planned one
AFTER = 0.5  # s, recorded beyond the end of the motion
STALE = 0.5  # s


def read_trajectory(path: Path) -> JointTrajectory:
    """The message in a YAML file of `panda-dynamics weigh --plan`."""
    if not path.is_file():
        raise ArgumentError(f"trajectory: expected a file of `panda-dynamics weigh --plan`, got {str(path)!r}")
    safe_loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=safe_loader)  # nosec B506
        message = JointTrajectory(joint_names=content["joint_names"])
        for each in content["points"]:
            point = JointTrajectoryPoint(**{key: each[key] for key in ("positions", "velocities", "accelerations")})
            point.time_from_start.sec = each["time_from_start"]["sec"]
            point.time_from_start.nanosec = each["time_from_start"]["nanosec"]
            message.points.append(point)
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError) as error:
        raise ArgumentError(f"trajectory: expected a file of `panda-dynamics weigh --plan`, got {path}") from error
    return message


class WeighOnRobot(Node):
    """Sends the trajectory for each run, records the joint states meanwhile, and weighs after the last."""

    def __init__(self) -> None:
        super().__init__("weigh_on_robot")
        self.trajectory = read_trajectory(
            Path(fixed(self, "trajectory", "weigh_output/trajectory.yaml", "File of `weigh --plan`.")).expanduser()
        )
        order = fixed(self, "order", "ABBA", "Runs without (A) and with (B) the payload.")
        if set(order) != {"A", "B"}:
            raise ArgumentError(f"order: expected letters A and B, each at least once, got {order!r}")
        self.robot = declare_arm(self)
        self.arm_prefix = fixed(self, "arm_prefix", "", "Prefix of the joint names where several arms share a topic.")
        self.output = Path(fixed(self, "output", "weigh_output", "Folder for runs and result.")).expanduser()
        self.simulated = fixed(
            self, "simulated", False, "Beside simulated_panda: it picks and releases by itself, and each run follows."
        )
        self.runs = [
            (letter, f"run{number + 1}_{'with' if letter == 'B' else 'empty'}") for number, letter in enumerate(order)
        ]
        self.recorded: list[Path] = []
        self.samples: list[JointStateSample] = []
        self.planned = conversions.joint_trajectory(self.trajectory, tuple(self.trajectory.joint_names))
        if self.robot.n != self.planned.q.shape[1]:
            raise ArgumentError(f"trajectory: expected {self.robot.n} joints, got {self.planned.q.shape[1]}")
        self.mapping: JointMapping | None = None
        self.latest: JointStateSample | None = None
        self.running, self.begin = False, 0.0
        self.done, self.code = False, 0
        self.create_subscription(JointState, "joint_states", self.on_sample, EVERY_SAMPLE)
        self.publisher = self.create_publisher(JointTrajectory, "~/joint_trajectory", 1)
        self.create_service(Trigger, "~/next", self.on_next)
        if self.simulated:
            self.hands = {"A": "simulated_panda/release", "B": "simulated_panda/pick"}
            self.clients_of = {letter: self.create_client(Trigger, name) for letter, name in self.hands.items()}
        self.pending = None
        self.create_timer(0.5, self.on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.announce()

    def announce(self) -> None:
        """Say what to do before the next run."""
        letter, _ = self.runs[len(self.recorded)]
        what = "mount the payload" if letter == "B" else "leave the flange without payload"
        if self.simulated:
            what = f"the simulated arm carries {'its payload' if letter == 'B' else 'nothing'}"
        else:
            what += f", step back, then call {self.resolve_service_name('~/next')}"
        self.get_logger().info(f"run {len(self.recorded) + 1} of {len(self.runs)}: {what}")

    def on_sample(self, message: JointState) -> None:
        """Remember the newest sample, and all of a run."""
        try:
            if self.mapping is None:  # the plan's names may lack the prefix that the arm's joints have
                names = resolve_joint_names(message.name, self.trajectory.joint_names, self.arm_prefix)
                self.mapping, self.trajectory.joint_names = JointMapping(names), list(names)
            q, dq, tau = self.mapping.extract(message.name, message.position, message.velocity, message.effort)
        except PandaDynamicsError as error:
            if getattr(error, "reason", "") != OTHER_JOINTS:  # a gripper's message is no sample
                self.get_logger().warning(f"sample left out: {error}", throttle_duration_sec=5.0)
            return
        stamp = conversions.seconds(message.header.stamp)
        self.arrived = time.monotonic()
        self.latest = JointStateSample(stamp, self.mapping.joint_names, q.copy(), dq.copy(), tau.copy())
        if self.running:
            self.samples.append(self.latest)

    def on_next(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Start the next run, if the arm is where it begins."""
        response.message = self.obstacle()
        response.success = not response.message
        if response.success:
            self.start()
            response.message = f"run {len(self.recorded) + 1} of {len(self.runs)} begins"
        else:
            self.get_logger().warning(f"next: {response.message}")
        return response

    def obstacle(self) -> str:
        """What a run cannot begin for, in words; empty where nothing."""
        if self.running or self.done:
            return "a run is under way" if self.running else "all runs are done"
        if self.latest is None or time.monotonic() - self.arrived > STALE:
            return f"no joint states have come for {STALE} s"
        if far := self.far_from_start(self.latest):
            return f"{far}; move it to {np.round(self.planned.q[0], 3).tolist()}"
        if np.abs(self.latest.velocity).max() > STILL:
            return "the arm moves"
        if self.publisher.get_subscription_count() == 0:
            return f"no controller listens on {self.publisher.topic_name}"
        return ""

    def far_from_start(self, sample: JointStateSample) -> str:
        """In words, that the arm is not where the motion starts; else empty."""
        away = np.abs(np.asarray(sample.position) - self.planned.q[0])
        if away.max() <= START_TOLERANCE:
            return ""
        joint = int(away.argmax()) + 1
        return f"the arm is not at the start of the motion: joint {joint} is {away.max():.3f} rad away"

    def start(self) -> None:
        """Send the trajectory, and record from now on."""
        self.get_logger().info(f"the motion begins, and takes {self.planned.times[-1]:.0f} s: do not touch the arm")
        self.samples, self.running, self.begin = [], True, self.latest.stamp
        self.publisher.publish(self.trajectory)

    def on_timer(self) -> None:
        """End a run when its time is over; beside the simulated arm, begin the next one."""
        if self.running:
            if time.monotonic() - self.arrived > STALE:
                self.repeat(f"no joint states have come for {STALE} s")
            elif self.samples and self.samples[-1].stamp - self.begin > self.planned.times[-1] + AFTER:
                self.finish()
        elif self.simulated and not self.done:
            self.prepare_simulated()

    def prepare_simulated(self) -> None:
        """Let the simulated arm carry what the run needs, then start it."""
        if not self.recorded and self.latest is not None and (far := self.far_from_start(self.latest)):
            self.get_logger().error(f"{far}, and the simulated arm stays where it stands: plan without --start")
            self.done, self.code = True, CANNOT_START
            return
        letter, _ = self.runs[len(self.recorded)]
        client = self.clients_of[letter]
        if self.pending is None:
            why = self.obstacle() or ("" if client.service_is_ready() else f"there is no service {client.srv_name}")
            if why:
                self.get_logger().info(f"waiting: {why}", throttle_duration_sec=5.0, skip_first=True)
            else:
                self.pending = client.call_async(Trigger.Request())
        elif self.pending.done():
            self.pending = None
            self.start()

    def repeat(self, why: str) -> None:
        """End a run that cannot be used."""
        self.running = False
        self.get_logger().error(f"{why}: this run has to be made again")
        self.announce()

    def finish(self) -> None:
        """Write the run, if the arm has moved as planned; after the last, weigh."""
        moved = np.ptp([sample.position for sample in self.samples], axis=0)
        if np.abs(moved - np.ptp(self.planned.q, axis=0)).max() > RANGE_TOLERANCE:
            self.repeat("the arm has not made the planned motion")
            return
        self.running = False
        _, name = self.runs[len(self.recorded)]
        path = write_joint_states(self.output / name, self.samples, overwrite=True)
        self.recorded.append(path)
        self.get_logger().info(f"recorded {len(self.samples)} samples in {path}")
        if len(self.recorded) < len(self.runs):
            self.announce()
            return
        kinds = {
            kind: [str(path) for path, (each, _) in zip(self.recorded, self.runs, strict=True) if each == kind]
            for kind in "AB"
        }
        robot = write_robot(
            self.robot, self.output / "robot.yaml", "The arm that the runs in this folder were made with."
        )
        arguments = ["weigh", "--robot", str(robot), "--output", str(self.output)]
        self.code = panda_dynamics([*arguments, "--unloaded", *kinds["A"], "--loaded", *kinds["B"]])
        self.done = True


def main() -> int:
    """Run the node until the payload is weighed; returns the exit code."""
    nodes: list[WeighOnRobot] = []

    def make() -> WeighOnRobot:
        nodes.append(WeighOnRobot())
        return nodes[0]

    return run_node(make) or nodes[0].code


if __name__ == "__main__":
    sys.exit(main())
