# SPDX-License-Identifier: Apache-2.0
"""The joint-state input that both nodes share: parameters, subscription, conversion, watch over the stream."""

import time
from collections import deque
from collections.abc import Callable
from os.path import commonpath
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from sensor_msgs.msg import JointState

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError, SampleError
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.encoded_messages import JointStateDecoder
from panda_dynamics_ros.nodes.interface import INPUT_QOS, changeable, declare_arm, every, fixed, shortened, subscribe
from panda_dynamics_ros.pose import from_column_major
from panda_dynamics_ros.robot.joint_mapping import OTHER_JOINTS, ArmJoints, link_name, name_conflict
from panda_dynamics_ros.robot.stamps import StreamMonitor

IDENTITY = np.eye(4).ravel().tolist()
OWN_TOPICS = ("/gravity_torques", "/coriolis_torques", "/external_torques", "/joint_offsets", "/tau_ext_hat_filtered")
PATIENCE = 5.0  # s without any joint state, and between two log lines of samples left out
LAST_BLOCK = 0.05  # s, within which the last samples of a stream are used
TURN = 0.1  # s, in which the estimators take samples before timers and services have their turn
FROZEN = 20  # samples of one stamp, one after the other: the driver does not set it
BLOCK = 20  # samples at most that they take at once: new ones are answered afterwards
BACKLOG = 1000  # samples, or the queue's depth, that wait for the estimators; of more the oldest are left out


class Sample(NamedTuple):
    """One joint state: its stamp as in the message and in s, q (n,), dq (n,), tau (n,)."""

    header_stamp: Time
    stamp: float
    q: FloatArray
    dq: FloatArray
    tau: FloatArray


def columns_of(samples: list[Sample]) -> list[FloatArray]:
    """stamp (N,), q, dq, tau (N, n) of N samples."""
    return [np.array(column) for column in zip(*(sample[1:] for sample in samples), strict=True)]


class JointStateInput:
    """Subscribes a node to `joint_states`, and hands each usable sample first to `answer`, then to `estimate`.

    `answer` has what controllers wait for: all samples that have come while the machine paused, or the estimators were
    busy, are answered, in their order, before the next goes to the estimators. `estimate` gets the samples of
    `gather_s` s, a block at most: one at a time would take several times as long. Where nothing is to be answered, the
    node sleeps meanwhile: to be woken up for each sample would take longer than to use it.

    A sample that cannot be used is counted by reason, logged (throttled) and left out. Once the arm's joints are known,
    a message without any of them, such as a gripper's, is ignored. `robot`, `joint_names` and the frame names are
    resolved here, the latter two from the first message.

    is_estimating: says whether `estimate` gets samples; after an installation, its kernels are still to be compiled.
    """

    def __init__(
        self,
        node: Node,
        estimate: Callable[[list[Sample]], None],
        gather_s: float,
        answer: Callable[[Sample], None] | None = None,
    ) -> None:
        self._node, self.answer, self.estimate, self._gather_s = node, answer, estimate, gather_s
        self.is_estimating: Callable[[], bool] = lambda: True
        self._next_block, self._served = 0.0, time.monotonic()  # s of the steady clock; the latter of the last timer
        others = set(node.get_parameters_by_prefix(""))
        robot = declare_arm(node)
        arm_prefix = fixed(node, "arm_prefix", "", "Prefix of the joint names where several arms share one topic.")
        words = "The arm's joint names from base to flange; empty: found by the robot's scheme."
        wanted = fixed(node, "joint_names", [""], words)
        words = "End effector in the flange frame: 16 floats, column-major, m; identity: that of end_effector."
        F_T_EE = fixed(node, "F_T_EE", IDENTITY, words)
        self.robot = robot if F_T_EE == IDENTITY else robot.with_end_effector(from_column_major(F_T_EE, "F_T_EE"))
        self._base_frame = fixed(node, "base_frame", "", "Frame of poses; empty: <prefix>link0, or a URDF's base.")
        self._flange_frame = fixed(node, "flange_frame", "", "Frame of payloads; empty: <prefix>link8 or a URDF's tip.")
        changeable(node, "stale_timeout_s", 0.2, "Silence after which the input is stale, s.", 0.001, 60.0)
        self.monitor, self._decoder = StreamMonitor(), JointStateDecoder()
        stated = tuple(name for name in wanted if name)
        self._joints = ArmJoints(stated or self.robot.joint_names, arm_prefix, not stated)
        self._last_arrival = time.monotonic()
        self._next_warning = 0.0  # s of the steady clock
        self._left_out = ""  # why the last sample was
        self._others = ""  # joints of others that have come since the last sample, if any
        self._reported = 0, 0, 0  # samples left out, lost, and out of order, until the last diagnostics
        self._subscription = subscribe(node, JointState, "joint_states", self._on_message, INPUT_QOS, raw=True)
        self._topic = self._subscription.topic_name
        self._parameters = node.get_parameters_by_prefix("").keys() - others
        self._waiting: deque[Sample] = deque(maxlen=max(BACKLOG, self._subscription.qos_profile.depth))
        every(node, 1.0, self._warn_of_absence)
        every(node, LAST_BLOCK, self._on_timer)  # of a stream that ended

    def refuse_others(self, node: Node) -> None:
        """Refuse parameters of the input that another node of this process was given with other values.

        Raises ArgumentError: there is one; it would have no effect, since that node gets its samples from here.
        """
        for name in sorted(self._parameters):
            own = self._node.get_parameter(name).value
            given = node.declare_parameter(name, own).value
            node.undeclare_parameter(name)
            if not np.array_equal(given, own):
                expected = f"{own!r} as of {self._node.get_name()}, whose input is that of all nodes of this process"
                raise ArgumentError(shortened(f"{name} of {node.get_name()}: expected {expected}, got {given!r}"))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The arm's joints, from base to flange; empty until a message came."""
        return self._joints.mapping.joint_names if self._joints.mapping else ()

    @property
    def silence(self) -> float:
        """s since the last joint state, or since the start."""
        return time.monotonic() - self._last_arrival

    @property
    def is_stale(self) -> bool:
        """Whether joint states have stopped."""
        return self.silence > float(self._node.get_parameter("stale_timeout_s").value)

    @property
    def hardware_id(self) -> str:
        """The arm's name in diagnostics: its namespace, and the stem of its joints' names or its model's name."""
        stem = self.joint_names[0].removesuffix("joint1").rstrip("_") if self.joint_names else ""
        return f"{self._node.get_namespace().strip('/')}/{shortened(stem, 60) or self.robot.name}".lstrip("/")

    @property
    def base_frame(self) -> str:
        """Frame id of the arm's base, known once a message came."""
        return self._base_frame or link_name(self.joint_names or self.robot.joint_names, 0, self.robot)

    @property
    def flange_frame(self) -> str:
        """Frame id of the flange, known once a message came."""
        return self._flange_frame or link_name(self.joint_names or self.robot.joint_names, 8, self.robot)

    def _on_message(self, encoded: bytes) -> None:
        self._accept(encoded)
        if time.monotonic() > self._served + TURN:  # timers are behind: they come first
            return
        if self.answer is None:
            time.sleep(self._gather_s)
        self._estimate_waiting()

    def _on_timer(self) -> None:
        self._served = time.monotonic()
        self._estimate_waiting()

    def _estimate_waiting(self) -> None:
        """Hand the samples that wait to the estimators, if it is time to."""
        if not self._waiting or time.monotonic() < self._next_block:
            return
        queue, end = self._subscription.handle, time.monotonic() + TURN
        while self._waiting and time.monotonic() < end:  # of messages that have come meanwhile, the executor knows
            with queue:  # the callback is not called for what is taken here
                while time.monotonic() < end and (taken := queue.take_message(JointState, True)) is not None:
                    self._accept(taken[0])
            block = [self._waiting.popleft() for _ in range(min(len(self._waiting), BLOCK))]
            try:
                self.estimate(block)
            except PandaDynamicsError as error:
                self._refuse(error)
        self._next_block = time.monotonic() + (0.0 if self.answer is None else self._gather_s)

    def _accept(self, encoded: bytes) -> None:
        """Decode a message and answer it; a sample that cannot be used is left out."""
        before, self._last_arrival = self._last_arrival, time.monotonic()
        try:
            header_stamp, names, position, velocity, effort = self._decoder.decode(encoded)
            is_first = self._joints.mapping is None
            mapping = self._joints.mapping_for(names)
            if is_first:
                words = f"{shortened(', '.join(self.joint_names))}; base is {shortened(self.base_frame)}"
                self._node.get_logger().info(f"listening to joints {words}")
            q, dq, tau = mapping.extract(names, position, velocity, effort)
            self._others = ""
            sample = Sample(header_stamp, conversions.seconds(header_stamp), q, dq, tau)
            self.monitor.accept(sample.stamp)
            if self.answer is not None:
                self.answer(sample)
            if self.is_estimating():
                if len(self._waiting) == self._waiting.maxlen:  # the oldest makes room
                    words = "this machine is too busy for the estimators"
                    self._refuse(SampleError(words, "the estimators are behind"))
                self._waiting.append(sample)
        except PandaDynamicsError as error:
            if getattr(error, "reason", "") == OTHER_JOINTS:
                self._last_arrival, self._others = before, f"; {shortened(str(error))}"
            else:
                self._refuse(error)

    def _refuse(self, error: PandaDynamicsError) -> None:
        """Count a sample that was left out, and log it now and then."""
        self._left_out = self.monitor.latest_problem = shortened(str(error))
        self.monitor.rejected[getattr(error, "reason", type(error).__name__)] += 1
        if time.monotonic() > self._next_warning:  # rclpy's own throttle takes longer than a sample
            self._next_warning = time.monotonic() + PATIENCE
            self._node.get_logger().warning(f"sample left out: {self._left_out}")

    def _warn_of_absence(self) -> None:
        """A user who has mistaken the topic is told so, with those on which there are joint states."""
        if self.monitor.received or self.monitor.rejected or self.silence < PATIENCE:
            return
        typed = self._node.get_topic_names_and_types()
        topics = [topic for topic, types in typed if "sensor_msgs/msg/JointState" in types and topic != self._topic]
        others = [topic for topic in topics if not topic.endswith(OWN_TOPICS) and self._node.count_publishers(topic)]
        others.sort(key=lambda topic: -len(commonpath([topic, self._topic])))  # those of the own namespace first
        elsewhere = f"; there are some on {', '.join(others[:5])}" if others else "; nor on any other topic"
        if self._node.count_publishers(self._topic):
            elsewhere = "; it has a publisher, from which nothing has come"
        self._node.get_logger().warning(
            f"no joint states on {self._topic} for {self.silence:.0f} s{self._others}{elsewhere} (joint_states_topic)",
            throttle_duration_sec=10.0,
        )

    def diagnostic(self) -> DiagnosticStatus:
        """What the stream delivers, in words."""
        monitor, before = self.monitor, self._reported
        self._reported = monitor.rejected.total(), monitor.lost, monitor.out_of_order
        left_out, lost, disorder = (count - earlier for count, earlier in zip(self._reported, before, strict=True))
        level = DiagnosticStatus.WARN
        if monitor.received == 0 and not monitor.rejected:
            level, summary = DiagnosticStatus.STALE, f"no joint states on {self._topic} yet{self._others}"
        elif self.is_stale:
            level, summary = DiagnosticStatus.STALE, f"no joint states for {self.silence:.1f} s{self._others}"
        elif not self.is_estimating():
            summary = "no estimates yet: their kernels are still to be compiled"
        elif left_out:
            level, summary = DiagnosticStatus.ERROR, f"samples left out: {self._left_out}"
        elif monitor.repeated >= FROZEN:
            level, words = DiagnosticStatus.ERROR, "the driver has to set header.stamp"
            summary = f"stamps do not change ({monitor.last_stamp:.6f} s): {words}"
        elif 0.0 < monitor.rate < 100.0:
            summary = f"{monitor.rate:.0f} Hz: a real robot has 1 kHz on franka/joint_states"
        elif lost:
            publishers = self._node.count_publishers(self._topic)
            several = f"do {publishers} publishers send the same joints?"
            cause = several if publishers > 1 else "is the network, or this machine, too busy?"
            summary = f"{lost} samples lost ({monitor.latest_problem}): {cause}"
        elif disorder:
            cause = "two publishers, or a clock that was set?"
            summary = f"{disorder} stamps out of order ({monitor.latest_problem}): {cause}"
        elif not monitor.rate:
            summary = "the rate is not known yet"
        elif self.joint_names and (doubt := name_conflict(self.robot, self.joint_names)):
            summary = f"{monitor.rate:.0f} Hz, but {doubt}"
        else:
            level, summary = DiagnosticStatus.OK, f"{monitor.rate:.0f} Hz"
        values = {
            "received": monitor.received,
            "rate_hz": f"{monitor.rate:.1f}",
            "lost": monitor.lost,
            "out_of_order": monitor.out_of_order,
            "rejected": self._reported[0],
            **{f"rejected: {reason}": count for reason, count in monitor.rejected.most_common()},
            "latest_problem": monitor.latest_problem,
        }
        return conversions.status_message(self._node, "input", level, summary, values, self.hardware_id)
