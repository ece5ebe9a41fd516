# SPDX-License-Identifier: Apache-2.0
"""franka.launch.py: the whole suite on a Panda of the loopback, and on one that is not there."""

from franka_servers import host, needs, panda
from launched import installed, launched


def test_a_robot_is_read_by_its_address(prefix, tmp_path):
    needs("panda_py")
    arguments = {"robot_ip": host(0), "binding": "panda-python", "namespace": "right", "one_process": "true"}
    with panda(host(0), tmp_path), launched(prefix, installed(prefix, "franka"), **arguments) as robot:
        robot.until(rf"right\.franka_state\]: reading {host(0)} by panda-python")
        robot.until(r"right\.panda_dynamics\]: listening to joints panda_joint1")
    assert robot.process.returncode == 0, robot.text
    assert robot.finished_cleanly() == {"suite", "franka_state"}, robot.text
    with launched(prefix, installed(prefix, "franka"), robot_ip=host(1)) as nobody:
        nobody.ended()
    assert nobody.process.returncode == 1, nobody.text
    assert "the robot refuses connections" in nobody.text
