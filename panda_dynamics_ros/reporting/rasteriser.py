# SPDX-License-Identifier: Apache-2.0
"""Triangles as pixels: a perspective camera and a depth buffer, on the processor, with no OpenGL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.vectors import compiled

NEAR = 0.05  # m: what comes nearer to the eye, or is behind it, is not drawn
OVERSAMPLING = 2  # pixels across one of the result


@dataclass(frozen=True, eq=False)
class Camera:
    """Looks from `eye` to `target` (3,), m, z up; `view_angle`, rad, over the picture's height."""

    eye: FloatArray
    target: FloatArray
    view_angle: float
    width: int
    height: int

    def project(self, points: FloatArray) -> FloatArray:
        """Points (..., 3) as (..., 3): pixels to the right and down, and nearness, 1/m, which is linear in both."""
        back = self.eye - self.target
        back = back / np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        right /= np.linalg.norm(right)
        seen = (points - self.eye) @ np.column_stack((right, np.cross(back, right), -back))
        nearness = 1.0 / np.maximum(seen[..., 2], NEAR)
        scale = 0.5 * self.height / np.tan(0.5 * self.view_angle) * nearness
        x = 0.5 * self.width + scale * seen[..., 0]
        y = 0.5 * self.height - scale * seen[..., 1]
        return np.stack((x, y, nearness), axis=-1)


@compiled
def rasterise(corners, colours, image, depth):
    """Draw triangles (N, 3, 3) of pixels and nearness in this order into an image (H, W, 3), in place.

    Pineda, "A parallel algorithm for polygon rasterization", SIGGRAPH 1988: a pixel is inside where the three edge
    functions are of one sign; their values weigh the corners. Of opaque triangles the nearest is seen; triangles with
    opacity < 1 are mixed with what lies behind them. Faces seen from their back are left out.
    """
    height, width = depth.shape
    for k in range(corners.shape[0]):
        (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = corners[k]
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if area >= 0.0:  # y points down: counter-clockwise faces have a negative area
            continue
        opacity = colours[k, 3]
        for row in range(max(0, int(min(y0, y1, y2))), min(height, int(max(y0, y1, y2)) + 1)):
            for column in range(max(0, int(min(x0, x1, x2))), min(width, int(max(x0, x1, x2)) + 1)):
                x, y = column + 0.5, row + 0.5
                w0 = ((x1 - x) * (y2 - y) - (x2 - x) * (y1 - y)) / area
                w1 = ((x2 - x) * (y0 - y) - (x0 - x) * (y2 - y)) / area
                w2 = 1.0 - w0 - w1
                if w0 < 0.0 or w1 < 0.0 or w2 < 0.0:
                    continue
                nearness = w0 * z0 + w1 * z1 + w2 * z2
                if nearness <= depth[row, column]:
                    continue
                for channel in range(3):
                    image[row, column, channel] += opacity * (colours[k, channel] - image[row, column, channel])
                if opacity == 1.0:
                    depth[row, column] = nearness


def render(camera: Camera, triangles: FloatArray, colours: FloatArray, ground: FloatArray) -> NDArray[np.uint8]:
    """A picture (height, width, 3) of triangles.

    Parameters
    ----------
    triangles: (N, 3, 3), m, corners counter-clockwise as seen from outside.
    colours: (N, 4), red, green, blue and opacity in [0, 1].
    ground: (3,), colour where there is nothing.
    """
    fine = Camera(
        camera.eye, camera.target, camera.view_angle, OVERSAMPLING * camera.width, OVERSAMPLING * camera.height
    )
    corners = fine.project(triangles)
    in_front = (corners[..., 2] < 1.0 / NEAR).all(axis=1)
    corners, colours = corners[in_front], colours[in_front]
    image = np.tile(ground, (fine.height, fine.width, 1))
    depth = np.zeros((fine.height, fine.width))
    opaque = colours[:, 3] == 1.0
    rasterise(np.ascontiguousarray(corners[opaque]), np.ascontiguousarray(colours[opaque]), image, depth)
    clear = np.flatnonzero(~opaque)
    clear = clear[np.argsort(corners[clear, :, 2].mean(axis=1))]  # from the farthest to the nearest
    rasterise(np.ascontiguousarray(corners[clear]), np.ascontiguousarray(colours[clear]), image, depth)
    blocks = image.reshape(camera.height, OVERSAMPLING, camera.width, OVERSAMPLING, 3)
    return np.round(255.0 * blocks.mean(axis=(1, 3)).clip(0.0, 1.0)).astype(np.uint8)
