# SPDX-License-Identifier: Apache-2.0
"""The arm in RViz: markers of the dynamics node are where the model says, in the base frame, with no TF."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from nodes.robot_stream import Script, nanoseconds_of
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes.conversions import numbers_of
from panda_dynamics_ros.nodes.markers import SceneMarkers, marker_of, readable
from panda_dynamics_ros.pose import pose_to_matrix
from panda_dynamics_ros.reporting.scene import COM_DENSITY, Scene, arm_scene, wrench_primitives

# One sum and product of doubles more or less than in the library's own transform.
EXACT = 1e-12
SAMPLE = 400
NARROW = 1e-6 * np.eye(10), np.zeros(10, dtype=bool), "estimating"  # what an estimate has beside its vector
LAYOUT = Path(__file__).resolve().parents[2] / "config" / "panda_dynamics.rviz"


@pytest.fixture(scope="module")
def script(panda):
    return Script(panda, 0.5)


@pytest.fixture(scope="module")
def markers(probe, nodes, script):
    """What a subscriber sees of one sample."""
    nodes.start("dynamics")
    publisher = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    heard: list[Any] = probe.listen(MarkerArray, f"{nodes.namespace}/panda_dynamics/robot_markers")
    # A node finds its publishers one by one; the first samples may go unheard.
    probe.until(lambda: publisher.publish(script.message(SAMPLE)) or heard, "markers")
    return heard[-1].markers


def test_all_are_in_the_base_frame_with_the_samples_stamp(markers, script):
    assert {marker.header.frame_id for marker in markers} == {"panda_link0"}
    assert {nanoseconds_of(marker.header.stamp) for marker in markers} == {script.stamp(SAMPLE)}
    assert {marker.action for marker in markers} == {Marker.ADD}
    assert len({(marker.ns, marker.id) for marker in markers}) == len(markers)
    assert {marker.ns for marker in markers} == {"arm", "com", "ee", "gravity"}


def test_links_centres_of_mass_are_where_they_are(markers, script, panda):
    """In the order of the links; a ball has the link's mass."""
    balls = [marker for marker in markers if marker.ns == "com"]
    q = script.motion.q[SAMPLE]
    poses = [panda.pose(q, f"joint{i + 1}") for i in range(7)]
    expected = [T[:3, :3] @ link.com + T[:3, 3] for T, link in zip(poses, panda.links, strict=True)]
    found = [[getattr(ball.pose.position, axis) for axis in "xyz"] for ball in balls]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=EXACT)
    masses = [COM_DENSITY * np.pi / 6.0 * ball.scale.x**3 for ball in balls]
    np.testing.assert_allclose(masses, [link.mass for link in panda.links], rtol=1e-9)


def test_the_layout_for_rviz_opens_on_these_markers(markers, probe, nodes):
    """Its fixed frame is the markers' own, so that no TF is needed, and its topics are there."""
    layout = yaml.safe_load(LAYOUT.read_text(encoding="utf-8"))["Visualization Manager"]
    assert layout["Global Options"]["Fixed Frame"] == markers[0].header.frame_id
    (display,) = (each for each in layout["Displays"] if each["Enabled"] and each["Class"].endswith("/MarkerArray"))
    topics = dict(probe.node.get_topic_names_and_types())
    assert topics[f"{nodes.namespace}/{display['Topic']['Value']}"] == ["visualization_msgs/msg/MarkerArray"]
    shown = {layer for layer, visible in display["Namespaces"].items() if visible}
    assert {marker.ns for marker in markers} < shown
    assert {"payload", "contact"} < shown


def test_texts_can_be_read_from_the_layouts_camera(panda, rng):
    """In most random postures mass and force are within the picture, and no link, drive or ball is before them."""
    view = yaml.safe_load(LAYOUT.read_text(encoding="utf-8"))["Visualization Manager"]["Views"]["Current"]
    yaw, pitch, focus = view["Yaw"], view["Pitch"], np.array([view["Focal Point"][axis] for axis in "XYZ"])
    back = np.array([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)])
    camera, right = focus + view["Distance"] * back, np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    up, half = np.cross(back, right), np.tan(np.pi / 8.0)  # RViz's field of view is 45 degrees high, and 1.26 as wide
    carried, seen = PayloadEstimate(0.0, np.r_[1.0, 0.02, 0.0, 0.06, [0.01, 0, 0, 0.01, 0, 0.01]], *NARROW), []
    for q in rng.uniform(panda.limits.lower, panda.limits.upper, (200, 7)):
        if panda.pose(q, "flange")[2, 3] < 0.05:  # through the floor
            continue
        scene = arm_scene(panda, q, carried, rng.normal(0.0, 8.0, 6))
        found = readable(SceneMarkers().message(Header(), scene)).markers
        T = pose_to_matrix(*np.split(np.array([numbers_of(each.pose) for each in found]), [3], axis=1))
        solid = [k for k, each in enumerate(found) if each.ns in {"arm", "com", "gravity"}]
        sizes = np.array([(found[k].scale.x, found[k].scale.z * (found[k].type == Marker.CYLINDER)) for k in solid])
        for text in (k for k, each in enumerate(found) if each.type == Marker.TEXT_VIEW_FACING):
            width = 0.5 * found[text].scale.z * len(found[text].text)  # letters are half as wide as high
            places = T[text, :3, 3] + np.linspace(-0.5, 0.5, 9)[:, None] * width * right
            sight = places[:, None] + np.linspace(0.0, 0.7, 71)[:, None] * (camera - places)[:, None]
            local = sight[..., None, :] - T[solid, :3, 3]
            along = (local * T[solid, :3, 2]).sum(axis=-1)
            off = np.sqrt(np.maximum((local**2).sum(axis=-1) - along**2, 0.0))
            hidden = (np.hypot(off, np.maximum(np.abs(along) - 0.5 * sizes[:, 1], 0.0)) < 0.5 * sizes[:, 0]).any()
            at = places - camera
            within = (np.abs(at @ up) < half * -(at @ back)) & (np.abs(at @ right) < 1.26 * half * -(at @ back))
            seen.append((within.all(), hidden))
    within, hidden = np.mean(seen, axis=0)
    assert within > 0.95
    assert hidden < 0.2  # a quarter where they are not nearer than what they tell of


def test_markers_of_anybody_end_no_node(markers, probe, nodes, script):
    """Such as a payload's with an orientation that is none."""
    payloads = probe.publisher(MarkerArray, f"{nodes.namespace}/payload_estimator/payload_markers")
    samples = probe.publisher(JointState, f"{nodes.namespace}/joint_states")
    heard = probe.listen(MarkerArray, f"{nodes.namespace}/panda_dynamics/robot_markers")
    without, far = Marker(), Marker()
    without.pose.orientation.w, far.pose.position.x = 0.0, float("inf")
    for marker in (without, far):
        for _ in range(5):
            payloads.publish(MarkerArray(markers=[marker]))
            samples.publish(script.message(SAMPLE))
            probe.spin(0.15)
        heard.clear()
        probe.until(lambda: samples.publish(script.message(SAMPLE)) or heard, "markers")
        assert len(heard[-1].markers) == len(markers)


def test_what_a_scene_no_longer_shows_is_deleted_once(panda):
    arm = arm_scene(panda, np.zeros(7), wrench=[20.0, 0.0, 0.0, 0.0, 0.0, 3.0])
    bare = Scene(arm.frames, tuple(each for each in arm.primitives if each.layer != "contact"))
    drawn = SceneMarkers()
    first, second, third = (
        [(each.ns, each.id, each.action) for each in drawn.message(Header(), scene).markers]
        for scene in (arm, bare, bare)
    )
    contact = {(ns, number, Marker.DELETE) for ns, number, _ in first if ns == "contact"}
    assert len(contact) == 3
    assert set(second) - set(first) == contact
    assert set(third) == set(second) - contact


def test_an_arrow_and_a_text_have_scales_of_their_own():
    force, size, _ = (marker_of(each, 0) for each in wrench_primitives([20.0, 0.0, 0.0, 0.0, 0.0, 3.0], np.zeros(3)))
    assert (force.type, force.points[1].z, force.scale.x) == (Marker.ARROW, 0.3, 0.016)
    assert (force.scale.y, force.scale.z) == pytest.approx((0.0352, 0.04))  # of the head, in RViz
    assert (size.type, size.text, size.scale.z) == (Marker.TEXT_VIEW_FACING, "20 N", 0.045)
