# SPDX-License-Identifier: Apache-2.0
"""The motion for weighing keeps its bounds, and shows a payload."""

import numpy as np
import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.simulation.motion_search import READY
from panda_dynamics_ros.simulation.weighing_motion import ARM_REACH, PAUSES, WRIST_REACH, duration, weighing_motion

ROBOT = pdr.load_robot("panda")


@pytest.fixture(scope="module")
def motion():
    return weighing_motion(ROBOT, READY, trials=150).motion


def test_the_motion_starts_and_ends_at_rest_where_it_was_told_to(motion) -> None:
    q, dq, _ = motion([0.0, duration(motion)])
    np.testing.assert_allclose(q, np.tile(READY, (2, 1)), atol=1e-9)
    np.testing.assert_allclose(dq, 0.0, atol=1e-12)


def test_the_motion_keeps_its_bounds(motion) -> None:
    q, dq, ddq = motion(np.arange(0.0, duration(motion), 0.01))
    reach = np.abs(q - np.array(READY)).max(axis=0)
    assert (reach[:4] <= 2.0 * ARM_REACH).all()
    assert (reach[4:] <= 2.0 * WRIST_REACH).all()
    limits = ROBOT.limits
    assert (q > limits.lower).all()
    assert (q < limits.upper).all()
    assert (np.abs(dq) < 0.7 * limits.velocity).all()
    assert (np.abs(ddq) < limits.acceleration).all()


def test_pauses_are_approached_from_both_sides(motion) -> None:
    """Each posture of a pause but the turn's and the end's comes twice, with the velocity before it reversed."""
    middles = [begin + 0.5 * length for begin, length in motion.pauses]
    q, dq, _ = motion(middles)
    np.testing.assert_allclose(dq, 0.0, atol=1e-12)
    for there, back in ((0, 4), (1, 3)):
        np.testing.assert_allclose(q[there], q[back], atol=1e-9)
        forth, home = (motion(motion.pauses[k][0] - 0.1)[1] for k in (there, back))
        assert forth @ home < -0.9 * np.linalg.norm(forth) * np.linalg.norm(home)
    assert len(PAUSES) == len(motion.pauses)


@pytest.mark.parametrize(
    ("start", "options", "words"),
    [
        (READY[:6], {}, r"start: expected .*\(7,\)"),
        (
            (0.0, 0.0, 0.0, 1.0, 0.0, 1.5, 0.0),
            {},
            "start: expected a posture within the limits, got 1.000 rad of joint 4",
        ),
        (READY, {"reach": 3.0}, "reach: expected"),
        (READY, {"table_height": 0.7}, "table"),
    ],
)
def test_what_no_motion_fits_is_refused(start, options, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        weighing_motion(ROBOT, start, trials=30, **options)
