# SPDX-License-Identifier: Apache-2.0
"""The payload in RViz: its centre of mass, how uncertain that is, and the box of equal inertia."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Vector3
from visualization_msgs.msg import Marker, MarkerArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes import conversions
from panda_dynamics_ros.pose import matrix_to_quaternion

SMALLEST, LARGEST = 0.005, 1.0  # m, of anything drawn


def equivalent_box(inertia: FloatArray, mass: float) -> tuple[FloatArray, FloatArray]:
    """Axes (3, 3) and edge lengths (3,), m, of the homogeneous box with this mass and inertia about its centre.

    With principal second moments s = tr(I)/2 - I_k the edges are sqrt(12 s / m).
    """
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    second = 0.5 * moments.sum() - moments
    return axes, np.clip(np.sqrt(12.0 * np.maximum(second, 0.0) / mass), SMALLEST, LARGEST)


def payload_markers(estimate: PayloadEstimate, frame: str) -> MarkerArray:
    """Markers of an estimate in `frame`, the flange: CoM, its two-sigma ball, equivalent box, mass as text.

    Where nothing is carried, the markers are deleted.
    """
    if estimate.mass < 2.0 * estimate.std[0] or estimate.mass < 0.05:
        return MarkerArray(markers=[_marker(estimate, frame, number, Marker.DELETE) for number in range(4)])
    axes, edges = equivalent_box(estimate.inertia, estimate.mass)
    com = _marker(estimate, frame, 0, kind=Marker.SPHERE, size=[0.02] * 3, colour=(0.9, 0.2, 0.1, 1.0))
    ball = np.clip(4.0 * estimate.com_std, SMALLEST, LARGEST)
    doubt = _marker(estimate, frame, 1, kind=Marker.SPHERE, size=ball, colour=(0.9, 0.5, 0.1, 0.25))
    box = _marker(estimate, frame, 2, kind=Marker.CUBE, size=edges, colour=(0.2, 0.5, 0.9, 0.35))
    orientation = box.pose.orientation
    orientation.x, orientation.y, orientation.z, orientation.w = matrix_to_quaternion(axes).tolist()
    text = _marker(estimate, frame, 3, kind=Marker.TEXT_VIEW_FACING, size=[0.0, 0.0, 0.04], colour=(1.0, 1.0, 1.0, 1.0))
    text.pose.position.z += 0.08
    text.text = f"{estimate.mass:.2f} ± {2.0 * estimate.std[0]:.2f} kg"
    return MarkerArray(markers=[com, doubt, box, text])


def _marker(
    estimate: PayloadEstimate,
    frame: str,
    number: int,
    action: int = Marker.ADD,
    kind: int = Marker.SPHERE,
    size: FloatArray | list[float] | None = None,
    colour: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
) -> Marker:
    marker = Marker(ns="payload", id=number, type=kind, action=action, lifetime=Duration(sec=2))
    marker.header.stamp = conversions.time_message(max(estimate.stamp, 0.0))
    marker.header.frame_id = frame
    marker.pose.position.x, marker.pose.position.y, marker.pose.position.z = estimate.com.tolist()
    marker.pose.orientation.w = 1.0
    if size is not None:
        marker.scale = Vector3(x=float(size[0]), y=float(size[1]), z=float(size[2]))
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
    return marker
