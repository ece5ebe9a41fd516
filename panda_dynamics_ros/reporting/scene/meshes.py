# SPDX-License-Identifier: Apache-2.0
"""The arm as its description draws it: meshes of URDF files, read by trimesh, and those that MuJoCo has of MJCF.

Of an arm of the library, and of one that was identified, the Panda of the package example-robot-data is drawn, where it
is installed (extra `meshes`): the FR3 has the same links.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from panda_dynamics_ros.errors import PandaDynamicsError
from panda_dynamics_ros.reporting.scene.primitives import Colour, Mesh, MeshPart, Primitive
from panda_dynamics_ros.robot import RobotDescription, read_robot
from panda_dynamics_ros.robot.visual import Visual, data_folders

PLAIN: Colour = (0.82, 0.84, 0.87, 1.0)  # of a mesh that has no colour
PANDA = Path("example-robot-data", "robots", "panda_description", "urdf", "panda.urdf")
SAME = 1e-4  # m, rad: placements of two files of one arm differ by their rounding
LARGEST = 50 << 20  # bytes; the largest mesh of a Panda has 1.7 MB
HAND = ("hand", "finger")
Pieces = tuple[tuple[Mesh, Colour | None], ...]


def mesh_primitives(robot: RobotDescription) -> tuple[Primitive, ...]:
    """The arm's meshes, one primitive for each material of each; none where they cannot all be had.

    Layer `arm`. A description without meshes has none, and nothing is said; a file that is missing or cannot be read is
    named in a warning.
    """
    visuals = robot.visuals or _of_the_panda(robot)
    if find_spec("trimesh") is None and any(each.triangles is None for each in visuals):
        return ()
    primitives: list[Primitive] = []
    for number, visual in enumerate(visuals):
        if visual.triangles is not None:
            mesh, colour = Mesh(*visual.triangles), visual.colour or PLAIN
            primitives.append(MeshPart(f"arm/mesh{number}", visual.frame, visual.T, colour, mesh, "", visual.scale))
            continue
        file = visual.file()
        if file is None:
            words = "this mesh is not to be found; the arm is drawn from its model"
            warnings.warn(f"{visual.uri!r:.200}: {words}", stacklevel=2)
            return ()
        try:
            pieces = _pieces(file)
        except Exception as error:  # readers of a dozen formats, each with errors of its own
            reason = " ".join(str(error).split())[:200]
            warnings.warn(f"{file}: not read ({reason}); the arm is drawn from its model", stacklevel=2)
            return ()
        primitives += _primitives(visual, file, pieces, f"arm/mesh{number}")
    return tuple(primitives)


def _primitives(visual: Visual, file: Path, pieces: Pieces, name: str) -> list[MeshPart]:
    # Of a description that ROS has published, RViz finds the packages itself, on whatever machine it runs.
    published = visual.folder is None and visual.uri.startswith("package://")
    uri = visual.uri if published else file.resolve().as_uri()
    return [
        MeshPart(
            f"{name}.{k}",
            visual.frame,
            visual.T,
            visual.colour or colour or PLAIN,
            Mesh(mesh.vertices * visual.scale, mesh.faces),
            uri if k == 0 else "",
            visual.scale,
        )
        for k, (mesh, colour) in enumerate(pieces)
    ]


@cache
def _pieces(file: Path) -> Pieces:
    """Triangles of a file by their material, in its own coordinates, with its colour."""
    import trimesh

    if file.stat().st_size > LARGEST:
        raise ValueError(f"expected at most {LARGEST} bytes, got {file.stat().st_size}")
    scene = trimesh.load_scene(file, process=False)
    found: list[tuple[Mesh, Colour | None]] = []
    for node in scene.graph.nodes_geometry:
        T, name = scene.graph[node]
        body = scene.geometry[name]
        if isinstance(body, trimesh.Trimesh) and len(body.faces):
            vertices = np.asarray(body.vertices, dtype=float) @ T[:3, :3].T + T[:3, 3]
            found.append((Mesh(vertices, np.asarray(body.faces, dtype=np.int64)), _colour(body)))
    if not found:
        raise ValueError("expected triangles, got none")
    return tuple(found)


def _colour(body: object) -> Colour | None:
    """Of a mesh's material; None where the file states none."""
    visual = getattr(body, "visual", None)
    material = getattr(visual, "material", None)
    if material is not None:
        given = getattr(material, "main_color", None)
    else:
        given = getattr(visual, "main_color", None) if getattr(visual, "defined", False) else None
    if given is None or len(given) < 3:
        return None
    red, green, blue = (float(channel) / 255.0 for channel in given[:3])
    return red, green, blue, 1.0


def _of_the_panda(robot: RobotDescription) -> tuple[Visual, ...]:
    """The meshes of a Panda, if the arm has its links; with the hand, if the arm has an end effector."""
    file = next((folder / PANDA for folder in data_folders() if (folder / PANDA).is_file()), None)
    if robot.n != 7 or file is None:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its fingers, which do not matter here
            panda = read_robot(file, RobotDescription)
    except PandaDynamicsError:
        return ()
    if not np.allclose(panda.placements, robot.placements, atol=SAME):
        return ()
    bare = np.allclose(robot.T_flange_ee, np.eye(4))
    return tuple(each for each in panda.visuals if not (bare and Path(each.uri).stem.startswith(HAND)))
