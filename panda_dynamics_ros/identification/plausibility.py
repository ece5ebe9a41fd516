# SPDX-License-Identifier: Apache-2.0
"""Whether a recording is that of the unloaded arm which the identification starts from.

A payload is fitted along with the arm:
    tau = tau_prior + Y dpi + F dphi + T dg + Y_payload pi_payload,
dpi, dphi, dg with the standard deviations by which arms of one kind differ, pi_payload with those of payloads. A mass
at the flange that is far above its standard deviation is then no difference between arms. Blocks of the recording that
need different masses were recorded with different loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.identification.columns import LinearModel
from panda_dynamics_ros.identification.preprocessing import MotionSamples
from panda_dynamics_ros.identification.weighted_fit import NormalEquations, PriorScale, prior_std, quadratic
from panda_dynamics_ros.model import RobotModel
from panda_dynamics_ros.robot.inertial import PARAMETERS

ONE_KIND = PriorScale(bodies=0.2, friction=2.0, tilt=1.0, stribeck=0.0)
"""How far arms of one kind differ: two real arms and simulated ones need 0.05 to 0.13 for their bodies."""
PAYLOAD_STD = np.array([1.5, 0.15, 0.15, 0.15, *[0.02] * 6])
"""Of a payload's inertial vector in the flange frame: kg, kg m, kg m^2."""
LEAST_MASS, LEAST_SIGMAS = 0.3, 4.0
"""kg, and standard deviations, from which on a mass at the flange is a payload: unloaded arms show up to 0.12 kg."""
BLOCKS, BLOCK_S = 6, 1.0
"""How many parts a recording has, and how long each is at least."""
DIFFERENT_SIGMAS = 5.0
LARGEST_RESIDUAL = 2.0
"""Of held-out torque over the prior's residual; real arms leave up to 0.95 of it, one that a person guides 3."""
LEAST_RESIDUAL = 0.004
"""Share of the effort limit: an arm that was identified may have a smaller residual than another motion leaves."""
KINDS = {"panda": "panda", "fer": "panda", "fr3": "fr3"}
"""Of arms by what their joints' names contain."""


class ImplausibleRecordingWarning(UserWarning):
    """The recording does not look like one of the unloaded arm; the message names the likely cause and the remedy."""


def problems_of(
    recordings: Sequence[tuple[str, str]],
    model: LinearModel,
    samples: MotionSamples,
    weight: FloatArray,
    rms: FloatArray,
    prior_rms: FloatArray,
) -> tuple[str, ...]:
    """Sentences with cause and remedy, most telling first; none for a plausible recording.

    Parameters
    ----------
    weight: (n,), of the rows, by the prior's residual.
    rms, prior_rms: (n,), N m, on held-out blocks, of the fits and of the prior; nan where there are none.
    """
    found = [
        *_of_names(recordings, model.prior),
        *(_of_load(model, samples, weight) or _of_residual(model.prior, rms, prior_rms)),
    ]
    if np.linalg.norm(rms) > np.linalg.norm(prior_rms):
        found.append(
            f"held-out blocks are predicted with {np.linalg.norm(rms):.2f} N m RMS, by {model.prior.name} itself with "
            f"{np.linalg.norm(prior_rms):.2f}: keep {model.prior.name}, or record a longer exciting motion "
            "(panda-dynamics excite) of the unloaded arm"
        )
    return tuple(found)


def _of_names(recordings: Sequence[tuple[str, str]], prior: RobotModel) -> list[str]:
    """Joints with the names of another kind of arm."""
    expected = _kind(prior.joint_names[0])
    for source, joint in recordings:
        if (kind := _kind(joint)) and expected and kind != expected:
            return [f"{source} has the joints {joint}.. of another arm than {prior.name}: start from {kind}"]
    return []


def _kind(joint: str) -> str | None:
    return next((kind for word, kind in KINDS.items() if word in joint), None)


def _of_load(model: LinearModel, samples: MotionSamples, weight: FloatArray) -> list[str]:
    """A load that changes, one that is there all the time, or less than none."""
    std = prior_std(model.prior, ONE_KIND)
    arm = quadratic(NormalEquations.of(model), weight, std).minimum()
    rest = LinearModel(model.prior, model.prior.payload_regressor, model.state, model.unexplained(arm))
    count = int(np.clip(len(samples) * samples.period / BLOCK_S, 1, BLOCKS))
    parts = [_mass(rest, weight, PAYLOAD_STD, rows) for rows in np.array_split(np.arange(len(samples)), count)]
    (least, least_std), (most, most_std) = min(parts), max(parts)
    if most - least > max(LEAST_MASS, DIFFERENT_SIGMAS * float(np.hypot(least_std, most_std))):
        return [
            f"parts of the recording differ by {most - least:.2f} kg at the flange: something was picked up, put down "
            "or touched the arm; record it unloaded all the time, and identify from that part only"
        ]
    both = replace(model, columns=partial(_with_payload, model))
    mass, deviation = _mass(both, weight, np.concatenate([std, PAYLOAD_STD]))
    if abs(mass) < max(LEAST_MASS, LEAST_SIGMAS * deviation):
        return []
    if mass > 0.0:
        return [
            f"the arm carries about {mass:.2f} kg more than {model.prior.name}: record it unloaded, or name what is "
            "mounted for good as its end effector (hand, or a YAML file)"
        ]
    return [
        f"the torques are those of an arm with {-mass:.2f} kg less at the flange than {model.prior.name}: is gravity "
        "missing from them, their sign wrong, or an end effector named that is not mounted?"
    ]


def _with_payload(model: LinearModel, *state: FloatArray) -> FloatArray:
    q, dq, ddq = state
    return np.concatenate([model.columns(q, dq, ddq), model.prior.payload_regressor(q, dq, ddq)], axis=-1)


def _mass(
    model: LinearModel, weight: FloatArray, std: FloatArray, rows: NDArray[np.intp] | slice = slice(None)
) -> tuple[float, float]:
    """The payload's mass and its standard deviation, kg; its columns are the last ten of the model."""
    cost = quadratic(NormalEquations.of(model, rows), weight, std)
    place = -PARAMETERS
    return float(cost.minimum()[place]), float(np.sqrt(cost.covariance()[place, place]))


def _of_residual(prior: RobotModel, rms: FloatArray, prior_rms: FloatArray) -> list[str]:
    """Held-out torque that no arm of this kind leaves, neither by the fits nor by the prior itself."""
    expected = np.maximum(prior.residual.std, LEAST_RESIDUAL * prior.limits.effort)
    ratio = min(float(np.sqrt(np.mean((each / expected) ** 2))) for each in (rms, prior_rms))
    if not ratio > LARGEST_RESIDUAL:
        return []
    return [
        f"held-out blocks are predicted {ratio:.1f} times as badly as {prior.name} usually is: is it another arm, or "
        "did something touch it?"
    ]
