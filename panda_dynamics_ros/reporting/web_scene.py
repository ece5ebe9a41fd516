# SPDX-License-Identifier: Apache-2.0
"""A scene in a web page: the arm's frames and shapes as nodes of a viser server."""

from __future__ import annotations

from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.scene import Scene
from panda_dynamics_ros.scene.shapes import Label, Shape
from panda_dynamics_ros.scene.tessellation import tessellate


class WebScene:
    """Keeps a viser server's scene equal to the one shown last; sends only what has changed.

    Each of the arm's frames is a node that moves, each shape a child of its frame, which stays. Only labels stand in
    base: viser 1.1 leaves a text where it is when its parent moves.
    """

    def __init__(self, server: Any) -> None:
        self._scene = server.scene
        self._frames: dict[str, Any] = {}
        self._nodes: dict[str, tuple[Shape, Any]] = {}
        self._hidden: set[str] = set()

    def show(self, scene: Scene) -> None:
        """Show this scene from now on."""
        moved: list[tuple[Any, FloatArray]] = []
        for name, T in scene.frames.items():
            if name not in self._frames:
                self._frames[name] = self._scene.add_frame(f"/{name}", show_axes=False)
            moved.append((self._frames[name], T))
        for shape in scene.shapes:
            before, handle = self._nodes.get(shape.name, (None, None))
            if before is not shape:
                handle = self._redraw(handle, shape) if handle is not None else self._add(shape)
                self._nodes[shape.name] = shape, handle
            if isinstance(shape, Label):
                moved.append((handle, scene.place(shape)))
            elif before is None or (before is not shape and not np.array_equal(before.T, shape.T)):
                moved.append((handle, shape.T))
        for name in self._nodes.keys() - {shape.name for shape in scene.shapes}:
            self._nodes.pop(name)[1].remove()
        _place(moved)

    def set_visible(self, layer: str, visible: bool) -> None:
        """Show or hide a layer, now and later."""
        (self._hidden.discard if visible else self._hidden.add)(layer)
        for shape, handle in self._nodes.values():
            if shape.layer == layer:
                handle.visible = visible

    def _redraw(self, handle: Any, shape: Shape) -> Any:
        if isinstance(shape, Label):
            handle.text = shape.text
        else:
            mesh = tessellate(shape)
            handle.vertices, handle.faces = mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32)
            handle.color, handle.opacity = _red_green_blue(shape), _opacity(shape)
        return handle

    def _add(self, shape: Shape) -> Any:
        path, visible = f"/{shape.frame}/{shape.name}", shape.layer not in self._hidden
        if isinstance(shape, Label):
            return self._scene.add_label(f"/labels/{shape.name}", shape.text, anchor="center-center", visible=visible)
        mesh = tessellate(shape)
        return self._scene.add_mesh_simple(
            path,
            mesh.vertices,
            mesh.faces,
            color=_red_green_blue(shape),
            opacity=_opacity(shape),
            cast_shadow=_opacity(shape) is None,
            visible=visible,
        )


def _place(moved: list[tuple[Any, FloatArray]]) -> None:
    """Put each node at T (4, 4) in its parent."""
    T = np.array([T for _, T in moved])
    for (handle, _), position, (x, y, z, w) in zip(
        moved, T[:, :3, 3], matrix_to_quaternion(T[:, :3, :3]).tolist(), strict=True
    ):
        handle.position, handle.wxyz = position, (w, x, y, z)


def _red_green_blue(shape: Shape) -> tuple[int, int, int]:
    red, green, blue = (round(255.0 * channel) for channel in shape.colour[:3])
    return red, green, blue


def _opacity(shape: Shape) -> float | None:
    return shape.colour[3] if shape.colour[3] < 1.0 else None
