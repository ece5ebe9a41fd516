#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The payload estimator inside a control loop: an FR3 holds its posture by torques while the load in its hand is found.

    python3 examples/estimate_in_control_loop.py 172.16.0.2 --seconds 20

A robot takes one connection only, so the program that controls it also estimates. It uses pylibfranka; the states of
panda-python, franky and franka-rs go into `update_state` in the same way. **The robot is controlled**: keep the
emergency stop at hand. It demands an answer within a millisecond, of which the estimator takes a part (docs/speed.md):
the machine needs a real-time kernel. Without one, with --ignore-realtime, a real robot may stop with
communication_constraints_violation. It has run on a simulated FR3 (franky-sim), not on a real one.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from pylibfranka import RealtimeConfig, Robot, Torques

import panda_dynamics_ros as pdr
from panda_dynamics_ros.live import with_own_end_effector
from panda_dynamics_ros.robot.libfranka_state import FrankaState

STIFFNESS = np.array([60.0, 60.0, 60.0, 60.0, 25.0, 15.0, 10.0])  # N m/rad
DAMPING = np.array([12.0, 12.0, 12.0, 12.0, 5.0, 4.0, 3.0])  # N m s/rad
LARGEST_STEP = 0.5  # N m from one command to the next: half of what libfranka allows


def main() -> None:
    """Hold the posture, and print the payload every second."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ip")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--ignore-realtime", action="store_true")
    args = parser.parse_args()

    robot = Robot(args.ip, RealtimeConfig.kIgnore if args.ignore_realtime else RealtimeConfig.kEnforce)
    state = robot.read_once()
    arm = with_own_end_effector(pdr.load_robot("fr3"), FrankaState(state))
    monitor = pdr.ArmMonitor(arm)
    for k in range(2000):  # compiles what the loop needs, before the robot waits for an answer
        monitor.update(1e-3 * k, state.q, state.dq, state.tau_J)
    monitor = pdr.ArmMonitor(arm)

    hold, torques, printed = np.array(state.q), np.zeros(7), 0.0
    control, began = robot.start_torque_control(), time.monotonic()
    while (elapsed := time.monotonic() - began) < args.seconds:
        state, _ = control.readOnce()
        output = monitor.update_state(state)
        # The robot adds gravity, of its own load, itself; Coriolis torques are left to the controller.
        wanted = STIFFNESS * (hold - np.array(state.q)) - DAMPING * np.array(state.dq) + output.coriolis_torques
        torques = torques + np.clip(wanted - torques, -LARGEST_STEP, LARGEST_STEP)
        command = Torques(torques.tolist())
        command.motion_finished = False
        control.writeOnce(command)
        if elapsed - printed > 1.0:
            printed = elapsed
            estimate = output.estimate
            print(f"{elapsed:5.1f} s  {estimate.mass:.3f} +/- {estimate.mass_margin:.3f} kg  {estimate.status}")
    final = Torques(np.zeros(7).tolist())
    final.motion_finished = True
    control.writeOnce(final)


if __name__ == "__main__":
    main()
