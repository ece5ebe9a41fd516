# SPDX-License-Identifier: Apache-2.0
"""A scene in a web page: the arm's frames and primitives as nodes of a viser server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.pose import matrix_to_quaternion
from panda_dynamics_ros.reporting.scene import Scene
from panda_dynamics_ros.reporting.scene.primitives import Label, Primitive
from panda_dynamics_ros.reporting.scene.tessellation import tessellate

UNSEEN, SAME_COLOUR = 0.003, 0.04  # m, and a share of a colour's channel: smaller changes are not sent


@dataclass
class _Shown:
    """A primitive that the page shows; the one whose corners and colour were `sent`; and viser's handle."""

    primitive: Primitive
    sent: Primitive
    handle: Any


class WebScene:
    """Keeps a viser server's scene equal to the one shown last; sends only what has changed.

    Each of the arm's frames is a node that moves, each primitive a child of its frame, which stays. Only labels are
    children of base: viser 1.1 leaves a text where it is when its parent moves.
    """

    def __init__(self, server: Any) -> None:
        self._scene = server.scene
        self._frames: dict[str, Any] = {}
        self._nodes: dict[str, _Shown] = {}
        self._hidden: set[str] = set()

    def show(self, scene: Scene) -> None:
        """Show this scene from now on."""
        moved: list[tuple[Any, FloatArray]] = []
        for name, T in scene.frames.items():
            if name not in self._frames:
                self._frames[name] = self._scene.add_frame(f"/{name}", show_axes=False)
            moved.append((self._frames[name], T))
        for primitive in scene.primitives:
            shown = self._nodes.get(primitive.name)
            if shown is None:
                shown = self._nodes[primitive.name] = _Shown(primitive, primitive, self._add(primitive))
                moves = True
            else:
                moves = shown.primitive is not primitive and not np.array_equal(shown.primitive.T, primitive.T)
                self._redraw(shown, primitive)
            if isinstance(primitive, Label):
                moved.append((shown.handle, scene.place(primitive)))
            elif moves:
                moved.append((shown.handle, primitive.T))
        for name in self._nodes.keys() - {primitive.name for primitive in scene.primitives}:
            self._nodes.pop(name).handle.remove()
        _place(moved)

    def set_visible(self, layer: str, visible: bool) -> None:
        """Show or hide a layer, now and later."""
        (self._hidden.discard if visible else self._hidden.add)(layer)
        for shown in self._nodes.values():
            if shown.primitive.layer == layer:
                shown.handle.visible = visible

    def _redraw(self, shown: _Shown, primitive: Primitive) -> None:
        """Send what can be seen to differ: a browser makes new geometries of corners, and new materials of colours."""
        sent, shown.primitive = shown.sent, primitive
        if sent is primitive:
            return
        handle = shown.handle
        if isinstance(primitive, Label):
            if not isinstance(sent, Label) or primitive.text != sent.text:
                handle.text, shown.sent = primitive.text, primitive
            return
        mesh, old = tessellate(primitive), tessellate(sent)
        same_faces = np.array_equal(mesh.faces, old.faces)
        moved = mesh.vertices.shape != old.vertices.shape or np.abs(mesh.vertices - old.vertices).max() > UNSEEN
        coloured = np.abs(np.subtract(primitive.colour, sent.colour)).max() > SAME_COLOUR
        if same_faces and not moved and not coloured:
            return
        shown.sent = primitive
        if not same_faces:
            handle.faces = mesh.faces.astype(np.uint32)
        if moved:
            handle.vertices = mesh.vertices.astype(np.float32)
        if coloured:
            handle.color, handle.opacity = _red_green_blue(primitive), _opacity(primitive)

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
