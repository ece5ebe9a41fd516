# SPDX-License-Identifier: Apache-2.0
"""Which tests `make check` chooses."""

from __future__ import annotations

import pytest
from check import nearest

NAME = "panda_dynamics_ros"
SOURCES = {
    f"{NAME}/robot/urdf.py": "",
    f"{NAME}/dynamics/pose.py": f"from {NAME}.robot.urdf import read",
    f"{NAME}/live/state.py": f"from {NAME}.dynamics import pose\n",
    "test/arms.py": "",
    "test/robot/test_urdf.py": f"import pytest\nfrom {NAME}.robot import library, urdf",
    "test/robot/test_library.py": "",
    "test/dynamics/test_pose.py": "from arms import random",
    "test/live/test_state.py": "",
    "test/nodes/test_urdf_topic.py": f"from {NAME}.robot.urdf import read",
    "test/test_package.py": "",
}


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (
            f"{NAME}/robot/urdf.py",
            ["robot/test_urdf", "nodes/test_urdf_topic", "robot/test_library", "dynamics/test_pose"],
        ),
        (f"{NAME}/live/state.py", ["live/test_state"]),
        ("test/arms.py", ["dynamics/test_pose"]),
        ("test/live/test_state.py", ["live/test_state"]),
        ("setup.py", ["test_package"]),
    ],
)
def test_the_nearest_tests_come_first(changed: str, tests: list[str]) -> None:
    """Those that import what changed, those of its room, those of the rooms that import it."""
    found = nearest([changed], SOURCES)
    assert found[2:] == [f"test/{name}.py" for name in tests], "after those that always run"
