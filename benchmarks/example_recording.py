# SPDX-License-Identifier: Apache-2.0
"""Makes the recording that ships with the package: python -m benchmarks.example_recording

A simulated Panda, 24 s at 200 Hz: it picks 1 kg up at 6 s, is pushed at its forearm at 12 s and puts the payload down
at 18 s. `panda-dynamics replay --example` replays it.
"""

from __future__ import annotations

import gzip
import io

import numpy as np

import panda_dynamics_ros as pdr
from panda_dynamics_ros.recordings.dataset import EXAMPLE
from panda_dynamics_ros.simulation import SimulatedPanda

DURATION, RATE = 24.0, 200.0  # s, Hz
PICK, PUSH, RELEASE = 6.0, 12.0, 18.0  # s
PAYLOAD = pdr.InertialParameters(1.0, np.array([0.02, -0.015, 0.06]), 0.0017 * np.eye(3))
PUSHED_LINK, FORCE, PUSH_DURATION = 5, [0.0, 25.0, 0.0], 0.7  # N, s
DIGITS = {"t": "%.3f", "q": "%.5f", "dq": "%.4f", "tau": "%.3f"}  # a tenth of the sensors' noise


def main() -> None:
    """Simulate, and write the file that `EXAMPLE` names."""
    plant = SimulatedPanda(pdr.load_robot("panda"), seed=0)
    rows = []
    for k in range(round(DURATION / plant.timestep)):
        if k == round(PICK / plant.timestep):
            plant.attach(PAYLOAD)
        if k == round(PUSH / plant.timestep):
            plant.apply_push(PUSHED_LINK, FORCE, PUSH_DURATION)
        if k == round(RELEASE / plant.timestep):
            plant.release()
        sample = plant.step()
        if k % round(1.0 / (RATE * plant.timestep)) == 0:
            rows.append(np.concatenate(([sample.stamp], sample.q, sample.dq, sample.tau)))
    names = ["t", *(f"{field}{i + 1}" for field in ("q", "dq", "tau") for i in range(7))]
    text = io.StringIO()
    formats = [DIGITS[name.rstrip("1234567")] for name in names]
    np.savetxt(text, np.array(rows), fmt=formats, delimiter=",", header=",".join(names), comments="")
    # No time stamp inside, so that the same recording is the same file.
    EXAMPLE.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))
    print(f"{EXAMPLE}: {len(rows)} samples, {EXAMPLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
