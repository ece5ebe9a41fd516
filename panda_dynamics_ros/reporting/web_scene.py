# SPDX-License-Identifier: Apache-2.0
"""A scene in a web page: the arm's frames and primitives as nodes of a viser server."""

from __future__ import annotations

from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.scene import Scene
from panda_dynamics_ros.scene.primitives import Label, Primitive
from panda_dynamics_ros.scene.tessellation import tessellate


class WebScene:
    """Keeps a viser server's scene equal to the one shown last; sends only what has changed.

    Each of the arm's frames is a node that moves, each primitive a child of its frame, which stays. Only labels are
    children of base: viser 1.1 leaves a text where it is when its parent moves.
    """

    def __init__(self, server: Any) -> None:
        self._scene = server.scene
        self._frames: dict[str, Any] = {}
        self._nodes: dict[str, tuple[Primitive, Any]] = {}
        self._hidden: set[str] = set()

    def show(self, scene: Scene) -> None:
        """Show this scene from now on."""
        moved: list[tuple[Any, FloatArray]] = []
        for name, T in scene.frames.items():
            if name not in self._frames:
                self._frames[name] = self._scene.add_frame(f"/{name}", show_axes=False)
            moved.append((self._frames[name], T))
        for primitive in scene.primitives:
            before, handle = self._nodes.get(primitive.name, (None, None))
            if before is not primitive:
                handle = self._redraw(handle, primitive) if handle is not None else self._add(primitive)
                self._nodes[primitive.name] = primitive, handle
            if isinstance(primitive, Label):
                moved.append((handle, scene.place(primitive)))
            elif before is None or (before is not primitive and not np.array_equal(before.T, primitive.T)):
                moved.append((handle, primitive.T))
        for name in self._nodes.keys() - {primitive.name for primitive in scene.primitives}:
            self._nodes.pop(name)[1].remove()
        _place(moved)

    def set_visible(self, layer: str, visible: bool) -> None:
        """Show or hide a layer, now and later."""
        (self._hidden.discard if visible else self._hidden.add)(layer)
        for primitive, handle in self._nodes.values():
            if primitive.layer == layer:
                handle.visible = visible

    def _redraw(self, handle: Any, primitive: Primitive) -> Any:
        if isinstance(primitive, Label):
            handle.text = primitive.text
        else:
            mesh = tessellate(primitive)
            handle.vertices, handle.faces = mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32)
            handle.color, handle.opacity = _red_green_blue(primitive), _opacity(primitive)
        return handle

    def _add(self, primitive: Primitive) -> Any:
        path, visible = f"/{primitive.frame}/{primitive.name}", primitive.layer not in self._hidden
        if isinstance(primitive, Label):
            return self._scene.add_label(
                f"/labels/{primitive.name}", primitive.text, anchor="center-center", visible=visible
            )
        mesh = tessellate(primitive)
        return self._scene.add_mesh_simple(
            path,
            mesh.vertices,
            mesh.faces,
            color=_red_green_blue(primitive),
            opacity=_opacity(primitive),
            cast_shadow=_opacity(primitive) is None,
            visible=visible,
        )


def _place(moved: list[tuple[Any, FloatArray]]) -> None:
    """Put each node at T (4, 4) in its parent."""
    T = np.array([T for _, T in moved])
    for (handle, _), position, (x, y, z, w) in zip(
        moved, T[:, :3, 3], matrix_to_quaternion(T[:, :3, :3]).tolist(), strict=True
    ):
        handle.position, handle.wxyz = position, (w, x, y, z)


def _red_green_blue(primitive: Primitive) -> tuple[int, int, int]:
    red, green, blue = (round(255.0 * channel) for channel in primitive.colour[:3])
    return red, green, blue


def _opacity(primitive: Primitive) -> float | None:
    return primitive.colour[3] if primitive.colour[3] < 1.0 else None
