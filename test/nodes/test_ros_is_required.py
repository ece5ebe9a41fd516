# SPDX-License-Identifier: Apache-2.0
"""Without ROS 2 its tests are skipped and say so; where ROS 2 is required, that fails the session."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from panda_dynamics_ros import __file__ as package

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WITHOUT_RCLPY = "import sys; sys.modules['rclpy'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@pytest.mark.parametrize(("required", "code"), [("1", pytest.ExitCode.USAGE_ERROR), ("0", pytest.ExitCode.OK)])
def test_a_session_without_ros(required, code):
    path = os.pathsep.join([str(Path(package).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PANDA_REQUIRE_ROS": required, "PYTHONPATH": path}
    environment |= {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # only the tests named here
    tests = [str(HERE / "test_stopping.py"), str(HERE / "test_faults.py"), str(ROOT / "test" / "test_public_api.py")]
    command = [sys.executable, "-c", WITHOUT_RCLPY, "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120.0)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("2 skipped" in done.stdout) == (required == "0")
    assert "ROS 2 is not installed" in done.stdout + done.stderr
