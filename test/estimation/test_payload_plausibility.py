# SPDX-License-Identifier: Apache-2.0
"""Signals that are not the torques of the arm and a payload are named; those that are stay without a word."""

import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques

from panda_dynamics_ros.estimation.arm_model import ArmErrors
from panda_dynamics_ros.estimation.plausibility import Declaration, PlausibilityCheck
from panda_dynamics_ros.estimation.regression import ARM, ArmTerms, MomentumRegression, TwoPoleFilter

SECONDS = 3.0  # of motion: a second until the filters have settled, and two in which a sentence must come


NOTHING = np.zeros(7)


def learnt(offset=NOTHING, gain=NOTHING, common_gain=0.0):
    """Errors of an arm of which offsets (N m) and gains are known to a tenth of a newton metre and to 0.5 %."""
    own = dict.fromkeys(("friction", "viscous", "soft", "rotor_inertia"), NOTHING)
    shared = {"tilt": np.zeros(2), "delay": np.zeros(1), "common_gain": np.array([common_gain])}
    stds = {f"{name}_std": 0.0 * value for name, value in (own | shared).items()}
    return ArmErrors(
        offset=offset, gain=gain, offset_std=NOTHING + 0.1, gain_std=NOTHING + 0.005, **own, **shared, **stds
    )


def sentence(panda, change, payload=None, mass=None, declared=None, from_start=False, errors=None):
    """The problem of a payload's torques after `change(tau, motion)`; `residual` is what an exact payload leaves."""
    motion = sinusoids(SECONDS)
    tau = change(torques(panda, motion, payload), motion)
    theta = np.zeros(10) if payload is None else payload.vector
    regression, rows = MomentumRegression(panda.n, 3.0), ArmTerms(panda).rows(motion.stamp, motion.q, motion.dq, tau)
    low_pass = TwoPoleFilter(panda.n, regression.pole)
    check = PlausibilityCheck(panda.residual.std, declared or Declaration("panda", 3.0, 0.0, False))
    errors = errors or learnt()
    steps = np.diff(motion.stamp, prepend=motion.stamp[0])
    for k in range(0, len(steps), 10):
        part = slice(k, k + 10)
        filtered = low_pass.rows(steps[part], tau[part])
        Yy = regression.rows(steps[part], rows.momentum[part], rows.bias[part])
        if regression.settled:
            estimated = theta[0] if mass is None else mass
            if check.update(filtered, Yy[:, ARM], Yy[:, ARM] - Yy[:, :ARM] @ theta, 0.01):
                check.evaluate(estimated, 0.02, from_start, errors)
    return check.problem


def unchanged(tau, motion):
    return tau


@pytest.mark.parametrize("payload", [None, PAYLOAD])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tau, motion: 0.0 * tau, "all torques are zero"),
        (lambda tau, motion: np.tile(tau[0], (len(tau), 1)), "stay constant"),
        (lambda tau, motion: -tau, "opposite sign"),
        (lambda tau, motion: 1e-3 * tau, "check the unit"),
        (lambda tau, motion: 1e2 * tau, "check the unit"),
        (lambda tau, motion: tau[:, [0, 3, 2, 1, 4, 5, 6]], "in the order 1, 4, 3, 2, 5, 6, 7"),
        (lambda tau, motion: tau[:, [1, 2, 0, 3, 4, 5, 6]], "in the order 3, 1, 2, 4, 5, 6, 7"),
    ],
)
def test_a_wrong_signal_is_named(panda, change, words, payload):
    assert words in sentence(panda, change, payload)


@pytest.mark.parametrize(
    ("mass", "declared", "words"),
    [
        (-0.73, Declaration("panda_ledezma", 3.0, 0.0, False), "0.73 kg lighter .* got panda_ledezma"),
        (4.99, Declaration("panda", 3.0, 0.0, False), "4.99 kg: expected at most max_mass = 3 kg"),
        (1.0, Declaration("panda", 3.0, 2.0, False), "1.00 kg, which contradicts known_mass = 2 kg"),
        (1.0, Declaration("panda", 3.0, 0.5, False), "contradicts known_mass = 0.5 kg"),
        (1.0, Declaration("panda", 3.0, 1.01, False), "^$"),
        (0.02, Declaration("panda", 3.0, 2.0, False), "^$"),
        (3.05, Declaration("panda", 3.0, 0.0, False), "^$"),
    ],
)
def test_an_impossible_mass_is_named(panda, mass, declared, words):
    import re

    assert re.search(words, sentence(panda, unchanged, None, mass, declared))


@pytest.mark.parametrize(
    ("mass", "declared", "from_start", "named"),
    [
        (0.72, Declaration("fr3", 3.0, 0.0, False), True, True),
        (0.72, Declaration("fr3+hand", 3.0, 0.0, True), True, False),
        (0.72, Declaration("fr3", 3.0, 0.0, False), False, False),
        (1.0, Declaration("fr3", 3.0, 0.0, False), True, False),
    ],
)
def test_a_hand_that_is_not_declared_is_asked_for(panda, mass, declared, from_start, named):
    assert ("end_effector to hand" in sentence(panda, unchanged, None, mass, declared, from_start)) == named


@pytest.mark.parametrize(("joint", "offset"), [(4, 3.0), (6, 1.0)])
def test_an_offset_far_above_the_residual_names_its_joint(panda, joint, offset):
    def shifted(tau, motion):
        return tau + offset * (np.arange(7) == joint - 1)

    by_now = learnt(offset=0.5 * offset * (np.arange(7) == joint - 1))
    assert f"the torque of joint {joint} is off by" in sentence(panda, shifted, errors=by_now)
    assert sentence(panda, shifted) == "", "a mean torque that is not learnt as an offset may be a person's"


def test_a_gain_that_is_learnt_names_its_joint(panda):
    gained = learnt(gain=0.1 * (np.arange(7) == 3))
    assert "the torque of joint 4 is off by +10 %" in sentence(panda, unchanged, errors=gained)
    assert sentence(panda, unchanged, errors=learnt(gain=0.025 * (np.arange(7) == 3))) == ""


def test_a_gain_of_all_torques_is_named(panda):
    assert "the torques of all joints are -12 % off" in sentence(panda, unchanged, errors=learnt(common_gain=-0.12))
    assert sentence(panda, unchanged, errors=learnt(common_gain=0.02)) == ""


def test_offsets_as_real_arms_have_them_are_no_problem(panda):
    assert sentence(panda, lambda tau, motion: tau + np.array([1.0, 0.5, -0.5, 0.5, 0.3, -0.2, 0.2])) == ""


def test_a_person_who_guides_the_arm_is_no_problem(panda):
    def guided(tau, motion):
        return tau + 2.0 * np.sin(2.0 * np.pi * motion.stamp / 1.3)[:, None]

    assert sentence(panda, guided) == ""
