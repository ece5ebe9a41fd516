# SPDX-License-Identifier: Apache-2.0
"""An arm with the meshes of its description: where they are, in which colour, and what happens where they are not."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.reporting.scene import ArmScene, Scene
from panda_dynamics_ros.reporting.scene.markers import MESH_RESOURCE, draw, split
from panda_dynamics_ros.reporting.scene.meshes import PANDA, mesh_primitives
from panda_dynamics_ros.reporting.scene.primitives import Capsule, MeshPart, Primitive
from panda_dynamics_ros.reporting.scene_picture import draw_scene
from panda_dynamics_ros.robot.description import rotation_from_rpy
from panda_dynamics_ros.robot.visual import data_folders

trimesh = pytest.importorskip("trimesh", reason="meshes need trimesh")

EDGES = (0.2, 0.1, 0.3)  # m
ORIGIN, RPY, SCALE = np.array([0.01, 0.02, 0.15]), np.array([0.1, -0.2, 0.3]), np.array([1.0, 2.0, 0.5])
EXACT = 1e-9  # OBJ has 8 digits
URDF = """<robot name="arm">
<material name="orange"><color rgba="1 0.5 0 1"/></material>
<link name="base"><visual><geometry><mesh filename="URI"/></geometry></visual></link>
<link name="upper"><inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<visual><origin xyz="0.01 0.02 0.15" rpy="0.1 -0.2 0.3"/><geometry><mesh filename="URI" scale="1 2 0.5"/></geometry>
<material name="orange"/></visual></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.4"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="2" effort="50"/></joint>
</robot>"""


def described(folder: Path, uri: str, ending: str = "obj") -> pdr.RobotModel:
    """An arm whose two links are drawn by one box, in a package as ROS has them."""
    meshes, urdf = folder / "ws" / "cell" / "meshes", folder / "ws" / "cell" / "urdf" / "arm.urdf"
    meshes.mkdir(parents=True)
    urdf.parent.mkdir()
    trimesh.creation.box(EDGES).export(meshes / f"box.{ending}")
    urdf.write_text(URDF.replace("URI", uri.replace("FOLDER", str(meshes))))
    return pdr.load_robot(urdf)


def corners(scene: Scene, primitive: Primitive) -> np.ndarray:
    """In base, each once."""
    assert isinstance(primitive, MeshPart)
    T = scene.place(primitive)
    return np.unique(np.round(primitive.mesh.vertices @ T[:3, :3].T + T[:3, 3], 7), axis=0)


@pytest.mark.parametrize(
    ("uri", "ending"),
    [("package://cell/meshes/box.", "obj"), ("../meshes/box.", "stl"), ("file://FOLDER/box.", "dae")],
)
def test_each_mesh_is_where_the_description_puts_it(uri: str, ending: str, tmp_path: Path) -> None:
    if ending == "dae":
        pytest.importorskip("collada", reason="COLLADA needs pycollada")
    robot = described(tmp_path, uri + ending, ending)
    scene = ArmScene(robot).at([0.7])
    of_base, of_upper = (each for each in scene.primitives if isinstance(each, MeshPart))
    box = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5 * np.array(EDGES)
    np.testing.assert_allclose(corners(scene, of_base), np.unique(box, axis=0), atol=1e-6)
    R = rotation_from_rpy(np.array([0.0, 0.7, 0.0]))
    placed = ((box * SCALE) @ rotation_from_rpy(RPY).T + ORIGIN) @ R.T + np.array([0.0, 0.0, 0.4])
    np.testing.assert_allclose(corners(scene, of_upper), np.unique(np.round(placed, 7), axis=0), atol=2e-6)
    assert of_upper.colour == (1.0, 0.5, 0.0, 1.0)
    assert not any(isinstance(each, Capsule) for each in scene.primitives)
    assert draw_scene(scene, tmp_path / "scene.png").stat().st_size > 10_000


def test_rviz_reads_the_file_itself(tmp_path: Path) -> None:
    robot = described(tmp_path, "package://cell/meshes/box.obj")
    (first, second) = mesh_primitives(robot)
    (part,) = split(second)
    drawing = draw(part)
    assert (drawing.kind, drawing.scale) == (MESH_RESOURCE, tuple(SCALE))
    assert drawing.uri == (tmp_path / "ws/cell/meshes/box.obj").as_uri()
    assert split(MeshPart("arm/x", "base", first.T, first.colour, second.mesh, "", SCALE)) == ()  # type: ignore[attr-defined]


def test_a_published_description_keeps_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RViz may run on another machine, on which the package lies elsewhere."""
    described(tmp_path, "package://cell/meshes/box.obj")
    (tmp_path / "share").symlink_to(tmp_path / "ws")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    robot = pdr.load_robot(URDF.replace("URI", "package://cell/meshes/box.obj"))
    assert [draw(each).uri for each in mesh_primitives(robot)] == ["package://cell/meshes/box.obj"] * 2


@pytest.mark.parametrize(
    ("uri", "content", "words"),
    [
        # No address, a name that no file can have, an escape sequence that a terminal would obey.
        ("package://[", None, r"'package://\[': this mesh is not to be found"),
        ("m" * 300 + ".stl", None, "not to be found"),
        ("package://cell/%00%1b[2J.stl", None, "not to be found"),
        ("http://example.org/box.obj", None, "not to be found"),
        ("../meshes/broken.stl", b"solid but not really", "broken.stl: not read"),
        ("../meshes/huge.stl", b"huge", "huge.stl: not read .expected at most 52428800 bytes, got 52428801"),
    ],
)
def test_without_its_meshes_the_arm_is_drawn_from_its_model(
    uri: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    robot = described(tmp_path, uri)
    if content is not None:
        (tmp_path / "ws" / "cell" / "meshes" / Path(uri).name).write_bytes(content)
    if content == b"huge":
        os.truncate(tmp_path / "ws" / "cell" / "meshes" / "huge.stl", (50 << 20) + 1)  # takes no room on the disk
    with pytest.warns(UserWarning, match=words):
        scene = ArmScene(robot).at([0.0])
    assert any(isinstance(each, Capsule) for each in scene.primitives)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert any(isinstance(each, Capsule) for each in ArmScene(robot, meshes=False).at([0.0]).primitives)


MJCF = """<mujoco>
<asset><mesh name="wedge" vertex="0 0 0  0.3 0 0  0 0.2 0  0 0 0.1"/><material name="red" rgba="1 0 0 1"/></asset>
<worldbody><geom type="mesh" mesh="wedge" rgba="0 1 0 1"/>
<body name="a" pos="0.1 0.2 0.3" euler="10 20 30"><joint name="j" axis="1 2 3" pos="0.05 0 0.1" range="-90 90"/>
<geom type="mesh" mesh="wedge" pos="0.1 0 0.2" euler="5 -40 60" material="red" mass="1"/>
<geom type="mesh" mesh="wedge" group="3" mass="1"/></body></worldbody></mujoco>"""


def test_meshes_of_mjcf_are_where_mujoco_has_them(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = pdr.load_robot(tmp_path / "arm.xml")
    model = mujoco.MjModel.from_xml_string(MJCF)
    state = mujoco.MjData(model)
    state.qpos[:] = 0.6
    mujoco.mj_forward(model, state)
    scene = ArmScene(robot).at([0.6])
    parts = [each for each in scene.primitives if isinstance(each, MeshPart)]
    assert [part.colour for part in parts] == [(0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 1.0)]  # and none for collisions
    for geom, part in enumerate(parts):
        wanted = model.mesh_vert @ state.geom_xmat[geom].reshape(3, 3).T + state.geom_xpos[geom]
        # MuJoCo's vertices have single precision.
        np.testing.assert_allclose(corners(scene, part), np.unique(np.round(wanted, 7), axis=0), atol=1e-6)


@pytest.mark.parametrize("name", ["panda", "fr3"])
def test_the_pandas_meshes_are_around_its_links(name: str, panda: pdr.RobotModel) -> None:
    """Of the package example-robot-data, where it is installed: as far from the joints as a Panda's housings are."""
    if not any((folder / PANDA).is_file() for folder in data_folders()):
        pytest.skip("example-robot-data is not installed")
    robot = pdr.load_robot(name)
    parts = mesh_primitives(robot)
    assert {part.frame for part in parts} == {"base", *(f"joint{i}" for i in range(1, 8))}
    scene = ArmScene(robot).at(np.array([0.0, -0.4, 0.1, -2.0, 0.2, 1.7, 0.6]))
    points = np.concatenate([corners(scene, part) for part in parts])
    assert points[:, 2].min() == pytest.approx(0.0, abs=0.005)  # it stands on the floor
    flange = scene.frames["flange"][:3, 3]
    assert np.linalg.norm(points - flange, axis=1).min() < 0.05
    with_hand = mesh_primitives(pdr.load_robot(name, end_effector="hand"))
    assert len(with_hand) > len(parts)
