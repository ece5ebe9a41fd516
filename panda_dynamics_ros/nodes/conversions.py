# SPDX-License-Identifier: Apache-2.0
"""Between ROS messages and the arrays of the core: every conversion is here."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import InertiaStamped, PoseStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from panda_dynamics_ros import pose
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.stamps import BILLION, to_nanoseconds, to_seconds


def seconds(stamp: Time) -> float:
    """A message stamp as seconds."""
    return to_seconds(stamp.sec, stamp.nanosec)


def time_message(stamp: float) -> Time:
    """Seconds as a message stamp, rounded to the nanosecond."""
    return exact_time_message(to_nanoseconds(stamp))


def exact_time_message(nanoseconds: int) -> Time:
    """Whole nanoseconds as a message stamp."""
    sec, nanosec = divmod(nanoseconds, BILLION)
    return Time(sec=sec, nanosec=nanosec)


def doubles(values: FloatArray) -> array[float]:
    """A float64 array of any shape as the `array('d')` that messages take without a copy per element."""
    packed = array("d")
    packed.frombytes(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return packed


def torque_message(stamp: Time, names: Sequence[str], torques: FloatArray) -> JointState:
    """Joint torques (n,), N m, as a JointState with names and effort."""
    message = JointState()
    message.header.stamp = stamp
    message.name = names
    message.effort = doubles(torques)
    return message


def pose_message(stamp: Time, frame: str, T: FloatArray) -> PoseStamped:
    """T_base_ee (4, 4) as a PoseStamped in `frame`."""
    message = PoseStamped()
    message.header.stamp = stamp
    message.header.frame_id = frame
    x, y, z, w = pose.matrix_to_quaternion(T[:3, :3]).tolist()
    orientation, position = message.pose.orientation, message.pose.position
    orientation.x, orientation.y, orientation.z, orientation.w = x, y, z, w
    position.x, position.y, position.z = T[:3, 3].tolist()
    return message


def fill_wrench(message: WrenchStamped, stamp: Time, frame: str, wrench: FloatArray) -> None:
    """Write a wrench (6,), force first, in the axes of `frame`, N and N m, into a message that is used again."""
    message.header.stamp = stamp
    message.header.frame_id = frame
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.tolist()


def empty_o_t_ee() -> Float64MultiArray:
    """A Float64MultiArray laid out as Franka's O_T_EE: 16 floats, column-major."""
    message = Float64MultiArray()
    message.layout.dim = [
        MultiArrayDimension(label="column", size=4, stride=16),
        MultiArrayDimension(label="row", size=4, stride=4),
    ]
    return message


def matrix_message(matrix: FloatArray) -> Float64MultiArray:
    """A matrix as a Float64MultiArray, row by row."""
    rows, columns = matrix.shape
    message = Float64MultiArray()
    message.layout.dim = [
        MultiArrayDimension(label="row", size=rows, stride=rows * columns),
        MultiArrayDimension(label="column", size=columns, stride=columns),
    ]
    message.data = doubles(matrix)
    return message


def inertia_message(stamp: Time, frame: str, body: InertialParameters) -> InertiaStamped:
    """A body as InertiaStamped: mass, CoM in `frame`, inertia about the CoM along the axes of `frame`."""
    message = InertiaStamped()
    message.header.stamp = stamp
    message.header.frame_id = frame
    inertia = message.inertia
    inertia.m = float(body.mass)
    inertia.com.x, inertia.com.y, inertia.com.z = body.com.tolist()
    (inertia.ixx, inertia.ixy, inertia.ixz), (_, inertia.iyy, inertia.iyz), (_, _, inertia.izz) = body.inertia.tolist()
    return message


def body_from_message(message: InertiaStamped) -> InertialParameters:
    """The body of an InertiaStamped."""
    i = message.inertia
    inertia = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]])
    return InertialParameters(i.m, np.array([i.com.x, i.com.y, i.com.z]), inertia)


def status_message(level: bytes, name: str, summary: str, values: dict[str, object]) -> DiagnosticStatus:
    """A DiagnosticStatus whose values are the given ones in words."""
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=summary, hardware_id="panda", values=pairs)
