# SPDX-License-Identifier: Apache-2.0
"""Node `payload_estimator`: mass, centre of mass and inertia of what the arm carries."""

from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from panda_dynamics_ros.errors import ArgumentError, DataFileNotFoundError, PandaDynamicsError
from panda_dynamics_ros.estimation import ArmMonitor, ArmRows, ChangeEvent, EstimatorOptions, PayloadEstimate
from panda_dynamics_ros.estimation.arm_monitor import PUBLISH_PERIOD
from panda_dynamics_ros.estimation.estimate import ESTIMATING, STANDSTILL
from panda_dynamics_ros.estimation.payload_file import load_estimate, save_estimate
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.nodes.franka_load import LoadService
from panda_dynamics_ros.nodes.interface import LATCHED, changeable, diagnose, every, fixed, publisher, serve
from panda_dynamics_ros.nodes.joint_state_input import JointStateInput, Sample, columns_of
from panda_dynamics_ros.nodes.markers import PayloadMarkers
from panda_dynamics_ros.nodes.runner import run_node

GATHER_S = 0.01  # s, for which samples are gathered: half the period of the filter's updates
RESUME_PERIOD = 1.0  # s
DEFAULTS = EstimatorOptions()
OPTIONS: tuple[tuple[str, str, str, float, float], ...] = (
    ("max_mass", "max_mass_kg", "Largest mass that is carried, kg; a larger one counts as a push.", 1e-3, 100.0),
    ("known_mass", "known_mass_kg", "Mass of the payloads, kg, if it is known; 0: unknown.", 0.0, 100.0),
    ("mass_std", "mass_std_kg", "Expected mass of payloads, kg, one sigma (the Panda carries 3 kg).", 1e-3, 100.0),
    ("com_std", "com_std_m", "Expected distance of a payload's CoM from the flange, m, one sigma.", 1e-3, 10.0),
    ("inertia_std", "inertia_std_kgm2", "Expected inertia about the flange, kg m^2, one sigma.", 1e-5, 10.0),
    ("bandwidth_hz", "bandwidth_hz", "Bandwidth of the estimator's low-pass filters, Hz.", 1.0, 10.0),
    ("memory_s", "memory_s", "Time in motion after which information has decayed to 1/e, s.", 0.1, 1e6),
)
"""Of the estimator, what a user may want to set: the option, and name, description and range of its parameter."""


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
            every(node, self._period, self.autosave)
        if fixed(node, "restore", False, "Continue from the file save_path, if it exists."):
            self._restore(self._path, DataFileNotFoundError)  # which is a first start
        words = "File in which the estimate is kept for a restart after a failure; empty: none."
        self._resume_path = fixed(node, "resume_path", "", words)
        if self._resume_path:
            if Path(self._resume_path).expanduser().exists():
                self._restore(self._resume_path, PandaDynamicsError)  # a bad file is no reason to fail again
            every(node, RESUME_PERIOD, self._keep)

    def save(self) -> tuple[bool, str]:
        """Save to `save_path`; whether that worked, and in words."""
        self.problem = self._write(self._path)
        return not self.problem, self.problem or f"saved to {Path(self._path).expanduser().absolute()}"

    def _write(self, path: str) -> str:
        """Why the estimate could not be written; empty where it could."""
        try:
            save_estimate(self._estimator.estimate, self._estimator.memory, path, self._estimator.robot)
        except (OSError, ArgumentError) as error:
            return f"not saved to {path}: {error}"
        return ""

    def autosave(self) -> None:
        """Save, where the node saves by itself and has learnt something: else the file may know more."""
        if self._period > 0.0 and self._estimator.counts.used and not self.save()[0]:
            self._node.get_logger().warning(self.problem, throttle_duration_sec=60.0)

    def _keep(self) -> None:
        if self._estimator.counts.used and (problem := self._write(self._resume_path)):
            self._node.get_logger().warning(f"a start anew would begin without payload: {problem}", once=True)

    def _restore(self, path: str, harmless: type[PandaDynamicsError]) -> None:
        """Go on from a saved estimate; of what is `harmless` the log is told, anything else is an error."""
        try:
            self._estimator.restore(load_estimate(path, self._estimator.robot))
        except harmless as error:
            self._node.get_logger().warning(f"nothing is restored: {error}")
            return
        mass = self._estimator.estimate.mass
        self._node.get_logger().info(f"restored a payload of {mass:.3f} kg from {Path(path).expanduser()}")


class PayloadEstimatorNode(Node):
    """Publishes mass, centre of mass and inertia of what the arm carries, as its `ArmMonitor` estimates them.

    samples: the input of a node in this process that hands its outputs to `publish` (`suite`); None: its own.
    options: further ones of its `ArmMonitor`.
    """

    def __init__(self, samples: JointStateInput | None = None, **options: Any) -> None:
        super().__init__("payload_estimator")
        if samples is not None:
            samples.refuse_others(self)
        self.samples = samples or JointStateInput(self, self._estimate, GATHER_S)
        words = "Period of ~/payload, s, rounded up to whole updates of 0.02 s; a change is published at once."
        period = changeable(self, "publish_period_s", PUBLISH_PERIOD, words, 0.001, 10.0)
        self.enabled = changeable(self, "enabled", True, "Whether samples are used (see ~/set_enabled).")
        words = 'Shape of the payloads, m: "box LX LY LZ", "cylinder RADIUS HEIGHT" or "sphere RADIUS"; empty: unknown.'
        options |= {"shape": fixed(self, "shape", "", words) or None, "publish_period_s": period}
        for option, name, words, low, high in OPTIONS:
            options[option] = float(fixed(self, name, getattr(DEFAULTS, option), words, low, high))
        self.monitor = ArmMonitor(self.samples.robot, **options)
        self._estimator = self.monitor.payload_estimator
        self._file = EstimateFile(self, self.monitor)
        self._stamp: Time | None = None  # of the sample of the last estimate
        self._last_change: ChangeEvent | None = None
        self._change_count = 0
        self._frozen_before, self._problem = 0, ""

        self._payload = publisher(self, InertiaStamped, "~/payload", LATCHED)
        self._covariance = publisher(self, Float64MultiArray, "~/payload_covariance")
        self._image = publisher(self, Image, "~/payload_covariance_stamped")
        self._offsets = publisher(self, JointState, "~/joint_offsets", LATCHED)
        self.markers = PayloadMarkers(self, self.samples, self._estimator)
        parts = [self._diagnostic] if samples else [self.samples.diagnostic, self._diagnostic]
        self._diagnose = diagnose(self, lambda: [part() for part in parts])
        for name, handle in (("reset", self._reset), ("tare", self._tare), ("save", lambda _: self._file.save())):
            serve(self, Trigger, name, handle)
        serve(self, SetBool, "set_enabled", self._set_enabled)
        self.add_post_set_parameters_callback(self._on_parameters)
        every(self, 1.0, self._publish_offsets)
        # Last, since it starts a thread: a node whose parameters are refused has none to end.
        self._load = LoadService(self, self.monitor, lambda: self.enabled and not self.samples.is_stale)

    def _estimate(self, samples: list[Sample]) -> None:
        if self.enabled:
            self.publish(samples, self.monitor.update_rows(*columns_of(samples)))

    def publish(self, samples: list[Sample], rows: ArmRows) -> None:
        """Publish the estimates that are due, if they are finite: an absurd sample may overflow on its way."""
        for k, estimate, is_due in rows.estimates:
            if estimate.stamp == samples[k].stamp:  # not one that came again
                self._stamp = samples[k].header_stamp
            if not is_due or not np.isfinite(estimate.covariance).all():
                continue
            self._send(samples[k].header_stamp, estimate)
            if (event := estimate.event) is not None:
                self._last_change, self._change_count = event, self._change_count + 1
                carried = f"{estimate.mass:.2f} +/- {estimate.mass_margin:.2f} kg are carried"
                self.get_logger().info(f"detected a {event.kind} at {event.stamp:.3f} s; {carried}")
                self._diagnose()

    def _send(self, stamp: Time, estimate: PayloadEstimate) -> None:
        frame = self.samples.flange_frame
        self._payload.publish(conversions.inertia_message(stamp, frame, estimate.payload))
        if self._covariance.get_subscription_count():
            self._covariance.publish(conversions.matrix_message(estimate.covariance))
        if self._image.get_subscription_count():
            self._image.publish(conversions.matrix_image(stamp, frame, estimate.covariance))

    def _publish_offsets(self) -> None:
        if self._stamp is not None:
            offsets = self._estimator.arm_errors.offset
            self._offsets.publish(conversions.torque_message(self._stamp, self.samples.joint_names, offsets))

    def _diagnostic(self) -> DiagnosticStatus:
        estimate, counts = self._estimator.estimate, self._estimator.counts
        known = estimate.com_is_known
        values = {
            "status": estimate.status,
            "mass_kg": f"{estimate.mass:.4f}",
            "mass_std_kg": f"{estimate.std[0]:.4f}",
            "raw_mass_kg": f"{self._estimator.raw_mass:.4f}",
            "com_m": np.array2string(estimate.com, precision=4) if known else "",
            "com_std_m": np.array2string(estimate.com_std, precision=4) if known else "",
            "identifiable": "".join("1" if flag else "0" for flag in estimate.identifiable),
            "physically_consistent": estimate.payload.is_physical(),
            **{name: getattr(counts, name) for name in ("used", "duplicate", "backward", "frozen", "gaps")},
            "implausible": counts.implausible.total(),
            **{f"implausible: {reason}": count for reason, count in counts.implausible.most_common()},
            "restarts": counts.restarts,
            "joint_offsets_nm": np.array2string(self._estimator.arm_errors.offset, precision=3),
            "problem": estimate.problem,
            "changes": self._change_count,
            "last_change": self._last_change.kind if self._last_change else "",
            "last_change_stamp": f"{self._last_change.stamp:.6f}" if self._last_change else "",
        }
        level, summary = DiagnosticStatus.WARN, _words(estimate)
        if self._file.problem:
            summary = self._file.problem
        elif not self.enabled:
            summary = f"disabled (call ~/set_enabled); {summary}"
        elif counts.frozen > self._frozen_before:
            summary = "the same sample comes again and again: does the driver hang?"
        elif estimate.problem:
            summary = f"{summary}; {estimate.problem}"
        else:
            level = DiagnosticStatus.OK
        before, self._problem = self._problem, "".join(filter(str.isalpha, estimate.problem))  # numbers change
        if self._problem not in ("", before):
            self.get_logger().warning(estimate.problem)
        self._frozen_before = counts.frozen
        return conversions.status_message(self, "estimate", level, summary, values, self.samples.hardware_id)

    def _on_parameters(self, _: list[Parameter]) -> None:
        """Apply the parameters that may change, once all that were given are accepted."""
        self.enabled = self.get_parameter("enabled").value
        self.monitor.publish_period_s = self.get_parameter("publish_period_s").value

    def _reset(self, _: Trigger.Request) -> tuple[bool, str]:
        self._estimator.reset()
        self._send_anew()
        return True, "the payload is unknown again, and nothing is tared"

    def _tare(self, _: Trigger.Request) -> tuple[bool, str]:
        mass = self._estimator.raw_mass
        self._estimator.tare()
        self._send_anew()
        return True, f"{mass:.3f} kg count as no payload from now on"

    def _send_anew(self) -> None:
        """Publish the estimate that a service has changed: the next sample may be long in coming."""
        if self._stamp is not None:
            self._send(self._stamp, self._estimator.estimate)

    def _set_enabled(self, request: SetBool.Request) -> tuple[bool, str]:
        self.set_parameters([Parameter("enabled", value=bool(request.data))])
        return True, f"samples are {'used' if request.data else 'left out'}"

    def destroy_node(self) -> None:
        """Save and log the last estimate, and end."""
        if hasattr(self, "_load"):  # Kilted destroys a node that could not start, too
            self._load.close()
            self._file.autosave()
            if self._estimator.counts.used:
                self.get_logger().info(f"last estimate: {_words(self._estimator.estimate)}")
        super().destroy_node()


def _words(estimate: PayloadEstimate) -> str:
    is_known = estimate.status in (ESTIMATING, STANDSTILL) and not estimate.problem
    found = ", none found" if is_known and not estimate.is_carried else ""
    return f"{estimate.status}, {estimate.mass:.3f} +/- {estimate.mass_margin:.3f} kg{found}"


if __name__ == "__main__":
    raise SystemExit(run_node(PayloadEstimatorNode, kernels="payload_estimator"))
