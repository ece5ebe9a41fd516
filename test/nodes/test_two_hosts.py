# SPDX-License-Identifier: Apache-2.0
"""The arm's computer and another one: two network namespaces with a cable between them, and DDS over it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodes.processes import Nodes

# Runs beside the arm: waits until the other host says what is carried, and what gravity does.
LISTENER = """
import sys, time, rclpy
from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("listener")
masses, torques = [], []
space = sys.argv[1]
node.create_subscription(InertiaStamped, f"{space}/payload_estimator/payload", lambda m: masses.append(m.inertia.m), 10)
node.create_subscription(JointState, f"{space}/panda_dynamics/gravity_torques", torques.append, 10)
end = time.monotonic() + 90.0
while time.monotonic() < end and not (torques and masses and abs(masses[-1] - 1.0) < 0.2):
    rclpy.spin_once(node, timeout_sec=0.1)
print(len(torques) > 0, masses[-1:])
"""


class Host:
    """A network namespace of its own: no way out but the cable."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        self.prefix = ("ip", "netns", "exec", name)

    def connect(self, cable: str) -> None:
        """Put an end of a cable in, and bring it up."""
        ip("link", "set", cable, "netns", self.name)
        ip("-n", self.name, "address", "add", f"{self.address}/24", "dev", cable)
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "link", "set", cable, "up")
        ip("-n", self.name, "route", "add", "224.0.0.0/4", "dev", cable)  # discovery is multicast

    def remove(self) -> None:
        """With all that still runs in it, and its end of the cable; nothing happens where it was not made."""
        found = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=False)
        for pid in found.stdout.split():
            subprocess.run(["kill", "-9", pid], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.name], check=False, capture_output=True)


def ip(*arguments: str) -> None:
    """An `ip` command; skips the test where it is not permitted."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[Host, Host]]:
    """Two hosts, 192.0.2.1 and 192.0.2.2 (RFC 5737: addresses for examples)."""
    if shutil.which("ip") is None:
        pytest.skip("there is no `ip` command (iproute2)")
    number = os.getpid()
    pair = Host(f"panda-arm-{number}", "192.0.2.1"), Host(f"panda-pc-{number}", "192.0.2.2")
    ends = (f"pda{number}", f"pdb{number}")
    try:
        for host in pair:
            ip("netns", "add", host.name)
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for host, end in zip(pair, ends, strict=True):
            host.connect(end)
        yield pair
    finally:
        for host in pair:
            host.remove()
        # Where it never got into a namespace.
        subprocess.run(["ip", "link", "delete", ends[0]], check=False, capture_output=True)


def test_the_payload_is_known_on_the_arms_host_from_nodes_on_another(hosts: tuple[Host, Host], tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="the simulated Panda needs MuJoCo")
    arm_host, other_host = hosts
    # Of two hosts the shared memory would be two; these have one.
    subnet = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
    arm = Nodes("two_hosts", tmp_path / "arm", arm_host.prefix, subnet)
    other = Nodes("two_hosts", tmp_path / "other", other_host.prefix, subnet)
    try:
        arm.start("simulated_panda", pick_at_s=0.0, release_at_s=-1.0, cycle_s=0.0, payload_mass_kg=1.0)
        other.start("dynamics")
        other.start("payload_estimator")
        command = [*arm_host.prefix, sys.executable, "-c", LISTENER, arm.namespace]
        heard = subprocess.run(command, env=arm.environment, capture_output=True, text=True, timeout=120.0)
    finally:
        codes = {**arm.stop(), **other.stop()}
    logs = arm.logs() + other.logs()
    assert heard.returncode == 0, heard.stderr
    torques, _, mass = heard.stdout.strip().partition(" ")
    assert torques == "True", logs
    # As the listener waited for: the simulated arm's torques are off as much as a real one's.
    assert float(mass.strip("[]") or "nan") == pytest.approx(1.0, abs=0.2), logs
    assert codes == {"simulated_panda": 0, "dynamics": 0, "payload_estimator": 0}, logs
    assert "Traceback" not in logs
