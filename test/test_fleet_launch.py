# SPDX-License-Identifier: Apache-2.0
"""The launch file of several arms, and the file that lists them."""

import re
from pathlib import Path

import pytest
import yaml
from launched import installed, installed_package, launched


@pytest.mark.ros
def test_a_fleet_has_a_process_for_each_arm(tmp_path):
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    prefix = installed_package(tmp_path / "install")
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("arms:\n- {namespace: left, robot: fr3, mounting: [0, 0, 0.5]}\n- {namespace: right}\n")
    with launched(prefix, installed(prefix, "fleet"), arms=fleet, robot="panda") as arms:
        for namespace in ("left", "right"):
            for node in ("panda_dynamics", "payload_estimator"):
                arms.until(rf"\[{namespace}\.{node}\]: ready")
    assert arms.process.returncode == 0, arms.text
    assert len(re.findall("process has finished cleanly", arms.text)) == 2, arms.text


def test_rviz_has_a_display_for_each_arm_of_a_fleet():
    """On the topics that the nodes publish in their namespaces; everything else is as for one arm."""
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    from panda_dynamics_ros.nodes.launching import fleet_layout

    file = Path(__file__).resolve().parents[1] / "config" / "panda_dynamics.rviz"
    layout = yaml.safe_load(Path(fleet_layout(str(file), ["left", "/cell/right/"])).read_text(encoding="utf-8"))
    displays = {each["Name"]: each for each in layout["Visualization Manager"]["Displays"]}
    topics = {name: each["Topic"]["Value"] for name, each in displays.items() if "Topic" in each}
    assert topics == {
        "Arm left": "/left/panda_dynamics/robot_markers",
        "Arm cell/right": "/cell/right/panda_dynamics/robot_markers",
    }
    assert all(displays[name]["Enabled"] for name in topics)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("arms: []", "namespaces"),
        ("arms:\n- {robot: fr3}", "namespaces"),
        ("arms:\n- {namespace: a}\n- {namespace: /a/}", "namespaces"),
        ("arms:\n- {namespace: a, colour: red}", "unknown colour"),
        ("- a", "list indices"),
        ("arms: [a]", "no attribute"),
    ],
)
def test_a_wrong_fleet_is_refused(text, named, tmp_path):
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    from panda_dynamics_ros.nodes.launching import fleet_arms

    (tmp_path / "fleet.yaml").write_text(text)
    with pytest.raises(RuntimeError, match=named):
        fleet_arms(str(tmp_path / "fleet.yaml"), {"namespace", "robot"})
