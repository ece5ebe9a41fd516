# SPDX-License-Identifier: Apache-2.0
"""Friction torques against formulas written out here."""

from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics import presliding_states
from panda_dynamics_ros.robot.joints import PRESLIDING, Friction

EXACT = 1e-14  # N m: sums of a few terms below 2 N m


def test_gaz_sigmoid_of_the_panda(panda, rng):
    """Gaz et al., RA-L 2019, supplementary material, table I, with its equation typed out."""
    phi1 = np.array([0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489])  # N m
    phi2 = np.array([5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336])  # s/rad
    phi3 = np.array([0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526])  # rad/s
    dq = rng.uniform(-2.5, 2.5, (1000, 7))
    want = phi1 / (1.0 + np.exp(-phi2 * (dq + phi3))) - phi1 / (1.0 + np.exp(-phi2 * phi3))
    np.testing.assert_allclose(panda.friction_torques(dq), want, rtol=0.0, atol=EXACT)


def test_linear_model_with_a_smooth_sign(panda, rng):
    """Gaz et al., table III: fv dq + fc sign(dq) + fo, with tanh for the sign."""
    fv = np.array([0.0665, 0.1987, 0.0399, 0.2257, 0.1023, -0.0132, 0.0638])
    fc = np.array([0.2450, 0.1523, 0.1827, 0.3591, 0.2669, 0.1658, 0.2109])
    fo = np.array([-0.1073, -0.1566, -0.0686, -0.2522, 0.0045, 0.0910, -0.0127])
    robot = replace(panda, friction=Friction.of(7, viscous=fv, coulomb=fc, offset=fo, transition=np.full(7, 0.02)))
    dq = rng.normal(scale=0.05, size=(1000, 7))
    want = fv * dq + fc * np.tanh(dq / 0.02) + fo
    np.testing.assert_allclose(robot.friction_torques(dq), want, rtol=0.0, atol=EXACT)
    fast = np.full(7, 1.0)  # tanh(50) is 1 to the last bit
    np.testing.assert_allclose(robot.friction_torques(-fast), -fv - fc + fo, rtol=0.0, atol=EXACT)


def test_dry_friction_follows_the_way_of_a_joint():
    """A path by hand: s rises by way / PRESLIDING, saturates, turns at once at the reversal and stays at rest."""
    way = PRESLIDING * np.array([0.0, 1.5, 1.0, -0.5, 0.0, 0.0, -1.0, -3.0, 0.25, 0.0])
    s, half_width = presliding_states(np.cumsum(way)[:, None])
    # From -1 the first step leads to .5, from 1 to 1; the second makes both 1.
    np.testing.assert_allclose(s[:, 0], [0.0, 0.75, 1.0, 0.5, 0.5, 0.5, -0.5, -1.0, -0.75, -0.75], atol=1e-12)
    np.testing.assert_allclose(half_width[:, 0], [1.0, 0.25, *8 * [0.0]], atol=1e-12)


def test_the_memory_of_friction_is_blind_to_noise_at_rest(rng):
    """150 s at 1 kHz with the encoders' noise: its span of ten sigmas is a tenth of PRESLIDING."""
    q = np.concatenate([np.linspace(0.0, 0.1, 1000), np.full(150_000, 0.1)])[:, None] * np.array([1.0, -1.0])
    s, _ = presliding_states(q + 2e-5 * rng.standard_normal(q.shape))
    assert (np.abs(s[1000:] - [1.0, -1.0]) < 0.1).all()


def test_memory_takes_the_place_of_the_sign(panda, rng):
    """(coulomb + stribeck e^-(dq/vs)^2) s, s being tanh(dq / transition) at constant velocity; the rest follows dq."""
    stribeck, vs = np.linspace(0.0, 0.6, 7), np.linspace(0.1, 0.4, 7)
    alike = {"viscous": 0.1, "coulomb": 0.2, "offset": 0.3, "transition": 0.02}  # of all joints
    terms = {name: np.full(7, value) for name, value in alike.items()}
    friction = replace(panda.friction, stribeck=stribeck, stribeck_velocity=vs, **terms)
    robot, dq = replace(panda, friction=friction), rng.normal(scale=0.3, size=(1000, 7))
    s = rng.uniform(-1.0, 1.0, dq.shape)
    want = panda.friction_torques(dq) + 0.1 * dq + 0.3 + (0.2 + stribeck * np.exp(-((dq / vs) ** 2))) * s
    np.testing.assert_allclose(robot.friction_torques(dq, s), want, rtol=0.0, atol=EXACT)
    steady = np.tanh(dq / 0.02)
    np.testing.assert_allclose(robot.friction_torques(dq, steady), robot.friction_torques(dq), rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("q", [[1.0, 2.0], [[np.nan]], "abc"])
def test_what_is_not_a_recording_of_positions_is_refused(q):
    with pytest.raises(pdr.PandaDynamicsError, match="q: expected"):
        presliding_states(q)


@pytest.mark.parametrize("speed", [1e3, -1e3, 1e300, -1e300])
def test_any_speed_gives_a_finite_torque(panda, speed):
    """exp(-x) overflows there, and 1 / (1 + inf) = 0 is the right answer."""
    tau = panda.friction_torques(np.full(7, speed))
    assert np.isfinite(tau).all()
    assert (np.sign(tau) == np.sign(speed)).all()
