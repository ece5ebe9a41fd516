# SPDX-License-Identifier: Apache-2.0
"""`estimate.problem`: wrong input has its sentence within two seconds of motion, a healthy arm has none."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import public_log, some
from motion import PAYLOAD, carried, coloured, fed, followed, kinds, sinusoids, sinusoids_paced, torques
from wrong_inputs import REFUSED, WRONG, recording

import panda_dynamics_ros as pdr
from benchmarks.payload.real_log import payload_torques

SECONDS = 3.0  # the filters settle, and two seconds in which a sentence must come


@pytest.fixture(scope="module")
def arm(panda):
    """Motion, unloaded and loaded torques of a Panda with the coloured residual of its model."""
    motion = sinusoids(SECONDS)
    return motion, carried(panda, motion, np.inf, seed=5), carried(panda, motion, 0.0, seed=5)


@pytest.fixture(scope="module")
def clean(panda, arm):
    return followed(panda, arm[0], arm[2])[0].estimate


@pytest.mark.parametrize(
    ("load", "known", "named"),
    [(0.0, 0.0, False), (1.0, 0.0, False), (1.0, 1.0, False), (1.0, 2.0, True), (0.0, 2.0, False)],
)
def test_a_healthy_arm_has_no_problem_unless_a_known_mass_contradicts_it(panda, arm, load, known, named):
    """An arm that carries nothing contradicts no known mass."""
    problem = followed(panda, arm[0], arm[1 + (load > 0.0)], known_mass=known)[0].estimate.problem
    assert ("contradicts known_mass = 2 kg" in problem) == bool(problem) == named


def test_joints_without_friction_are_not_stuck(panda):
    """As in simulators: those of a slow wrist have next to no torque, where the model expects their friction."""
    along = sinusoids(8.0, rate=200.0)
    slow = replace(along, q=along.q[0] + 0.1 * (along.q - along.q[0]), dq=0.1 * along.dq, ddq=0.1 * along.ddq)
    tau = panda.inverse_dynamics(slow.q, slow.dq, slow.ddq)
    assert {estimate.problem for estimate in followed(panda, slow, tau)[1]} == {""}


@pytest.mark.parametrize("link", [4, 7])
def test_a_hand_that_pushes_a_moving_arm_is_no_fault_of_it(panda, link):
    """Two seconds of 25 N aside, which no payload explains."""
    motion = sinusoids(6.0, rate=200.0)
    J, pushed = panda.jacobian(motion.q, f"joint{link}")[:, 1], (motion.stamp >= 2.0) & (motion.stamp < 4.0)
    tau = torques(panda, motion) + coloured(panda, motion.stamp, np.random.default_rng(2)) - 25.0 * pushed[:, None] * J
    _, estimates = followed(panda, motion, tau)
    assert {estimate.problem for estimate in estimates} == {""}
    assert "contact" in kinds(estimates)


@pytest.mark.parametrize(
    ("begin", "end_effector", "named"), [(0.0, "none", True), (1.5, "none", False), (0.0, "hand", False)]
)
def test_what_weighs_as_much_as_a_hand_from_the_start_may_be_one(begin, end_effector, named):
    """Unless one is declared."""
    robot, motion = pdr.load_robot("panda", end_effector=end_effector), sinusoids(SECONDS)
    body = pdr.InertialParameters(0.72, PAYLOAD.com, 0.72 * PAYLOAD.inertia)
    for arm, hint in ((robot, named), (replace(robot, T_joint_flange=np.eye(4)), False)):  # the latter is no Franka
        estimate = followed(arm, motion, carried(arm, motion, begin, payload=body, seed=5))[0].estimate
        assert ("set end_effector to hand" in estimate.problem) == hint


def test_what_was_picked_up_and_lifted_by_half_for_a_while_was_not_there_from_the_start(panda):
    """What seemed to be a release was a push from below; the pick before it stands."""
    body, t = pdr.InertialParameters(0.72, PAYLOAD.com, 0.72 * PAYLOAD.inertia), np.arange(0.0, 22.0, 0.005)
    motion = sinusoids_paced(t, np.clip(np.maximum((8.0 - t) / 0.5, (t - 14.0) / 0.5), 0.0, 1.0))
    share = (np.where(t < 4.0, 0.0, 1.0) - 0.5 * np.clip(np.minimum(t - 10.0, 12.0 - t) / 0.1, 0.0, 1.0))[:, None]
    tau = (1.0 - share) * torques(panda, motion) + share * torques(panda, motion, body)
    _, estimates = followed(panda, motion, tau + coloured(panda, t, np.random.default_rng(3)))
    assert kinds(estimates)[0] == "pick"
    assert not any(estimate.problem for estimate in estimates)


@pytest.mark.parametrize("name", [*WRONG, *REFUSED])
def test_wrong_input_is_named(panda, name):
    change, words = (WRONG | REFUSED)[name][:2]
    wrong = change(recording(panda, SECONDS))
    estimator, (*_, estimate) = followed(panda, wrong.motion, wrong.tau)
    assert words in estimate.problem
    if name == "degrees":
        assert estimator.counts.used < 0.05 * len(wrong.tau)
    if name == "two robots":  # one of them is followed
        assert estimator.counts.implausible["position jump"] == pytest.approx(0.5 * len(wrong.tau), rel=0.05)
        assert abs(estimate.mass - PAYLOAD.mass) < 2.0 * estimate.std[0]


def test_a_pick_on_an_arm_lighter_than_its_model(panda):
    """Links that include a hand which is not mounted: less than nothing is carried before the pick, 1 kg after it."""
    motion, model = sinusoids(10.0, 500.0), pdr.load_robot("panda_ledezma")
    _, estimates = followed(model, motion, carried(panda, motion, 4.0, seed=3))
    assert all(e.problem for e in estimates if 3.0 <= e.stamp <= 4.0)
    assert any("lighter than those of the unloaded arm" in e.problem for e in estimates)
    estimate = estimates[-1]
    assert abs(estimate.mass - PAYLOAD.mass) < 2.5 * estimate.std[0]


def test_with_a_hand_that_is_not_mounted_a_load_is_what_is_picked_up(panda):
    """Mass and centre of mass beyond the least that was carried; and why that is less than nothing stays named."""
    motion, model = sinusoids(10.0, 500.0), pdr.load_robot("panda", end_effector="hand")
    _, estimates = followed(model, motion, carried(panda, motion, 4.0, seed=3))
    late = [e for e in estimates if e.stamp > 6.0]
    assert all("a declared end_effector is mounted" in e.problem for e in late)
    assert abs(late[-1].mass - PAYLOAD.mass) < 2.0 * late[-1].std[0]
    assert (np.abs(late[-1].com - PAYLOAD.com) < 2.0 * late[-1].com_std).all()


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("box 0.134 0.134 0.173", ""),  # its inertia
        ("sphere 0.05", ""),  # too small to matter
        ("sphere 0.02", "the density of no payload"),
        ("box 3 3 2", "the density of no payload"),
        ("box 1 0.1 0.1", "contradict the inertia of shape"),
    ],
)
def test_a_shape_that_contradicts_the_torques_is_named(panda, shape, words):
    """Of 1 kg that is picked up, on an arm with the rotors' inertia and friction that its model lacks."""
    motion = sinusoids(6.5, 250.0)
    tau = carried(panda, motion, 2.5, seed=3) + 0.05 * motion.ddq + 0.5 * motion.dq
    estimate = followed(panda, motion, tau, shape=shape)[0].estimate
    assert words in estimate.problem
    assert bool(words) == bool(estimate.problem)


@some(
    ("gain", "delay", "words"),
    [(-0.15, 0.0, "all joints"), (0.06, 0.01, ""), (0.0, 0.025, "behind"), (-0.06, 0.0, ""), (0.0, -0.025, "ahead of")],
    always=3,
)
def test_a_gain_or_a_delay_of_all_torques_is_named(panda, gain, delay, words):
    """A gain larger than what links of other masses look like, and a delay of 25 ms; smaller ones are learnt."""
    motion = sinusoids(9.0, 250.0)
    tau = (1.0 + gain) * carried(panda, motion, 6.0) + coloured(panda, motion.stamp, np.random.default_rng(3))
    tau = np.column_stack([np.interp(motion.stamp - delay, motion.stamp, joint) for joint in tau.T])
    estimator, (*_, estimate) = followed(panda, motion, tau)
    assert words in estimate.problem
    assert bool(words) == bool(estimate.problem)
    errors = estimator.arm_errors  # they are drawn to zero
    assert abs(errors.common_gain - gain) < 2.0 * errors.common_gain_std + 0.6 * abs(gain)
    assert abs(errors.delay - delay) < 2.0 * errors.delay_std + 0.3 * abs(delay)


@pytest.mark.parametrize(("scale", "named"), [(3.3, True), (5.0, True), (2.9, False)])
def test_a_payload_above_the_heaviest_is_named(panda, arm, scale, named):
    motion, unloaded, loaded = arm
    estimate = followed(panda, motion, unloaded + scale * (loaded - unloaded))[0].estimate
    assert ("at most max_mass = 3 kg" in estimate.problem) == named
    assert abs(estimate.mass - scale) < 2.0 * estimate.std[0]  # 3 kg are published at most


@pytest.mark.parametrize(
    ("field", "joint", "value"),
    [("dq", 0, 10.0), ("dq", 0, 4.0), ("tau", 1, 4e4), ("tau", 1, -80.0), ("tau", 2, 1e308)],
)
def test_a_single_fault_is_left_out_and_counted(panda, arm, clean, field, joint, value):
    motion, _, tau = arm
    wrong = {"dq": motion.dq.copy(), "tau": tau.copy()}
    wrong[field][2000, joint] = value
    estimator, (*_, estimate) = followed(panda, replace(motion, dq=wrong["dq"]), wrong["tau"])
    assert estimator.counts.implausible.total() == 1
    assert estimate.problem == ""
    # One sample of three thousand is missing: the filters take its neighbours as linear in between.
    np.testing.assert_allclose(estimate.vector, clean.vector, rtol=0.0, atol=2e-3)


def test_an_event_is_on_its_own_sample_only(panda):
    motion = sinusoids(4.0)
    assert len(kinds(fed(pdr.PayloadEstimator(panda), motion, carried(panda, motion, 2.5)))) == 1


@some(
    ("log", "robot", "end_effector", "words"),
    [
        ("panda_gaz/excitation_1khz_first_7600ms.csv", "panda", "none", ""),
        ("panda_unisa_bag/panda_exciting_trajectory.db3", "panda", "none", ""),
        ("panda_hand_guided/hand_guided_100hz_1.csv", "panda", "none", ""),
        ("fr3_hand_teleop/teleop_1khz_a.csv", "fr3", "none", "end_effector to hand"),
        ("fr3_hand_teleop/teleop_1khz_a.csv", "fr3", "hand", ""),
        ("fr3_hand_teleop/teleop_1khz_b.csv", "fr3", "hand", ""),
        *((f"panda_hand_guided/hand_guided_100hz_{k}.csv", "panda", "none", "") for k in (2, 3, 4)),
        ("panda_gaz/excitation_1khz_first_7600ms.csv", "panda_ledezma", "none", "got panda_ledezma"),
        ("panda_gaz/excitation_1khz_first_7600ms.csv", "panda", "hand", "got panda"),
    ],
    4,
)
def test_real_arms(log, robot, end_effector, words):
    model = pdr.load_robot(robot, end_effector=end_effector)
    data = pdr.load_dataset(public_log(log))  # whose reader does not know the arm, and refuses nothing
    estimator, estimates = followed(model, data, data.tau)
    problems = {estimate.problem for estimate in estimates}
    assert estimator.counts.implausible.total() == 0
    if words:
        assert all(words in problem for problem in problems - {""})
        assert problems - {""}
    else:
        assert problems == {""}


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_arm_that_is_guided_from_the_start_picks_nothing_up(panda, number):
    """The same recordings, begun at any second: what the hand does then was there from the start, as a payload may be.

    It is told from a payload, which it would be by three standard deviations, in a second and a half. Known fault: what
    the hand does 3.3 s after the start of recording 4 is called a pick, of 0.3 kg with a standard deviation of 0.35 kg.
    """
    picks = []
    data = pdr.load_dataset(public_log(f"panda_hand_guided/hand_guided_100hz_{number}.csv"), panda)
    for start in np.arange(data.stamp[0], data.stamp[-1] - 2.0):
        k = data.stamp >= start
        rest = pdr.JointDataset(data.stamp[k], data.q[k], data.dq[k], data.tau[k], data.names, "the rest")
        _, estimates = followed(panda, rest, rest.tau)
        picks += [kind for kind in kinds(estimates) if kind not in ("contact", "load")]
        for estimate in estimates:
            assert estimate.mass - 3.0 * estimate.std[0] < (0.15 if estimate.stamp > start + 1.5 else 0.4), start
    assert len(picks) <= (number == 4), picks


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_what_comes_while_somebody_guides_the_arm_is_in_the_interval(panda, number):
    """1 kg, added at any second: 3 sigmas hold it after a second; the median error after 2 s is less than 0.7 kg."""
    path, off = public_log(f"panda_hand_guided/hand_guided_100hz_{number}.csv"), []
    data, load = pdr.load_dataset(path, panda), payload_torques(PAYLOAD, path)
    for begin in np.arange(data.stamp[0] + 1.5, data.stamp[-1] - 2.2, 0.9):
        _, estimates = followed(panda, data, data.tau + (data.stamp >= begin)[:, None] * load)
        for estimate in estimates:
            assert abs(estimate.mass - PAYLOAD.mass) < 3.0 * estimate.std[0] or estimate.stamp < begin + 1.0, begin
        off.append(next(abs(each.mass - PAYLOAD.mass) for each in estimates if each.stamp > begin + 2.0))
    assert np.median(off) < 0.7


def test_a_gap_does_not_end_what_a_hand_does(panda):
    """1 kg from the start: what the hand adds to it is not learnt when samples come again."""
    path = public_log("panda_hand_guided/hand_guided_100hz_2.csv")
    data, load = pdr.load_dataset(path, panda), payload_torques(PAYLOAD, path)
    k = np.abs(data.stamp - data.stamp[0] - 2.075) > 0.075
    there = pdr.JointDataset(data.stamp[k], data.q[k], data.dq[k], (data.tau + load)[k], data.names, "with a gap")
    assert {estimate.problem for estimate in followed(panda, there, there.tau)[1]} == {""}


@some("recording", ["a", "b"])
def test_an_fr3_with_a_hand(recording):
    """Truth: 0.71 to 0.76 kg at z = 0.02 to 0.03 m; the flange points down within 25 degrees."""
    for end_effector, least, most in (("none", 0.71, 0.76), ("hand", 0.0, 0.0)):
        fr3 = pdr.load_robot("fr3", end_effector=end_effector)
        data = pdr.load_dataset(public_log(f"fr3_hand_teleop/teleop_1khz_{recording}.csv"), fr3)
        _, estimates = followed(fr3, data, data.tau)
        assert kinds(estimates) == []
        estimate = estimates[-1]
        assert least - 2.0 * estimate.std[0] < estimate.mass < most + 2.0 * estimate.std[0]
        assert estimate.is_carried == (end_effector == "none")
        if estimate.is_carried and estimate.identifiable[3]:
            assert 0.02 - 2.0 * estimate.com_std[2] < estimate.com[2] < 0.03 + 2.0 * estimate.com_std[2]
