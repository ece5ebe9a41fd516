# SPDX-License-Identifier: Apache-2.0
"""Between ROS messages and the arrays of the core: every conversion is here."""

import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.inertial import InertialParameters, six_from_symmetric, symmetric_from_six
from panda_dynamics_ros.robot.stamps import BILLION, to_nanoseconds, to_seconds
from panda_dynamics_ros.simulation.motions import POINT, JointTrajectory


def seconds(stamp: Time) -> float:
    """A message stamp as seconds."""
    return to_seconds(stamp.sec, stamp.nanosec)


def time_message(stamp: float) -> Time:
    """Seconds as a message stamp, rounded to the nanosecond."""
    return exact_time_message(to_nanoseconds(stamp))


def exact_time_message(stamp_ns: int) -> Time:
    """Whole nanoseconds as a message stamp."""
    sec, nanosec = divmod(stamp_ns, BILLION)
    return Time(sec=sec, nanosec=nanosec)


def doubles(values: FloatArray) -> "array[float]":
    """A float64 array of any shape as the `array('d')` that messages take without a copy per element."""
    return array("d", np.asarray(values, dtype=np.float64).tobytes())


def joint_trajectory(message: Any, names: Sequence[str]) -> JointTrajectory:
    """A trajectory_msgs/JointTrajectory of the joints `names`, in their order, with velocities and accelerations.

    Raises ArgumentError: it has other joints, points are incomplete, or it is no trajectory.
    """
    if sorted(message.joint_names) != sorted(names):
        raise ArgumentError(f"joint_names: expected {', '.join(names)}, got {', '.join(message.joint_names)}"[:300])
    order = [list(message.joint_names).index(name) for name in names]
    if any(len(getattr(point, field)) != len(names) for point in message.points for field in POINT):
        raise ArgumentError(f"points: expected {len(names)} {', '.join(POINT)} each, got fewer or more")
    times = [seconds(point.time_from_start) for point in message.points]
    states = [np.array([getattr(point, field) for point in message.points]).reshape(-1, len(names)) for field in POINT]
    return JointTrajectory(np.array(times), *(state[:, order] for state in states))


def torque_message(stamp: Time, names: Sequence[str], torques: FloatArray) -> JointState:
    """Joint torques (n,), N m, as a JointState with names and effort."""
    return JointState(header=Header(stamp=stamp), name=names, effort=doubles(torques))


def state_message(
    stamp: Time, names: Sequence[str], q: FloatArray, dq: FloatArray, tau: FloatArray, frame: str = ""
) -> JointState:
    """Position, velocity and effort of joints as a JointState."""
    position, velocity, effort = map(doubles, (q, dq, tau))
    header = Header(stamp=stamp, frame_id=frame)
    return JointState(header=header, name=names, position=position, velocity=velocity, effort=effort)


def stamped_message(message_type: type, stamp: Time, frame: str, numbers: FloatArray) -> Any:
    """A message in `frame` whose doubles, in the order of its definition, are these numbers.

    A PoseStamped takes position (m) and quaternion (x, y, z, w), an InertiaStamped `inertia_numbers` (10,), a
    WrenchStamped a wrench (6,), N and N m, force first, in the axes of `frame`.
    """
    message = message_type(header=Header(stamp=stamp, frame_id=frame))
    for (part, name), number in zip(_doubles(message), numbers.tolist(), strict=True):
        setattr(part, name, number)
    return message


def numbers_of(message: Any) -> FloatArray:
    """The doubles of a message, in the order of its definition."""
    return np.array([getattr(part, name) for part, name in _doubles(message)])


def _doubles(message: Any) -> Iterator[tuple[Any, str]]:
    """Where a message has doubles: the message within it, and the field's name."""
    for name, kind in message.get_fields_and_field_types().items():
        if kind == "double":
            yield message, name
        elif "/" in kind:
            yield from _doubles(getattr(message, name))


def o_t_ee_message(columns: FloatArray) -> Float64MultiArray:
    """Franka's O_T_EE: 16 floats, column-major."""
    return matrix_message(columns.reshape(4, 4), ("column", "row"))


def matrix_message(matrix: FloatArray, labels: tuple[str, str] = ("row", "column")) -> Float64MultiArray:
    """A matrix as a Float64MultiArray, row by row."""
    message = Float64MultiArray(data=doubles(matrix))
    for label, size, stride in zip(labels, matrix.shape, (matrix.size, matrix.shape[1]), strict=True):
        message.layout.dim.append(MultiArrayDimension(label=label, size=size, stride=stride))
    return message


def matrix_image(stamp: Time, frame: str, matrix: FloatArray) -> Image:
    """A matrix as an Image whose pixels are doubles: the one standard message that holds a matrix and has a stamp."""
    rows, columns = matrix.shape
    return Image(
        header=Header(stamp=stamp, frame_id=frame), height=rows, width=columns, encoding="64FC1", step=8 * columns,
        is_bigendian=int(sys.byteorder == "big"), data=array("B", np.asarray(matrix, dtype=np.float64).tobytes()),
    )  # fmt: skip


def inertia_message(stamp: Time, frame: str, body: InertialParameters) -> InertiaStamped:
    """A body as InertiaStamped: mass, CoM in `frame`, inertia about the CoM along the axes of `frame`."""
    return stamped_message(InertiaStamped, stamp, frame, inertia_numbers(body))


def inertia_numbers(body: InertialParameters) -> FloatArray:
    """Mass (kg), CoM (m), and inertia about the CoM (xx, xy, xz, yy, yz, zz) of a body, as ROS has them."""
    return np.array([body.mass, *body.com, *six_from_symmetric(body.inertia)])


def body_from_message(message: InertiaStamped) -> InertialParameters:
    """The body of an InertiaStamped."""
    numbers = numbers_of(message)
    return InertialParameters(numbers[0], numbers[1:4], symmetric_from_six(numbers[4:]))


def status_message(
    node: Node, part: str, level: bytes, summary: str, values: Mapping[str, object], hardware_id: str
) -> DiagnosticStatus:
    """How a part of a node is, which serves the arm `hardware_id`, with values as text.

    It has the full name of the node, since all namespaces share /diagnostics.
    """
    name = f"{node.get_fully_qualified_name().lstrip('/')}: {part}"
    pairs = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
    return DiagnosticStatus(level=level, name=name, message=summary, hardware_id=hardware_id, values=pairs)
