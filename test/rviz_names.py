# SPDX-License-Identifier: Apache-2.0
"""Makes test/rviz_names.yaml, the class and property names that RViz knows, from a checkout of github.com/ros2/rviz.

python test/rviz_names.py CHECKOUT > test/rviz_names.yaml
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import yaml

PROPERTY = re.compile(r'(?:Property|->setName)\(\s*"([^"]+)"')
CONFIG = re.compile(r'map(?:Set|Get|Make)\w+\(\s*"([^"]+)"')
BUILT_IN = re.compile(r'addBuiltInClass\(\s*"(\w+)",\s*"([^"]+)"')
# Where RViz's own sources of a class are, beside the one that has its name.
FOLDERS = {
    "MarkerArray": ("displays/marker_array", "displays/marker"),
    "Grid": ("displays/grid",),
    "RobotModel": ("displays/robot_model", "robot"),
    "PoseWithCovariance": ("displays/pose_covariance",),
    "Pose": ("displays/pose",),
    "Orbit": ("view_controllers/orbit",),
    "MoveCamera": ("tools/move",),
    "FocusCamera": ("tools/focus",),
}


def matches(pattern: re.Pattern[str], folders: Iterable[Path]) -> list[str]:
    """All first groups of a pattern in the C++ files of folders, in order."""
    files = (file for folder in folders for kind in ("*.cpp", "*.hpp") for file in folder.rglob(kind))
    found = {name for file in files for name in pattern.findall(file.read_text(encoding="utf-8"))}
    return sorted(name for name in found if name == name.strip())


def main(checkout: Path) -> None:
    common = [checkout / "rviz_common" / each for each in ("src", "include")]
    plugins = checkout / "rviz_default_plugins" / "src" / "rviz_default_plugins"
    description = (checkout / "rviz_default_plugins" / "plugins_description.xml").read_text(encoding="utf-8")
    built_in = ["/".join(each) for each in BUILT_IN.findall((common[0] / "rviz_common/panel_factory.cpp").read_text())]
    properties = matches(PROPERTY, common)
    # Whatever was made of rviz_common's own properties or configuration may be in any part of a layout.
    content = {
        "classes": sorted({*re.findall(r'name="(rviz_default_plugins/\w+)"', description), *built_in}),
        "common": sorted({*properties, *matches(CONFIG, common)}),
        "properties": {
            f"rviz_default_plugins/{name}": matches(PROPERTY, [plugins / folder for folder in folders])
            for name, folders in FOLDERS.items()
        },
    }
    print("# Made by test/rviz_names.py from RViz's source, branch jazzy.")
    yaml.safe_dump(content, sys.stdout, width=118, default_flow_style=None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
