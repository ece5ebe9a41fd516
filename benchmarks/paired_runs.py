# SPDX-License-Identifier: Apache-2.0
"""Payloads from paired runs beside those of today's smoother: on the public 1 kHz log, and on simulated arms.

    python -m benchmarks.paired_runs [--arms 12]        (also a part of `python -m benchmarks.payload`)

The log has one motion twice. Its first pass counts as unloaded; to the torques of the second those of a payload of 1 kg
are added, that of `benchmarks.payload.real_log`. Simulated arms repeat their model error (`Realism.repeating`); their
friction falls by a fifth in half an hour in the rows "drift", with three minutes from run to run.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import replace

import numpy as np

import panda_dynamics_ros as pdr
from benchmarks.common import Z95, console, table
from benchmarks.payload.real_log import LOG_1KHZ as FIRST
from benchmarks.payload.real_log import SECOND_PASS as SECOND
from benchmarks.payload.real_log import payload_torques
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate, smooth_payloads
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.simulation import Realism, SimulatedPanda
from panda_dynamics_ros.simulation.motion_search import READY, duration, exciting_motion, weighing_motion

MASSES = (0.05, 0.1, 0.3, 0.5, 1.0, 3.0)
PAYLOADS = 6  # on the log
BETWEEN_S, HALF_HOUR, FADING = 180.0, 1800.0, 0.2
STARTS = 0.3  # s of the second pass that are left out: the first one is still leaving its rest


def payload(rng: np.random.Generator, mass: float) -> InertialParameters:
    """A box of 5 to 12 cm, its centre up to 5 cm off the flange's axis and 2 to 12 cm in front of it."""
    x, y, z = np.array([0.1, 0.06, 0.08]) * rng.uniform(0.5, 1.2, 3)
    com = np.array([*rng.uniform(-0.05, 0.05, 2), rng.uniform(0.02, 0.12)])
    return InertialParameters(mass, com, mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]))


class Scores:
    """Errors of estimates, and how often 95 % intervals held the truth, by the name of a row."""

    def __init__(self) -> None:
        self._rows: dict[str, list[FloatArray]] = defaultdict(list)
        self.notes: list[str] = []

    def add(self, name: str, estimate: PayloadEstimate, truth: InertialParameters) -> None:
        """One estimate: 10 errors in SI units, 10 in standard deviations."""
        upper = np.triu_indices(3)
        error = np.concatenate(
            ([estimate.mass - truth.mass], estimate.com - truth.com, (estimate.inertia - truth.inertia)[upper])
        )
        std = np.concatenate((estimate.std[:1], estimate.com_std, estimate.inertia_std))
        self._rows[name].append(np.concatenate((error, error / std)))

    def print(self) -> None:
        """The table."""
        for note in self.notes:
            print(note)
        rows = []
        for name, found in self._rows.items():
            values = np.array(found)
            mass, com = 1e3 * np.abs(values[:, 0]), 1e3 * np.linalg.norm(values[:, 1:4], axis=1)
            inertia = 1e3 * np.abs(values[:, 4:10]).max(axis=1)
            held = [100.0 * np.mean(np.abs(values[:, k:end]) < Z95) for k, end in ((10, 11), (11, 14), (14, 20))]
            figures = [np.median(mass), np.percentile(mass, 95), np.median(com), np.median(inertia)]
            rows.append(
                [name, f"{len(found)}", *(f"{x:.2f}" for x in figures), " ".join(f"{each:.0f}" for each in held)]
            )
        columns = ("", "runs", "mass g", "95th", "CoM mm", "inertia g m2", "95 % hold m, c, I")
        console().print(table("payloads from paired runs", columns, rows))


def on_the_log(scores: Scores) -> None:
    """The second pass with payloads of 1 kg on it."""
    robot, rng = pdr.load_robot("panda"), np.random.default_rng(0)
    first, second = pdr.load_dataset(FIRST), pdr.load_dataset(SECOND)
    keep = second.stamp > second.stamp[0] + STARTS
    for number in range(PAYLOADS):
        truth = payload(rng, 1.0)
        tau = second.tau + payload_torques(truth, SECOND)
        loaded = pdr.JointDataset(
            second.stamp[keep], second.q[keep], second.dq[keep], tau[keep], second.names, "second pass"
        )
        result = pdr.weigh_paired_runs(robot, [loaded], [first])
        scores.add(f"log, paired, {result.motion_s:.1f} s", result.estimate, truth)
        if number == 0:
            share = result.noise / robot.residual.std
            scores.notes.append("log, noise of one pass, share of the residual: " + " ".join(f"{x:.2f}" for x in share))
        smoothed = smooth_payloads(robot, loaded.stamp, loaded.q, loaded.dq, loaded.tau)[-1]
        scores.add("log, smoother on the same", smoothed.estimate, truth)


def on_simulated_arms(scores: Scores, arms: int) -> None:
    """Runs unloaded, loaded, loaded, unloaded of each arm; the first two alone; with and without drift."""
    robot = pdr.load_robot("panda")
    motion = weighing_motion(robot, READY)
    for seed in range(arms):
        truth, excitation = (
            payload(np.random.default_rng(seed), MASSES[seed % len(MASSES)]),
            exciting_motion(robot, seed),
        )
        for fading, name in ((0.0, ""), (FADING, ", drift")):
            runs = []
            for number, letter in enumerate("ABBA"):
                plant = SimulatedPanda(
                    robot, seed=seed, realism=Realism.repeating(), excitation=motion, arm_excitation=excitation,
                    noise_seed=1000 * seed + number + 1,
                )  # fmt: skip
                if letter == "B":
                    plant.attach(truth)
                _fade(plant, 1.0 - fading * number * BETWEEN_S / HALF_HOUR)
                run = plant.record(duration(motion))
                runs.append(replace(run, stamp=run.stamp + number * BETWEEN_S, source=f"{letter}{number}"))
            scores.add(f"arms{name}, A B", pdr.weigh_paired_runs(robot, runs[1:2], runs[:1]).estimate, truth)
            both = pdr.weigh_paired_runs(robot, runs[1:3], [runs[0], runs[3]])
            scores.add(f"arms{name}, A B B A", both.estimate, truth)
        loaded = runs[1]
        smoothed = smooth_payloads(robot, loaded.stamp, loaded.q, loaded.dq, loaded.tau)[-1]
        scores.add("arms, smoother on B", smoothed.estimate, truth)
        print(f"paired runs: arm {seed + 1} of {arms}", file=sys.stderr, flush=True)


def _fade(plant: SimulatedPanda, ratio: float) -> None:
    """Let the link-side friction be this part of what it was."""
    arm, friction = plant.true_arm, plant.true_arm.robot.friction
    less = replace(friction, coulomb=ratio * friction.coulomb, viscous=ratio * friction.viscous)
    plant.true_arm = replace(arm, robot=replace(arm.robot, friction=less))


def scored(arms: int, real: bool = True) -> Scores:
    """The table of so many simulated arms, and of the log where it is at hand."""
    scores = Scores()
    if real and FIRST.is_file():
        on_the_log(scores)
    on_simulated_arms(scores, arms)
    return scores


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Payloads from paired runs, beside those of the smoother.")
    parser.add_argument("--arms", type=int, default=12, help="simulated arms (default: 12)")
    scored(parser.parse_args().arms).print()


if __name__ == "__main__":
    main()
