# SPDX-License-Identifier: Apache-2.0
"""Node `payload_estimator`: mass, centre of mass and inertia of what the arm carries."""

from __future__ import annotations

import sys

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import InertiaStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import PandaDynamicsError
from panda_dynamics_ros.estimation import ChangeEvent, PayloadEstimator
from panda_dynamics_ros.estimation.payload_file import save_estimate
from panda_dynamics_ros.nodes import conversions, parameters
from panda_dynamics_ros.nodes.franka_load import FrankaLoadClient
from panda_dynamics_ros.nodes.joint_state_input import OVERRIDABLE, JointStateInput, diagnostic_name
from panda_dynamics_ros.nodes.payload_markers import PayloadMarkers
from panda_dynamics_ros.nodes.runner import run_node

STAMP_ROUNDING = 1e-6  # s: seconds since 1970 in a double are a quarter of a microsecond apart
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class PayloadEstimatorNode(Node):
    """Feeds joint states to a `PayloadEstimator` and publishes what it says."""

    def __init__(self) -> None:
        super().__init__("payload_estimator")
        self._input = JointStateInput(self, self._on_sample)
        self._publish_period = parameters.in_range(
            self,
            "publish_period_s",
            0.02,
            "Period of ~/payload, s; a change is published at once.",
            0.001,
            10.0,
        )
        self._enabled = parameters.switch(self, "enabled", True, "Whether samples are taken in (see ~/set_enabled).")
        self._save_path = parameters.fixed(self, "save_path", "~/.ros/panda_payload.yaml", "Where ~/save writes.")
        load_service = parameters.fixed(
            self, "set_load_service", "service_server/set_load", "Franka's service that ~/apply_load calls."
        )
        self._estimator = PayloadEstimator(self._input.robot, **self._declare_options())
        self._load_client = FrankaLoadClient(self, load_service)
        self._warm_up()
        self._published_stamp = -np.inf
        self._last_change: ChangeEvent | None = None
        self._change_count = 0
        self._payload = self.create_publisher(InertiaStamped, "~/payload", LATCHED, qos_overriding_options=OVERRIDABLE)
        self._covariance = self.create_publisher(Float64MultiArray, "~/payload_covariance", 10)
        self._markers = PayloadMarkers(self, self._input, lambda: self._estimator.estimate)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/tare", self._on_tare)
        self.create_service(Trigger, "~/save", self._on_save)
        self.create_service(Trigger, "~/apply_load", self._on_apply_load)
        self.create_service(SetBool, "~/set_enabled", self._on_set_enabled)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.create_timer(1.0, self._publish_diagnostics)

    def _declare_options(self) -> dict[str, float]:
        """The estimator's options that a user may want to set, fixed at start-up."""

        def option(name: str, default: float, description: str, low: float, high: float) -> float:
            return float(parameters.fixed(self, name, default, description, low, high))

        return {
            "mass_std": option(
                "mass_std_kg", 1.5, "How heavy payloads are, kg, at one sigma (the Panda carries 3 kg).", 1e-3, 100.0
            ),
            "com_std": option(
                "com_std_m", 0.1, "How far from the flange their centre of mass is, m, at one sigma.", 1e-3, 10.0
            ),
            "inertia_std": option(
                "inertia_std_kgm2", 0.02, "Their inertia about the flange, kg m^2, at one sigma.", 1e-5, 10.0
            ),
            "bandwidth_hz": option(
                "bandwidth_hz", 3.0, "Bandwidth of the estimator's low-pass filters, Hz.", 0.01, 100.0
            ),
            "memory_s": option(
                "memory_s", 8.0, "Time in motion after which information has leaked to 1/e, s.", 0.1, 1e6
            ),
        }

    def _warm_up(self) -> None:
        """Compile, or load what was compiled before, while nothing waits for an answer yet."""
        rehearsal = PayloadEstimator(self._input.robot)
        limits = self._input.robot.limits
        middle = 0.5 * (limits.lower + limits.upper)
        for k in range(150):
            rehearsal.update(0.01 * k, middle, 0.0 * middle, 0.0 * middle)
        rehearsal.tare()

    def _on_sample(self, message: JointState, stamp: float, q: FloatArray, dq: FloatArray, tau: FloatArray) -> None:
        self._markers.remember(message.header.stamp, q)
        if not self._enabled:
            return
        estimate = self._estimator.update(stamp, q, dq, tau)
        if estimate.stamp != stamp:
            return  # the sample was only filtered, or left out for its stamp
        changed = estimate.event is not None and estimate.event is not self._last_change
        if estimate.event is not None and changed:
            self._report_change(estimate.event)
        if changed or not 0.0 <= stamp - self._published_stamp < self._publish_period - STAMP_ROUNDING:
            self._published_stamp = stamp
            frame = self._input.flange_frame
            self._payload.publish(conversions.inertia_message(message.header.stamp, frame, estimate.payload))
            self._covariance.publish(conversions.matrix_message(estimate.covariance))

    def _report_change(self, event: ChangeEvent) -> None:
        self._last_change = event
        self._change_count += 1
        self.get_logger().info(f"detected a {event.kind} at {event.stamp:.3f} s")
        self._publish_diagnostics()

    def _publish_diagnostics(self) -> None:
        message = DiagnosticArray()
        message.header.stamp = self.get_clock().now().to_msg()
        message.status = [self._input.diagnostic(), self._diagnostic()]
        self._diagnostics.publish(message)

    def _diagnostic(self) -> DiagnosticStatus:
        estimate, counts = self._estimator.estimate, self._estimator.counts
        summary = estimate.status if self._enabled else "disabled (call ~/set_enabled)"
        values = {
            "mass_kg": f"{estimate.mass:.4f}",
            "mass_std_kg": f"{estimate.std[0]:.4f}",
            "com_m": np.array2string(estimate.com, precision=4),
            "com_std_m": np.array2string(estimate.com_std, precision=4),
            "identifiable": "".join("1" if flag else "0" for flag in estimate.identifiable),
            "physically_consistent": estimate.payload.is_physical(),
            "used": counts.used,
            "duplicate": counts.duplicate,
            "backward": counts.backward,
            "gaps": counts.gaps,
            "changes": self._change_count,
            "last_change": self._last_change.kind if self._last_change else "",
            "last_change_stamp": f"{self._last_change.stamp:.6f}" if self._last_change else "",
        }
        return conversions.status_message(DiagnosticStatus.OK, f"{diagnostic_name(self)}: estimate", summary, values)

    def _on_parameters(self, changed: list[Parameter]) -> SetParametersResult:
        for parameter in changed:
            if parameter.name == "publish_period_s":
                self._publish_period = parameter.value
            elif parameter.name == "enabled":
                self._enabled = parameter.value
        return SetParametersResult(successful=True)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._estimator.reset()
        response.success, response.message = True, "the payload is unknown again, and nothing is tared"
        return response

    def _on_tare(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        mass = self._estimator.estimate.mass
        self._estimator.tare()
        response.success, response.message = True, f"{mass:.3f} kg count as no payload from now on"
        return response

    def _on_save(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            path = save_estimate(self._estimator.estimate, self._save_path)
        except OSError as error:
            response.success, response.message = False, f"not saved: {error}"
        else:
            response.success, response.message = True, f"saved to {path}"
        return response

    def _on_apply_load(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = self._load_client.apply(self._estimator.estimate)
            response.success = True
        except PandaDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    def _on_set_enabled(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.set_parameters([Parameter("enabled", value=bool(request.data))])
        response.success, response.message = True, "taking samples in" if request.data else "samples are left out"
        return response


def main(args: list[str] | None = None) -> int:
    """Run the node; returns the exit code."""
    return run_node(PayloadEstimatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
