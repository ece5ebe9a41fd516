# SPDX-License-Identifier: Apache-2.0
"""How well an identification predicts motion that it was not fitted to: blocked cross-validation inside one file.

    python benchmarks/identification.py RECORDING [--robot panda]

Blocks of a third of the recording are held out in turn; what is nearer to them than 0.9 s is used neither for the
fit nor for the test, since neighbouring residuals are correlated. Root sum square over the joints' torque RMS.
"""

from __future__ import annotations

import argparse

import numpy as np

import panda_dynamics_ros as pdr
from panda_dynamics_ros.identification.procedure import FREE
from panda_dynamics_ros.identification.regression import PriorScale


def held_out(data: pdr.JointDataset, robot: pdr.RobotModel) -> None:
    """Print one row for each way to fit."""
    fits: dict[str, PriorScale | None] = {
        "plain least squares (base parameters + friction)": PriorScale(FREE, FREE, 0.0, 0.0),
        "regularised toward the prior, upright base": PriorScale(1.0, 1.0, 0.0, 0.0),
        "chosen by cross-validation": None,
    }
    print(f"{'':50s} {'held out':>8s} {'fitted':>7s}  N m, root sum square over joints")
    for name, prior_scale in fits.items():
        fit = pdr.identify(data, robot=robot, prior_scale=prior_scale)
        name += f" {tuple(vars(fit.prior_scale).values())}" if prior_scale is None else ""
        outside, fitted = (float(np.linalg.norm(rms)) for rms in (fit.cross_validated_rms, fit.torque_rms))
        print(f"{name:50s} {outside:8.3f} {fitted:7.3f}  held out per joint {fit.cross_validated_rms.round(3)}")
    times = fit.cross_validated_time
    print(f"  what the last leaves stays the same for {np.median(times):.2f} s (median), per joint {times.round(2)}")
    print(f"{'prior with its friction':50s} {'':8s} {np.linalg.norm(fit.prior_torque_rms):7.3f}")


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("--robot", default="panda")
    args = parser.parse_args()
    robot = pdr.load_robot(args.robot)
    held_out(pdr.load_dataset(args.recording), robot)


if __name__ == "__main__":
    main()
