# SPDX-License-Identifier: Apache-2.0
"""Arrays as serialised messages, thousands at once.

The messages of one topic differ in their stamp and in runs of doubles only, so that all have the same length: one of
them is serialised with numbers that stand for the runs, and its bytes are repeated with others in their places. A stamp
is the first field of a message; runs are the last, so that the last occurrence of such numbers counts, whatever text
the message has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.recordings import rosbag2
from panda_dynamics_ros.robot.stamps import BILLION

Nanoseconds = NDArray[np.int64]
Rows = NDArray[np.uint8]  # (N, bytes of a message)

JOINT_STATE = rosbag2.JOINT_STATE
POSE = "geometry_msgs/msg/PoseStamped"
INERTIA = "geometry_msgs/msg/InertiaStamped"
WRENCH = "geometry_msgs/msg/WrenchStamped"
MULTI_ARRAY = "std_msgs/msg/Float64MultiArray"

STAMP = slice(4, 12)
"""Place of seconds and nanoseconds: behind the encapsulation."""


def joint_states(
    names: Sequence[str],
    stamp_ns: Nanoseconds,
    position: FloatArray | None = None,
    velocity: FloatArray | None = None,
    effort: FloatArray | None = None,
) -> Rows:
    """sensor_msgs/JointState with these names; each field (N, n), or empty where left out."""
    fields = {"position": position, "velocity": velocity, "effort": effort}
    given = [values for values in fields.values() if values is not None]
    runs = iter(_marks([values.shape[1] for values in given]))
    content = {name: np.empty(0) if values is None else next(runs) for name, values in fields.items()}
    return _repeated(JOINT_STATE, _stamped("", name=list(names), **content), stamp_ns, given)


def poses(frame: str, stamp_ns: Nanoseconds, position: FloatArray, orientation: FloatArray) -> Rows:
    """geometry_msgs/PoseStamped in `frame`: position (N, 3), m, orientation (N, 4) as x, y, z, w."""
    make = rosbag2.typestore().types
    place, turn = _marks([3, 4])
    pose = make["geometry_msgs/msg/Pose"](
        position=make["geometry_msgs/msg/Point"](*place), orientation=make["geometry_msgs/msg/Quaternion"](*turn)
    )
    return _repeated(POSE, _stamped(frame, pose=pose), stamp_ns, [position, orientation])


def inertias(frame: str, stamp_ns: Nanoseconds, mass: FloatArray, com: FloatArray, inertia: FloatArray) -> Rows:
    """geometry_msgs/InertiaStamped in `frame`: mass (N,), CoM (N, 3), inertia about it (N, 6): xx, xy, .. zz."""
    make = rosbag2.typestore().types
    (m,), place, six = _marks([1, 3, 6])
    body = make["geometry_msgs/msg/Inertia"](m, make["geometry_msgs/msg/Vector3"](*place), *six)
    return _repeated(INERTIA, _stamped(frame, inertia=body), stamp_ns, [mass[:, None], com, inertia])


def wrenches(frame: str, stamp_ns: Nanoseconds, wrench: FloatArray) -> Rows:
    """geometry_msgs/WrenchStamped in `frame`: (N, 6), N and N m, force first."""
    make = rosbag2.typestore().types
    vector, (force, torque) = make["geometry_msgs/msg/Vector3"], _marks([3, 3])
    both = make["geometry_msgs/msg/Wrench"](force=vector(*force), torque=vector(*torque))
    return _repeated(WRENCH, _stamped(frame, wrench=both), stamp_ns, [wrench])


def multi_arrays(dimensions: Sequence[tuple[str, int, int]], values: FloatArray) -> Rows:
    """std_msgs/Float64MultiArray with `dimensions` of (label, size, stride); values (N, ...), as they lie in memory."""
    make = rosbag2.typestore().types
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    layout = make["std_msgs/msg/MultiArrayLayout"](
        dim=[make["std_msgs/msg/MultiArrayDimension"](*dimension) for dimension in dimensions], data_offset=0
    )
    return _repeated(MULTI_ARRAY, {"layout": layout, "data": _marks([flat.shape[1]])[0]}, None, [flat])


def _marks(widths: Sequence[int]) -> list[FloatArray]:
    """Numbers, all different, that stand for runs of these widths."""
    return np.split(1.2345678901234567e200 * (1.0 + np.arange(sum(widths))), np.cumsum(widths)[:-1])


def _stamped(frame: str, **content: Any) -> dict[str, Any]:
    """The fields of a message with a header."""
    make = rosbag2.typestore().types
    stamp = make["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
    return {"header": make["std_msgs/msg/Header"](stamp=stamp, frame_id=frame), **content}


def _repeated(kind: str, content: dict[str, Any], stamp_ns: Nanoseconds | None, columns: Sequence[FloatArray]) -> Rows:
    """The message once for each row of `columns`, with its stamp and its numbers."""
    types = rosbag2.typestore()
    message = bytes(types.serialize_cdr(types.types[kind](**content), kind, little_endian=True))
    rows = np.tile(np.frombuffer(message, dtype=np.uint8), (len(columns[0]), 1))
    if stamp_ns is not None:
        wrong = stamp_ns[(stamp_ns < 0) | (stamp_ns >= 2**31 * BILLION)]
        if len(wrong):
            raise ArgumentError(f"stamp: expected times from 0 to 2^31 s, got {1e-9 * wrong[0]:g} s")
        rows[:, STAMP] = np.column_stack(np.divmod(stamp_ns, BILLION)).astype("<u4").view(np.uint8)
    for mark, values in zip(_marks([values.shape[1] for values in columns]), columns, strict=True):
        place = message.rindex(mark.astype("<f8").tobytes())
        rows[:, place : place + 8 * len(mark)] = np.ascontiguousarray(values, dtype="<f8").view(np.uint8)
    return rows
