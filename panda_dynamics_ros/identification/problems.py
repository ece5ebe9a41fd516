# SPDX-License-Identifier: Apache-2.0
"""Recordings that no arm or not all of it can be identified from, and results that are not the arm's.

Each has a sentence with cause and remedy.

A payload is fitted along with the arm:
    tau = tau_prior + Y dpi + F dphi + T dg + Y_payload pi_payload,
dpi, dphi, dg with the standard deviations by which arms of one kind differ, pi_payload with those of payloads. A mass
at the flange that is far above its standard deviation is then no difference between arms. Blocks of the recording that
need different masses were recorded with different loads.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.model import RobotModel
from panda_dynamics_ros.dynamics.motion_samples import MotionSamples
from panda_dynamics_ros.errors import ArgumentError, DataError
from panda_dynamics_ros.identification import regression
from panda_dynamics_ros.identification.regression import LinearModel, PriorScale, Quadratic, rms
from panda_dynamics_ros.robot.description import WITHOUT_GRAVITY
from panda_dynamics_ros.robot.inertial import PARAMETERS, inertial_transport
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joint_mapping import name_conflict

FIRST_SECOND_MOMENT = 4  # place among a link's ten inertial parameters
LEAST_SINGULAR_VALUE = 1e-3
"""Of the regressor with columns of unit length: below it, a model error of one per mille becomes an error as large as
the parameter itself."""
_INVOLVED = 0.3  # share of a parameter's axis in the directions that are not seen, from which on it is named


class IdentifiabilityWarning(UserWarning):
    """The recording does not determine all parameters; the message names them and a motion that would."""


def condition_number(gram: FloatArray) -> float:
    """Of the matrix whose Gram matrix this is; inf where it is singular to rounding."""
    values = np.linalg.eigvalsh(gram)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 1e-15 * values[-1] else float("inf")


def regressor_condition(robot: RobotModel) -> Callable[[FloatArray, FloatArray, FloatArray], float]:
    """A function of states q, dq, ddq (N, n): the condition number of the base regressor stacked over them.

    Reference: De Luca, document 003, slide 12.
    """
    columns = list(robot.base_parameters().columns)

    def condition(q: FloatArray, dq: FloatArray, ddq: FloatArray) -> float:
        W = robot.regressor(q, dq, ddq)[..., columns].reshape(-1, len(columns))
        return condition_number(W.T @ W)

    return condition


def not_identified(gram: FloatArray, model: LinearModel) -> tuple[str, ...]:
    """Names of base parameters and friction terms that the rows do not determine (full-column-rank check).

    A warning says which motion would.
    Where the motion is so slow that torques of acceleration are below the residual, second moments are among them.
    """
    prior, samples, base = model.prior, model.samples, model.prior.base_parameters()
    names, place = list(base.names), list(base.columns)
    first = regression.friction_slice(prior.n).start
    for i, term in enumerate(regression.FRICTION_TERMS * prior.n):
        if term != "stribeck":  # it begins at zero and stays there where nothing speaks for it
            names.append(f"{term}{i // len(regression.FRICTION_TERMS) + 1}")
            place.append(first + i)
    gram = gram.sum(axis=0)[np.ix_(place, place)]
    length = np.sqrt(np.diag(gram))
    seen = length > LEAST_SINGULAR_VALUE * np.median(length)
    values, directions = np.linalg.eigh(gram[np.ix_(seen, seen)] / np.outer(length[seen], length[seen]))
    seen[seen] = np.linalg.norm(directions[:, values < LEAST_SINGULAR_VALUE**2], axis=1) <= _INVOLVED
    moving = prior.inverse_dynamics(samples.q, samples.dq, samples.ddq) - prior.gravity_torques(samples.q)
    if (rms(moving) <= prior.residual.std).all():
        seen[: len(base.columns)] &= np.array(base.columns) % 10 < FIRST_SECOND_MOMENT
    unseen = tuple(name for name, there in zip(names, seen, strict=True) if not there)
    if unseen:
        joints = sorted({int(re.findall(r"\d+$", name)[0]) for name in unseen})
        text = (
            f"{', '.join(unseen)} cannot be identified and stay near the prior's; move joints "
            f"{', '.join(map(str, joints))} and those before further and faster, in both directions, at several "
            "frequencies (panda-dynamics excite finds such a motion)"
        )
        warnings.warn(IdentifiabilityWarning(text), stacklevel=3)
    return unseen


LEAST_DURATION_S = 3.0  # of rows: a third is held out, with `procedure.MARGIN_S` beside it
LEAST_MOTION = 0.05  # rad
_CONSTANT = 1e-9  # N m, of a filtered torque
_SATURATED, _OFTEN = 0.99, 0.01  # share of the effort limit; share of the rows
_FOREIGN = 0.5  # share of the torque that stays unexplained
_FAR_OUT = 6.0  # times the largest position limit: no arm turns its joints that often
_WRONG_UNIT = 5.0  # times: noise and lag make the ratio of derivatives and velocities 0.8 to 1.2


class ImplausibleRecordingWarning(UserWarning):
    """The recording does not look like one of the unloaded arm; the message names the likely cause and the remedy."""


def plausible(prior: RobotModel, data: JointDataset) -> JointDataset:
    """The recording of an arm of this kind, with link-side torques.

    Raises DataError: the number of joints is not the arm's, or units are wrong.
    Raises ArgumentError: gravity is not in the efforts of the arm's kind.
    """
    if prior.effort == WITHOUT_GRAVITY:
        why = "the torques of a model that the driver has subtracted do not identify another one"
        raise ArgumentError(f"robot: expected an arm whose effort has gravity in it, got effort {prior.effort}: {why}")
    if len(data.names) != prior.n:
        raise DataError(f"{data.source}: expected the {prior.n} joints of {prior.name}, got {len(data.names)}")
    largest = float(np.abs(data.q).max())
    if largest > _FAR_OUT * float(np.abs([prior.limits.lower, prior.limits.upper]).max()):
        raise DataError(f"{data.source}: expected positions in rad, got up to {largest:.0f}; are they in degrees?")
    derivative = np.gradient(data.q, data.stamp, axis=0) if len(data.stamp) > 1 else data.dq
    ratio = float((data.dq * derivative).sum() / max((data.dq**2).sum(), 1e-12))
    moves = (np.ptp(data.q, axis=0) >= LEAST_MOTION).any()
    if moves and not 1.0 / _WRONG_UNIT < ratio < _WRONG_UNIT:
        got = f"derivatives of {ratio:.2g} times the velocities"
        doubt = "are stamps in s (not ms), positions in rad, velocities in rad/s?"
        raise DataError(f"{data.source}: expected velocities that are the positions' derivatives, got {got}; {doubt}")
    return replace(data, tau=prior.link_side_torques(data.q, data.tau))


def usable(prior: RobotModel, samples: MotionSamples) -> MotionSamples:
    """The rows in which no torque is at its limit, without rotor torques; a warning says where torques are saturated.

    Raises DataError: nothing moves, a joint's torque is constant, or too little is left.
    """
    source, moved = ", ".join(samples.recordings), np.ptp(samples.q, axis=0)
    if (moved < LEAST_MOTION).all():
        got = f"joints that move by {moved.max():.3f} rad at most; no inertia and no friction can be identified"
        raise DataError(f"{source}: expected motion, got {got}; record an exciting motion (panda-dynamics excite)")
    if (constant := np.ptp(samples.tau, axis=0) <= _CONSTANT).any():
        raise DataError(
            f"{source}: expected measured torques, got a constant one at joints {_joints(constant)}; neither their "
            "friction nor the base parameters of their links can be identified; record link-side torques of a moving "
            "arm"
        )
    samples = replace(samples, tau=samples.tau - prior.felt_rotor_inertia * samples.ddq)
    saturated = np.abs(samples.tau) > _SATURATED * prior.limits.effort
    if (often := saturated.mean(axis=0) > _OFTEN).any():
        text = (
            f"{source}: the torques of joints {_joints(often)} are at their limit, where they measure nothing; "
            "those samples do not count, and friction and base parameters of these joints are the less certain for it; "
            "move slower"
        )
        warnings.warn(IdentifiabilityWarning(text), stacklevel=3)
    samples = samples.rows(np.flatnonzero(~saturated.any(axis=1)))
    if (total := len(samples) * samples.period) < LEAST_DURATION_S:
        raise DataError(
            f"{source}: expected at least {LEAST_DURATION_S:g} s of motion with torques within the limits of "
            f"{prior.name}, got {total:.2f} s; no base parameter can be identified; one period of an exciting motion "
            "(panda-dynamics excite) shows all"
        )
    return samples


def _joints(which: NDArray[np.bool_]) -> list[int]:
    return [int(j) + 1 for j in np.flatnonzero(which)]


def check_fit(model: LinearModel, x: FloatArray) -> None:
    """Refuse a fit that leaves most of a torque unexplained.

    Raises DataError: it leaves more than half of all torque unexplained, or more than half of a joint's
        torque and five times the prior's residual.
    """
    error, size = rms(model.unexplained(x)), rms(model.samples.tau)
    explained = 1.0 - np.linalg.norm(error) / np.linalg.norm(size)
    foreign = (error > _FOREIGN * size) & (error > 5.0 * model.prior.residual.std)
    if foreign.any() or explained < _FOREIGN:
        joints = foreign if foreign.any() else error > _FOREIGN * size
        raise DataError(
            f"data: expected torques of {model.prior.name}, got {error[joints].max():.2f} N m RMS that no such arm "
            f"explains at joints {_joints(joints)}; none of its base parameters can be identified; is it another arm, "
            "another order of the joints, another sign or other units, or does it carry something?"
        )


ONE_KIND = PriorScale(bodies=0.3, friction=2.0, tilt=1.0, stribeck=0.0)
"""How far arms of one kind differ: two real arms and simulated ones need 0.06 to 0.16 for their bodies."""
PAYLOAD_STD = np.array([1.5, 0.15, 0.15, 0.15, *[0.02] * 6])
"""Of a payload's inertial vector in the flange frame: kg, kg m, kg m^2."""
LEAST_MASS, LEAST_SIGMAS = 0.3, 4.0
"""kg, and standard deviations, from which on a mass at the flange is a payload: unloaded arms show up to 0.12 kg."""
BLOCKS, BLOCK_S = 6, 1.0  # how many parts a recording has, and how long each is at least
DIFFERENT_SIGMAS = 5.0
LARGEST_RESIDUAL = 2.0
"""Of held-out torque over the prior's residual; real arms leave up to 0.95 of it, one that a person guides 3."""
LEAST_RESIDUAL = 0.004
"""Share of the effort limit: an arm that was identified may have a smaller residual than another motion leaves."""


def problems_of(
    model: LinearModel, gram: FloatArray, weight: FloatArray, held_out: FloatArray, prior_held_out: FloatArray
) -> tuple[str, ...]:
    """Sentences with cause and remedy, most telling first; none for a plausible recording.

    gram: of the model's rows. weight: (n,), of the rows, by the prior's residual.
    held_out, prior_held_out: (n,), N m, torque RMS on held-out blocks, of the fits and of the prior.
    """
    prior = model.prior
    conflicts = ((source, name_conflict(prior, [joint])) for source, joint in model.samples.recordings.items())
    found = [f"{source}: {conflict}" for source, conflict in conflicts if conflict]
    if load := _load(model, gram, weight):
        found.append(load)
    else:
        usual = np.maximum(prior.residual.std, LEAST_RESIDUAL * prior.limits.effort)
        if (ratio := min(rms(held_out / usual), rms(prior_held_out / usual))) > LARGEST_RESIDUAL:
            found.append(
                f"held-out blocks are predicted {ratio:.1f} times as badly as {prior.name} usually is: is it another "
                "arm, or did something touch it?"
            )
    error, prior_error = np.linalg.norm(held_out), np.linalg.norm(prior_held_out)
    if error > prior_error:
        found.append(
            f"held-out blocks are predicted with {error:.2f} N m RMS, by {prior.name} itself with {prior_error:.2f}: "
            f"keep {prior.name}, or record a longer exciting motion (panda-dynamics excite) of the unloaded arm"
        )
    return tuple(found)


def _load(model: LinearModel, gram: FloatArray, weight: FloatArray) -> str:
    """A load that changes, one that is there all the time, or less than none."""
    prior, size, std = model.prior, len(model.b), regression.prior_std(model.prior, ONE_KIND)
    x = Quadratic.of(gram, weight, std).minimum()
    last = slice((prior.n - 1) * PARAMETERS, prior.n * PARAMETERS)  # a payload is a part of the last link
    carried, rest = np.zeros((len(x) + 1, PARAMETERS)), np.append(-x, 1.0)
    carried[last] = inertial_transport(prior.T_joint_flange)
    count = int(np.clip(size * model.samples.period / BLOCK_S, 1, BLOCKS))
    parts = [model.gram(rows) for rows in np.array_split(np.arange(size), count)]
    masses = [_mass(part, np.column_stack([carried, rest]), weight, PAYLOAD_STD) for part in parts]
    (least, least_std), (most, most_std) = min(masses), max(masses)
    own, b = np.split(np.eye(len(x) + 1), [-1], axis=1)
    mass, deviation = _mass(gram, np.hstack([own, carried, b]), weight, np.concatenate([std, PAYLOAD_STD]))
    if mass < -max(LEAST_MASS, LEAST_SIGMAS * deviation):  # first: no load that changes makes an arm lighter
        return (
            f"the torques are those of an arm with {-mass:.2f} kg less at the flange than {prior.name}: is gravity "
            "missing from them, their sign wrong, or an end effector named that is not mounted?"
        )
    if most - least > max(LEAST_MASS, DIFFERENT_SIGMAS * float(np.hypot(least_std, most_std))):
        return (
            f"parts of the recording differ by {most - least:.2f} kg at the flange: something was picked up, put down "
            "or touched the arm; record it unloaded all the time, and identify from that part only"
        )
    if mass < max(LEAST_MASS, LEAST_SIGMAS * deviation):
        return ""
    return (
        f"the arm carries about {mass:.2f} kg more than {prior.name}: record it unloaded, or name what is mounted for "
        "good as its end effector (hand, or a YAML file)"
    )


def _mass(gram: FloatArray, M: FloatArray, weight: FloatArray, std: FloatArray) -> tuple[float, float]:
    """A payload's mass and its standard deviation, kg, of the columns [A b] M, the last of which is what they explain.

    The payload's parameters are the last ten.
    """
    cost = Quadratic.of(M.T @ gram @ M, weight, std)
    place = -PARAMETERS
    return float(cost.minimum()[place]), float(std[place] * np.sqrt(np.linalg.inv(cost.H)[place, place]))
