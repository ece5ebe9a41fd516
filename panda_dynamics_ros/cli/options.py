# SPDX-License-Identifier: Apache-2.0
"""Options that several commands have."""

from __future__ import annotations

import argparse

ROBOTS = "panda, panda_ledezma, fr3, or a YAML or URDF file (default: panda)"


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add ROBOT, of a command that is about a robot."""
    parser.add_argument("robot", nargs="?", default="panda", metavar="ROBOT", help=ROBOTS)


def add_robot_option(parser: argparse.ArgumentParser) -> None:
    """Add `--robot`, of a command that is about something else."""
    parser.add_argument("--robot", default="panda", help=ROBOTS)


def add_end_effector_option(parser: argparse.ArgumentParser) -> None:
    """Add `--end-effector`."""
    help_text = "mounted for good, and no payload: none, hand, or a YAML file (default: none)"
    parser.add_argument("--end-effector", default="none", metavar="NAME", help=help_text)


def add_payload_com_option(parser: argparse.ArgumentParser) -> None:
    """Add `--payload-com`, of a simulated payload."""
    com, help_text = [0.02, -0.015, 0.06], "centre of mass in the flange frame, m (default: 0.02 -0.015 0.06)"
    parser.add_argument("--payload-com", type=float, nargs=3, default=com, metavar=("X", "Y", "Z"), help=help_text)
