# SPDX-License-Identifier: Apache-2.0
"""Weighing on the simulated arm: runs of one motion, as a person would make them on a real one."""

from __future__ import annotations

from collections.abc import Iterator

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.simulation import Realism, Scenario, SimulatedPanda, run_scenario
from panda_dynamics_ros.simulation.fourier_motion import FourierMotion
from panda_dynamics_ros.simulation.motion_search import exciting_motion
from panda_dynamics_ros.weighing.motion import duration

BETWEEN_S = 60.0
"""From one run to the next, for a person with a payload and a screwdriver."""


def simulated_runs(
    robot: RobotDescription, motion: FourierMotion, payload: InertialParameters, loaded: str, seed: int = 0
) -> Iterator[JointDataset]:
    """One recording for each letter of `loaded`, A without and B with the payload, of one arm.

    Parameters
    ----------
    robot: the model, from which the arm differs as a real one does, the same way in all runs.
    motion: of `weighing_motion`.
    seed: >= 0, of the arm and of the noise.

    Raises
    ------
    ArgumentError: another letter, or what `SimulatedPanda` does not accept.
    MissingDependencyError: MuJoCo is not installed.
    """
    if set(loaded) - {"A", "B"}:
        raise ArgumentError(f"loaded: expected letters A (without payload) and B (with it), got {loaded!r}")
    checks.number(seed, "seed", minimum=0)
    arm_excitation = exciting_motion(robot, seed)
    for number, letter in enumerate(loaded):
        plant = SimulatedPanda(
            robot,
            seed=seed,
            payload=payload if letter == "B" else None,
            realism=Realism.repeating(),
            excitation=motion,
            arm_excitation=arm_excitation,
            noise_seed=1000 * seed + number + 1,
        )
        run = run_scenario(plant, Scenario(duration(motion)))
        stamp = run.stamp + number * (duration(motion) + BETWEEN_S)
        name = f"run {number + 1} ({'loaded' if letter == 'B' else 'unloaded'})"
        yield JointDataset(stamp, run.q, run.dq, run.tau, robot.joint_names, name)
