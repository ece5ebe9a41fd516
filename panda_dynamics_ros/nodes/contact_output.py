# SPDX-License-Identifier: Apache-2.0
"""The contact topics of node `dynamics`, and the payload that it is given."""

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.node import Node
from std_msgs.msg import Header

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError
from panda_dynamics_ros.estimation import Contact, ContactOptions, contact_wrench
from panda_dynamics_ros.estimation.contact import PAYLOAD
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.encoded_messages import NumberPublisher
from panda_dynamics_ros.nodes.interface import LATCHED, fixed, publisher, shortened, subscribe
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput, Sample
from panda_dynamics_ros.robot import InertialParameters

ABSURD = 100.0  # kg, m, kg m^2: no payload has as much


def declare_contact_options(node: Node) -> dict[str, float]:
    """The options of the contact detector that a user may set, fixed at start-up."""
    defaults = ContactOptions()
    sudden = "Step of the external torques, all joints together, above which a contact begins, in standard deviations."
    longest = "A contact that lasts longer counts as a carried body, s."
    return {
        "threshold": fixed(node, "contact_threshold", defaults.threshold, sudden, 3.0, 100.0),
        "longest_s": fixed(node, "contact_longest_s", defaults.longest_s, longest, 0.5, 1e6),
    }


class PayloadInput:
    """Subscribes to the payload on `payload_topic`, if that is set, and hands it on.

    topic: the full name of the topic; empty: none.
    mass: kg, of the last payload.
    problem: why the last message was left out; empty where it was not.
    """

    def __init__(self, node: Node, samples: JointStateInput, carry: Callable[[InertialParameters], None]) -> None:
        self._node, self._input, self._carry = node, samples, carry
        self.mass, self.problem, self._has_come = 0.0, "", False
        words = "Topic of a known payload (InertiaStamped, flange frame), which is not external; empty: none is known."
        topic = fixed(node, "payload_topic", "payload_estimator/payload", words)
        self.topic = topic and subscribe(node, InertiaStamped, topic, self._on_payload, LATCHED).topic_name

    def _on_payload(self, message: InertiaStamped) -> None:
        """Hand the payload on. One that cannot be is reported, and the one before stays."""
        frame, largest = message.header.frame_id, np.abs(conversions.numbers_of(message)).max()
        try:
            if frame and self._input.joint_names and frame != self._input.flange_frame:
                raise ArgumentError(f"header.frame_id: expected {self._input.flange_frame}, got {frame}")
            if not largest <= ABSURD:  # first, since what follows would overflow
                raise ArgumentError(f"inertia: expected at most {ABSURD:g} in kg, m and kg m^2, got {largest:g}")
            payload = conversions.body_from_message(message)
            if not payload.is_physical():
                raise ArgumentError(f"inertia: expected a body that can exist, got {payload}")
        except PandaDynamicsError as error:
            self.problem = shortened(" ".join(str(error).split()))  # a body prints as several lines
            self._node.get_logger().warning(f"payload left out: {self.problem}", throttle_duration_sec=5.0)
            return
        if not self._has_come:  # rclpy's own `once` takes longer, each time, than all else here
            self._node.get_logger().info(f"payloads come on {self.topic}: they do not count as external")
        self.mass, self.problem, self._has_come = payload.mass, "", True
        self._carry(payload)


class ContactOutput:
    """Publishes `~/contact_wrench` with every sample and `~/contact` when a contact begins, moves or ends.

    Each `~/contact` also goes out with the stamp of its sample, beside the wrench of the contact's torques. A pick or a
    release begins as a contact, too, until the payload explains it; `contacts` does not count it then.

    `largest_ratio` in the diagnostics is how sudden the torques have been at most since the start without a contact, in
    standard deviations: `contact_threshold` has to be above it on this arm.
    """

    def __init__(self, node: Node, samples: JointStateInput, largest_ratio: Callable[[], float]) -> None:
        self._node, self._input, self._largest_ratio = node, samples, largest_ratio
        self._contact: Contact | None = None
        self._count = 0
        self.wrenches = NumberPublisher(node, WrenchStamped, "~/contact_wrench", self._wrench_message, 6)
        self._contacts = publisher(node, DiagnosticStatus, "~/contact", LATCHED)
        self._contacts.publish(self.diagnostic())
        self._stamped = publisher(node, DiagnosticArray, "~/contact_stamped", LATCHED)
        self._stamped_wrench = publisher(node, WrenchStamped, "~/contact_stamped_wrench", LATCHED)

    def _wrench_message(self, wrench: FloatArray, stamp: Time | None = None) -> WrenchStamped:
        return conversions.stamped_message(WrenchStamped, stamp or Time(), self._input.base_frame, wrench)

    @property
    def lasts(self) -> bool:
        """Whether something touches the arm."""
        return self._contact is not None and self._contact.lasts

    def publish(self, sample: Sample, wrench: FloatArray | None, contact: Contact | None) -> None:
        """Publish the wrench (6,) of a sample, if it is known, and the contact if it has changed with it."""
        if wrench is not None:
            self.wrenches.publish(sample.header_stamp, wrench)
        if contact is None:
            return
        before, self._contact = self._contact, contact
        if before is None or contact.start != before.start:
            self._count += 1
        if contact.ended_by == PAYLOAD:
            self._count -= 1
        status = self.diagnostic()
        self._contacts.publish(status)
        self._stamped.publish(DiagnosticArray(header=Header(stamp=sample.header_stamp), status=[status]))
        wrench = contact_wrench(self._input.robot, sample.q, contact.torques).wrench
        self._stamped_wrench.publish(self._wrench_message(wrench, sample.header_stamp))

    def diagnostic(self, payload: PayloadInput | None = None) -> DiagnosticStatus:
        """The contact in words, as in /diagnostics and on ~/contact; WARN while it lasts."""
        contact, level, summary = self._contact, DiagnosticStatus.OK, "no contact"
        values: dict[str, object] = dict.fromkeys(("link", "joint", "since", "until", "ended_by", "torques_nm"), "")
        if contact is not None:
            values |= {
                "link": contact.link,
                "joint": self._input.joint_names[contact.link - 1],
                "since": f"{contact.start:.6f}",
                "until": "" if contact.end is None else f"{contact.end:.6f}",
                "ended_by": contact.ended_by,
                "torques_nm": " ".join(f"{torque:.3f}" for torque in contact.torques),
            }
            if contact.end is not None:
                reason = {"payload": " (a payload)", "steady": " (counts as carried)"}.get(contact.ended_by, "")
                summary += f"; the last, on link {contact.link}, ended at {contact.end:.3f} s{reason}"
            else:
                level, summary = DiagnosticStatus.WARN, f"contact on link {contact.link} since {contact.start:.3f} s"
                if self._input.is_stale:
                    level, summary = DiagnosticStatus.STALE, f"unknown without joint states; the last was {summary}"
        values |= {"contacts": self._count, "largest_ratio": f"{self._largest_ratio():.2f}"}
        if payload is not None:
            values |= {"payload_kg": f"{payload.mass:.3f}", "payload_problem": payload.problem}
        return conversions.status_message(self._node, "contact", level, summary, values, self._input.hardware_id)
