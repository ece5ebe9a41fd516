# SPDX-License-Identifier: Apache-2.0
"""What touches the arm, as the `dynamics` node says it: wrench at the flange, contacts, and the payload known of."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.node import Node

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError
from panda_dynamics_ros.estimation import Contact, ContactDetector, ContactOptions, MomentumObserver, WrenchEstimator
from panda_dynamics_ros.estimation.contact.wrench import ContactWrench
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.nodes import conversions, parameters
from panda_dynamics_ros.nodes.encoded_message import EncodedMessage
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput, diagnostic_name
from panda_dynamics_ros.nodes.topics import LATCHED, publisher, subscribe
from panda_dynamics_ros.robot import InertialParameters

DEFAULTS = ContactOptions()


def rehearse_contacts(robot: RobotModel, q: FloatArray) -> None:
    """Compile what `ContactOutput` needs, or load what was compiled before, at the configuration q (n,)."""
    detector = ContactDetector(robot)
    push = 100.0 * robot.residual.std  # a contact, too: naming its link is code of its own
    for k in range(200):
        detector.update(0.001 * k, q, 0.0 * q, push if k > 150 else 0.0 * q)
    WrenchEstimator(robot).estimate(q, 0.0 * q)


class ContactOutput:
    """Publishes `~/contact_wrench` and `~/contact` of a node's samples; listens to a payload if asked to.

    Attributes
    ----------
    wrench: that of the last sample, or None before the first.
    contact: the last contact, which may last, or None.

    `largest_ratio` in the diagnostics is how sudden the torques have been at most since the start without a contact, in
    standard deviations: what `contact_threshold` has to be above on this arm.
    """

    def __init__(self, node: Node, samples: JointStateInput, observer: MomentumObserver) -> None:
        self._node, self._input, self._observer = node, samples, observer
        threshold = parameters.fixed(
            node,
            "contact_threshold",
            DEFAULTS.threshold,
            "Sudden external torques that make a contact, all joints together, in standard deviations.",
            3.0,
            100.0,
        )
        longest = parameters.fixed(
            node, "contact_longest_s", DEFAULTS.longest_s, "A contact that lasts longer counts as carried, s.", 0.5, 1e6
        )
        payload_topic = parameters.fixed(
            node,
            "payload_topic",
            "",
            "Topic of the payload (InertiaStamped, flange frame) that is not to count as external; empty: all counts.",
        )
        self._detector = ContactDetector(samples.robot, threshold=threshold, longest_s=longest)
        self._estimator = WrenchEstimator(samples.robot)
        self._payload, self._payload_heard = InertialParameters.zero(), False
        self._count, self._largest = 0, 0.0
        self._payload_problem = ""
        self._encoded: EncodedMessage | None = None
        self.wrench: ContactWrench | None = None
        self._wrenches = publisher(node, WrenchStamped, "~/contact_wrench")
        self._contacts = publisher(node, DiagnosticStatus, "~/contact", LATCHED)
        if payload_topic:
            subscribe(node, InertiaStamped, payload_topic, self._on_payload, LATCHED)
        self._contacts.publish(self.diagnostic())

    @property
    def contact(self) -> Contact | None:
        """See the class."""
        return self._detector.contact

    @property
    def felt(self) -> FloatArray | None:
        """The last sample's wrench (6,) while a contact lasts, for pictures; None while there is none."""
        if self.wrench is None or self.contact is None or not self.contact.lasts:
            return None
        return self.wrench.wrench

    def take(
        self, header_stamp: Time, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray, external: FloatArray
    ) -> bool:
        """Publish what a sample says; whether a contact has begun, moved or ended with it."""
        self.wrench = self._estimator.estimate(q, external)
        self._encoded = self._encoded or self._encode()
        self._wrenches.publish(self._encoded.at(header_stamp, self.wrench.wrench))
        before = self._detector.contact
        self._detector.update(stamp, q, dq, tau)
        now = self._detector.contact
        if now is before:
            if now is None or not now.lasts:
                self._largest = max(self._largest, self._detector.ratio)
            return False
        self._count += now is not None and (before is None or now.start != before.start)
        self._contacts.publish(self.diagnostic())
        self._node.get_logger().info(self._summary())
        return True

    def _encode(self) -> EncodedMessage:
        frame = self._input.base_frame
        return EncodedMessage(lambda stamp, wrench: conversions.wrench_message(stamp, frame, wrench), 6)

    def diagnostic(self) -> DiagnosticStatus:
        """The contact in words, as in /diagnostics and on ~/contact; WARN while it lasts."""
        contact = self.contact
        values: dict[str, object] = {
            "link": contact.link if contact else "",
            "joint": self._input.joint_names[contact.link - 1] if contact else "",
            "since": f"{contact.start:.6f}" if contact else "",
            "until": f"{contact.end:.6f}" if contact and contact.end is not None else "",
            "ended_by": contact.ended_by if contact else "",
            "torques_nm": " ".join(f"{torque:.3f}" for torque in contact.torques) if contact else "",
            "contacts": self._count,
            "largest_ratio": f"{self._largest:.2f}",
            "payload_kg": f"{self._payload.mass:.3f}",
            "payload_problem": self._payload_problem,
        }
        level = DiagnosticStatus.WARN if contact is not None and contact.lasts else DiagnosticStatus.OK
        return conversions.status_message(level, f"{diagnostic_name(self._node)}: contact", self._summary(), values)

    def _summary(self) -> str:
        contact = self.contact
        if contact is None:
            return "no contact"
        if contact.end is None:
            return f"contact on link {contact.link} since {contact.start:.3f} s"
        reason = {"payload": " (a payload)", "steady": " (counts as carried)"}.get(contact.ended_by, "")
        return f"no contact; the last, on link {contact.link}, ended at {contact.end:.3f} s{reason}"

    def _on_payload(self, message: InertiaStamped) -> None:
        """Take the payload over; one that cannot be is reported, and the one before stays."""
        try:
            payload = self._checked(message)
        except PandaDynamicsError as error:
            self._payload_problem = str(error)
            self._node.get_logger().warning(f"payload left out: {error}", throttle_duration_sec=5.0)
            return
        if not self._payload_heard:
            self._payload_heard = True
            self._node.get_logger().info(f"a payload is known, {payload.mass:.3f} kg: it does not count as external")
        self._payload, self._payload_problem = payload, ""
        self._observer.carry(payload)
        self._detector.carry(payload)

    def _checked(self, message: InertiaStamped) -> InertialParameters:
        frame = message.header.frame_id
        if frame and self._input.joint_names and frame != self._input.flange_frame:
            raise ArgumentError(f"header.frame_id: expected {self._input.flange_frame}, got {frame}")
        payload = conversions.body_from_message(message)
        if not payload.is_physical():
            raise ArgumentError(f"inertia: expected a body that can exist, got {payload}")
        return payload
