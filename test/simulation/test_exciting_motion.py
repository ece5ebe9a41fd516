# SPDX-License-Identifier: Apache-2.0
"""Exciting motions: consistent derivatives, smooth start and pauses, limits and clearance."""

from dataclasses import replace

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.simulation.motion_search import CARRYING, TOOL, Margins, exciting_motion, obstacle
from panda_dynamics_ros.simulation.motions import FourierMotion, at_rest


@pytest.fixture(scope="module", params=["panda", "fr3"])
def robot(request: pytest.FixtureRequest) -> pdr.RobotModel:
    return pdr.load_robot(request.param)


@pytest.fixture(scope="module")
def motion(robot: pdr.RobotModel) -> FourierMotion:
    return exciting_motion(robot, seed=2)


PAUSES = ((7.0, 2.0), (14.0, 1.0))


@pytest.mark.parametrize("pauses", [(), PAUSES])
def test_velocity_and_acceleration_are_derivatives(
    motion: FourierMotion, pauses: tuple[tuple[float, float], ...]
) -> None:
    h = 1e-4
    t = np.arange(0.0, 30.0, h)
    q, dq, ddq = replace(motion, pauses=pauses)(t)
    # Central differences: h^2/6 times a third derivative of up to ~30 rad/s^3, and rounding 1e-16/h; at the
    # three seams, where the third derivative jumps, h/4 times the jump.
    np.testing.assert_allclose((q[2:] - q[:-2]) / (2 * h), dq[1:-1], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose((dq[2:] - dq[:-2]) / (2 * h), ddq[1:-1], rtol=0.0, atol=5e-3)


def test_it_starts_at_rest_and_becomes_periodic(motion: FourierMotion) -> None:
    q, dq, ddq = motion(np.array([0.0, 0.5, motion.standstill]))
    np.testing.assert_array_equal(q, np.tile(np.asarray(motion.rest), (3, 1)))
    assert not dq.any()
    assert not ddq.any()
    t = motion.settled + np.linspace(0.0, motion.period, 50)
    for now, later in zip(motion(t), motion(t + 3 * motion.period), strict=True):
        np.testing.assert_allclose(now, later, rtol=0.0, atol=1e-12)  # rounding of the phase


def test_it_stands_still_in_pauses_and_resumes_the_same_path(motion: FourierMotion) -> None:
    paused = replace(motion, pauses=PAUSES)
    for start, duration in PAUSES:
        q, dq, ddq = paused(np.linspace(start, start + duration, 20))
        np.testing.assert_allclose(q, np.tile(q[0], (20, 1)), rtol=0.0, atol=1e-12)  # rounding of the phase
        assert not dq.any()
        assert not ddq[1:-1].any()
    # Each pause costs its duration and half of the two ramps of 1 s.
    lost = sum(duration + 1.0 for _, duration in PAUSES)
    for late, original in zip(paused(np.array([20.0, 33.0])), motion(np.array([20.0, 33.0]) - lost), strict=True):
        np.testing.assert_allclose(late, original, rtol=0.0, atol=1e-12)  # rounding


@pytest.mark.parametrize("seed", range(2))
def test_limits_and_clearance(robot: pdr.RobotModel, seed: int) -> None:
    motion = replace(exciting_motion(robot, seed), pauses=((8.0, 1.0), (13.5, 1.0)))
    q, dq, ddq = motion(np.arange(0.0, 40.0, 0.005))
    limits = robot.limits
    # The search keeps 0.135 rad and a fifth of the rates between its samples, 50 ms apart.
    assert (q > limits.lower + 0.1).all()
    assert (q < limits.upper - 0.1).all()
    assert (np.abs(dq) < 0.85 * limits.velocity).all()
    assert (np.abs(ddq) < 0.95 * limits.acceleration).all()  # slowing down adds to the motion's own
    flange = robot.pose(q)
    assert flange[:, 2, 3].min() > 0.15
    for point in (flange[:, :3, 3], flange[:, :3, 3] + TOOL * flange[:, :3, 2]):
        low = point[:, 2] < 0.5
        assert np.hypot(point[low, 0], point[low, 1]).min(initial=1.0) > 0.15  # a base of 0.1 m radius
    assert dq[3000:].std(axis=0).min() > 0.15  # it does move every joint


def test_a_motion_without_a_blend_begins_and_ends_at_rest(rng: np.random.Generator) -> None:
    motion = FourierMotion(np.zeros(3), *at_rest(*rng.normal(size=(2, 3, 4))), 5.0)
    t = np.linspace(0.0, 5.0, 5001)
    q, dq, ddq = motion(t)
    # Central differences over 2 ms: their error is (w dt)^2 / 6 of amplitudes of order 10.
    assert np.abs(np.gradient(q, t, axis=0) - dq)[1:-1].max() < 1e-3
    assert np.abs(np.gradient(dq, t, axis=0) - ddq)[1:-1].max() < 1e-3
    for state in (dq[0], ddq[0], dq[-1], ddq[-1], q[-1] - q[0]):
        assert np.abs(state).max() < 1e-9
    late = replace(motion, standstill=1.0)
    np.testing.assert_array_equal(late(np.array([0.0, 0.5]))[0], q[[0, 0]])
    np.testing.assert_allclose(late(t + 1.0)[0], q, rtol=0.0, atol=1e-12)  # rounding of the phase


READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
ONTO_TABLE = np.array([0.0, 1.2, 0.0, -1.5, 0.0, 2.7, 0.0])
ONTO_BASE = np.array([0.0, -0.3, 0.0, -3.0, 0.0, 1.6, 0.0])
ONTO_UPPER_ARM = np.array([-0.5, -0.3, -1.0, -0.8, 0.2, 0.0, -0.5])


@pytest.mark.parametrize("margins", [Margins(), CARRYING])
@pytest.mark.parametrize(
    ("posture", "found"), [(READY, None), (ONTO_TABLE, "table"), (ONTO_BASE, "base"), (ONTO_UPPER_ARM, "upper arm")]
)
def test_the_obstacle_is_named(posture: np.ndarray, found: str | None, margins: Margins) -> None:
    robot = pdr.load_robot("panda")
    assert obstacle(robot, np.stack([READY, posture]), margins) == found


def test_the_table_may_be_higher() -> None:
    robot = pdr.load_robot("panda")
    # The ready posture has its flange at 0.59 m, the tip of a tool at 0.47 m: 0.35 m and 0.12 m of margin.
    assert obstacle(robot, READY[None], table_height=0.34) is None
    assert obstacle(robot, READY[None], table_height=0.36) == "table"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rest": np.zeros(6)}, r"rest: expected shape \(7,\), got \(6,\)"),
        ({"sine": np.zeros((7, 4))}, r"sine: expected shape \(7, 5\)"),
        ({"rest": None}, r"blend \(without rest\): expected a number in \[0, 0\], got 4"),
        ({"pauses": ((1.5, 1.0),)}, "pauses: expected a start from 2 s"),
        ({"pauses": ((8.0, 1.0), (9.5, 1.0))}, "pauses: expected a start from 11 s"),
    ],
)
def test_bad_input(motion: FourierMotion, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        replace(motion, **changes)  # type: ignore[arg-type]
