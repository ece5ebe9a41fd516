# SPDX-License-Identifier: Apache-2.0
"""Payloads of one arm, given that part of what the arm's model gets wrong looks like a payload and stays.

The residual's Ornstein-Uhlenbeck model averages out; an error of the model's masses does not, however long one
listens. It is one more payload b that is always there: the data knows only phi_s = theta_s + b. The prior of b says
that `REPEATS` s of motion teach all that ever averages out, B^-1 = `REPEATS` times the mean information per second of
motion. So an interval never shrinks below B, and a stretch that is known to be without payload is a tare for all
others, with as much weight as its own length gives it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from panda_dynamics_ros.checks import FloatArray

REPEATS = 4.0
"""s of motion. Chosen of 2, 4 and 8 s on the simulated arms of `benchmarks/payload`: with 8 s the published model's
intervals are too narrow after 22 s, with 2 s an unloaded stretch makes a calibrated arm's payload worse."""

NOTHING = 1e-9
"""Standard deviation, in SI units, of the inertial vector where nothing was carried."""


def payloads_given(
    information: FloatArray,
    vector: FloatArray,
    motion_s: FloatArray,
    spread: FloatArray,
    unloaded: Collection[int],
) -> tuple[FloatArray, FloatArray]:
    """Means (S, p) and covariances (S, p, p) of S payloads.

    Parameters
    ----------
    information, vector: (S p, S p) and (S p,), what the data says of all phi_s, without a prior.
    motion_s: (S,), s in motion of each.
    spread: (p,), prior standard deviations of a payload.
    unloaded: which of the S are known to be none.
    """
    count, size = len(motion_s), len(spread)
    blocks = information.reshape(count, size, count, size)
    of_each = np.einsum("sisj->ij", blocks)
    known = REPEATS * of_each / max(float(np.sum(motion_s)), REPEATS)
    # x = (theta_1 .. theta_S, b), phi = A x
    A = np.hstack([np.eye(count * size), np.tile(np.eye(size), (count, 1))])
    std = np.tile(spread, (count + 1, 1))
    std[list(unloaded)] = NOTHING
    L = A.T @ information @ A + np.diag(std.ravel() ** -2.0)
    L[-size:, -size:] += known
    # In units of each entry's own certainty: NOTHING beside 1 kg is more than a double holds.
    scale = 1.0 / np.sqrt(np.diag(L))
    P = np.linalg.inv(scale[:, None] * L * scale) * np.outer(scale, scale)
    mean = P @ (A.T @ vector)
    whole = P[:-size, :-size].reshape(count, size, count, size)
    return mean[:-size].reshape(count, size), np.stack([whole[s, :, s] for s in range(count)])
