# SPDX-License-Identifier: Apache-2.0
"""Pushes and payloads on an arm whose residual is what its residual model says."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import some
from motion import PAYLOAD, carried, coloured, fed, followed, kinds, sinusoids, sinusoids_paced, standing, torques
from scipy.ndimage import gaussian_filter1d

from panda_dynamics_ros import InertialParameters, PayloadEstimator
from panda_dynamics_ros.estimation.estimate import PayloadMemory

AT = 2.5  # s, when something happens


@pytest.fixture(scope="module")
def motion():
    return sinusoids(3.5, rate=200.0)


def events_of(panda, motion, tau, seed):
    """The events that an estimator reports, over a coloured residual of this seed."""
    tau = tau + coloured(panda, motion.stamp, np.random.default_rng(seed))
    return [estimate.event for estimate in followed(panda, motion, tau)[1] if estimate.event]


def push(panda, motion, link, force, duration=0.15, begin=AT):
    """Torques (N, 7) that a force in base axes on a joint frame's origin adds to what the sensors show."""
    J = panda.jacobian(motion.q, f"joint{link}")[:, :3]
    during = (motion.stamp >= begin) & (motion.stamp < begin + duration)
    return np.where(during[:, None], -np.einsum("kji,j->ki", J, force), 0.0)


def test_nothing_happening_is_no_event(panda, motion):
    clean = torques(panda, motion)
    # 12 runs of 3.5 s: one false alarm in them would be 85 in an hour.
    assert [events_of(panda, motion, clean, seed) for seed in range(12)] == [[]] * 12


@some(("newton", "duration", "link", "least"), [(40.0, 0.15, 3, 6), (45.0, 0.25, 4, 11)])
def test_a_push_is_one_contact_and_no_payload(panda, motion, newton, duration, link, least):
    """Pushes come and go: one contact each, where they are seen, and hardly ever a payload beside it."""
    clean, rng, found = torques(panda, motion), np.random.default_rng(11), []
    for seed in range(12):
        force = rng.normal(size=3)
        shove = push(panda, motion, link + seed % 4, newton * force / np.linalg.norm(force), duration)
        found.append([event.kind for event in events_of(panda, motion, clean + shove, seed)])
    assert found.count(["contact"]) >= least, "a detector that sees nothing makes no mistakes either"
    assert found.count(["contact"]) + found.count([]) >= 11


def test_every_payload_of_a_kilogram_is_seen(panda, motion):
    tau = carried(panda, motion, AT)
    for seed in range(8):
        events = events_of(panda, motion, tau, seed)
        assert [event.kind for event in events] == ["pick"]
        assert 0.0 < events[0].stamp - AT < 0.12


@pytest.mark.slow
def test_a_light_pick_counts_when_it_has_been_followed_for_its_time(panda, motion):
    """0.18 kg, over half of the residual: at no moment is the evidence beyond what a false alarm an hour allows."""
    tau, seen = carried(panda, motion, AT, payload=replace(PAYLOAD, mass=0.18, inertia=0.001 * np.eye(3))), 0
    for seed in range(16):
        noise = 0.5 * coloured(panda, motion.stamp, np.random.default_rng(seed))
        estimator = PayloadEstimator(panda)
        empty = np.diag((0.01 * estimator.options.prior_std / estimator.options.mass_std) ** 2)
        estimator.restore(PayloadMemory(np.zeros(10), empty, np.zeros(10)))
        seen += kinds(fed(estimator, motion, tau + noise)) == ["pick"]
    assert seen >= 12, "by the evidence of one moment alone it would be 9"


def push_at(panda, motion, body, force, begin, end, rise):
    """Torques (N, 7) of a force in base axes on a body's centre, which comes and goes within `rise` s."""
    J, to_body = panda.jacobian(motion.q), panda.pose(motion.q)[:, :3, :3] @ body.com
    at_body = J[:, :3] + np.cross(J[:, 3:], to_body[..., None], axis=1)
    share = np.clip(np.minimum(motion.stamp - begin, end - motion.stamp) / rise, 0.0, 1.0)
    return -share[:, None] * np.einsum("kji,j->ki", at_body, force)


@pytest.mark.parametrize("force", [(0.0, 20.0, 0.0), (15.0, 15.0, 0.0)])
def test_while_it_is_pushed_the_arm_carries_what_it_did(panda, force):
    """1 kg. By a jump that goes on, the mass is 0.6 kg off from the end of the push until the touch is over."""
    motion = sinusoids(7.0, rate=200.0)
    tau = torques(panda, motion, PAYLOAD) + push_at(panda, motion, PAYLOAD, force, 5.0, 5.3, 0.05)
    _, estimates = followed(panda, motion, tau + coloured(panda, motion.stamp, np.random.default_rng(0)))
    before = next(each.mass for each in estimates if each.stamp > 4.9)
    assert max(abs(each.mass - before) for each in estimates if each.stamp > 5.2) < 0.05


@pytest.mark.parametrize(("force", "seed"), [((2.3, -2.4, 11.5), 0), ((3.0, 3.0, 11.0), 5)])
def test_a_lift_of_what_is_held_is_no_release(panda, force, seed):
    """12 N for a second on 1 kg, 16 and 21 degrees off the vertical: no weight does that."""
    motion, payload = sinusoids(8.0, rate=200.0), InertialParameters(1.0, [0.0, 0.0, 0.1], 0.003 * np.eye(3))
    tau = torques(panda, motion, payload) + push_at(panda, motion, payload, force, 5.0, 6.0, 0.1)
    assert [event.kind for event in events_of(panda, motion, tau, seed)] == ["contact"]


def test_what_was_there_from_the_start_is_no_part_of_a_release(panda):
    """A lift of a kilogram in a hand of 0.7 kg that nobody declared, by the weight of both."""
    motion, hand = sinusoids(11.0, rate=200.0), InertialParameters(0.7, [0.0, 0.0, 0.03], 0.001 * np.eye(3))
    tau = carried(panda.with_payload(hand), motion, 4.0)
    tau += push_at(panda, motion, PAYLOAD, [0.0, 0.0, 18.0], 8.0, 9.5, 0.01)
    found = [[each.kind for each in events_of(panda, motion, tau, seed)] for seed in range(6)]
    assert found.count(["pick", "contact"]) >= 3, "none, if all that is carried may go; 15 of 24 seeds"


def test_what_is_not_there_cannot_be_put_down(panda, motion):
    """A lift under the flange of an empty arm unloads it as a release would, and is a contact."""
    lift = push(panda, motion, 7, np.array([0.0, 0.0, 12.0]), duration=1.0)
    found = [events_of(panda, motion, torques(panda, motion) + lift, seed) for seed in range(4)]
    assert not any(event.kind == "release" for events in found for event in events)


@pytest.mark.parametrize("mass", [1.2, 2.0])
def test_what_comes_slowly_and_goes_again_is_not_there_any_more(panda, mass):
    """A load that is handed over within half a second to an arm that stands, and taken away a second later."""
    motion, body = standing(8.0, rate=200.0), InertialParameters(mass, [0.02, 0.0, 0.08], 0.004 * mass * np.eye(3))
    share = np.clip((motion.stamp - 2.0) / 0.5, 0.0, 1.0) * (motion.stamp < 3.5)
    load = torques(panda, motion, body) - torques(panda, motion)
    noise = 0.02 * np.random.default_rng(3).standard_normal(load.shape)
    _, estimates = followed(panda, motion, torques(panda, motion) + share[:, None] * load + noise)
    found = [estimate.event for estimate in estimates if estimate.event]
    assert [event.kind for event in found] == ["load", "release"]
    assert 3.5 < found[1].stamp < 4.0, "the filters need 0.2 s, and what is seen for 0.2 s is no noise"
    assert abs(estimates[-1].mass) < 2.0 * estimates[-1].std[0] < 0.4
    assert estimates[-1].status == "standing still, holding"


@some("seed", range(4))
def test_what_slips_in_the_hand_keeps_its_mass_and_has_its_centre_elsewhere(panda, seed):
    """4 cm within a fifth of a second, in motion: no event, and the centre of mass within three sigmas from then on."""
    motion, way = sinusoids(16.0, rate=200.0), np.array([0.04, 0.0, 0.0])
    before = InertialParameters(1.0, np.array([0.0, 0.0, 0.1]), 0.0016 * np.eye(3))
    share = np.clip((motion.stamp - 8.0) / 0.2, 0.0, 1.0)[:, None]
    tau = (1.0 - share) * torques(panda, motion, before) + share * torques(
        panda, motion, replace(before, com=before.com + way)
    )
    tau += 0.3 * coloured(panda, motion.stamp, np.random.default_rng(seed))
    _, estimates = followed(panda, motion, tau)
    assert not any(estimate.event and estimate.event.kind in ("pick", "release") for estimate in estimates)
    after = [estimate for estimate in estimates if estimate.stamp > 9.0]
    assert all((np.abs(each.com - before.com - way) < 3.0 * each.com_std).all() for each in after)
    assert all(abs(each.mass - 1.0) < 0.1 for each in after)
    assert after[-1].com_std[0] < 0.02, "and it is learnt again"


def test_who_pushes_before_the_first_sample_has_let_go_when_the_torques_are_those_of_the_arm(panda):
    motion = sinusoids(10.0, rate=200.0)
    tau = carried(panda, motion, 7.0, seed=0) + push(panda, motion, 7, [6.0, 25.0, 10.0], duration=3.0, begin=0.0)
    _, estimates = followed(panda, motion, tau)
    assert kinds(estimates) == ["contact", "pick"]
    after = [each for each in estimates if 4.0 < each.stamp < 7.0 or each.stamp > 8.0]
    assert all(abs(each.mass - PAYLOAD.mass * (each.stamp > 7.0)) < 2.0 * each.std[0] < 0.4 for each in after)


def test_who_lifts_the_arm_from_the_first_sample_on_leaves_an_empty_hand(panda):
    """The lift has the torques of less than nothing: the payload before its end, but not what the arm's parts lack."""
    motion = standing(6.0, rate=200.0)
    lift = push(panda, motion, 7, [0.0, 0.0, 20.0], duration=3.0, begin=0.0)
    estimator, _ = followed(panda, motion, torques(panda, motion) + lift)
    assert abs(estimator.raw_mass) < 0.2, "and not 2 kg"


def test_what_is_picked_up_stays_while_it_counts_as_decided(panda):
    """At any moment between two onsets: the present torque counts at each update; the mass is never that of before."""
    motion, body = standing(3.0, rate=1000.0), InertialParameters(2.5, [0.02, 0.02, 0.08], 0.005 * np.eye(3))
    for at in (1.5, 1.505, 1.51, 1.515):
        tau = carried(panda, motion, at, payload=body) + 0.05 * np.random.default_rng(0).normal(size=motion.q.shape)
        _, estimates = followed(panda, motion, tau)
        assert all(abs(each.mass - 2.5) < 0.15 for each in estimates if each.stamp > at + 0.2), "zero, for one update"


@some(("mass", "newton", "gap"), [(0.35, 6.0, 0.0), (0.8, 4.0, 0.0), (0.8, -6.0, 0.1)])
def test_what_pulls_or_presses_just_before_a_lift_is_no_part_of_the_object(panda, mass, newton, gap):
    """The object sticks for 0.3 s, or the gripper presses on it, as the arm begins to move."""
    stamp, body = np.arange(0.0, 7.0, 0.005), InertialParameters(mass, [0.0, 0.0, 0.1], 0.002 * mass * np.eye(3))
    motion = sinusoids_paced(stamp, np.clip(np.maximum((1.5 - stamp) / 0.5, (stamp - 2.4) / 1.5), 0.0, 1.0))
    tau = carried(panda, motion, AT + gap, payload=body)
    tau += push(panda, motion, 7, [0.0, 0.0, -newton], 0.3, AT - 0.3)
    _, estimates = followed(panda, motion, tau + 0.02 * np.random.default_rng(0).standard_normal(tau.shape))
    assert all(abs(each.mass - mass) < 3.0 * each.std[0] for each in estimates if each.stamp > AT + gap + 1.0)
    assert estimates[-1].std[0] < 0.1


@some(("gap", "rise"), [(0.6, 0.5), (3.0, 1e-3), (0.15, 1e-3), (0.15, 0.5), (0.6, 1e-3)], 2)
def test_what_comes_while_no_samples_do_is_weighed_at_once(panda, gap, rise):
    """A call of the gripper stops the stream of many drivers; the arm stands meanwhile."""
    stamp = np.arange(0.0, 12.0, 0.005)
    motion = sinusoids_paced(stamp, np.clip(np.maximum((4.5 - stamp) / 0.5, (stamp - 10.0) / 0.5), 0.0, 1.0))
    share, seen = np.clip((stamp - 7.95) / rise, 0.0, 1.0)[:, None], (stamp < 8.0 - gap) | (stamp >= 8.0)
    tau = (1.0 - share) * torques(panda, motion) + share * torques(panda, motion, PAYLOAD)
    part = replace(motion, stamp=stamp[seen], q=motion.q[seen], dq=motion.dq[seen])
    _, estimates = followed(panda, part, (tau + 0.02 * np.random.default_rng(0).standard_normal(tau.shape))[seen])
    assert kinds(estimates) == ["load", "pick"], "the second once it has moved with the arm"
    assert all(abs(e.mass - 1.0) < min(0.1, 3.0 * e.std[0]) for e in estimates if e.stamp > 8.1 + rise)


def test_a_tool_that_is_pressed_on_a_table_at_rest_is_in_doubt(panda):
    """0.8 kg, of which a table takes 0.55 kg: the interval has both until a push aside ends, and the press with it."""
    stamp, tool = np.arange(0.0, 9.0, 0.005), replace(PAYLOAD, mass=0.8)
    motion = sinusoids_paced(stamp, np.clip((4.0 - stamp) / 0.5, 0.0, 1.0))
    tau = carried(panda, motion, 1.5, payload=tool) + push(panda, motion, 7, [0.0, 0.0, 5.5], 1.5, 5.0)
    noise = 0.02 * np.random.default_rng(0).standard_normal(tau.shape)
    _, estimates = followed(panda, motion, tau + push(panda, motion, 7, [0.0, 15.0, 0.0], 1.0, 6.5) + noise)
    pressed = [each for each in estimates if 5.6 < each.stamp < 6.4]
    assert all(abs(each.mass - 0.8) < 2.5 * each.std[0] and each.status.startswith("a weight") for each in pressed)
    assert kinds(estimates) == ["pick", "release", "contact"], "and no other pick"
    assert abs(estimates[-1].mass - 0.8) < 3.0 * estimates[-1].std[0] < 0.3


def test_a_finger_that_has_pressed_a_standing_arm_down_leaves_no_doubt(panda):
    motion = standing(14.0, 200.0)
    tau = torques(panda, motion) + push(panda, motion, 7, [0.0, 0.0, -15.0], 0.3, 6.0)
    _, estimates = followed(panda, motion, tau + 0.02 * np.random.default_rng(0).standard_normal(tau.shape))
    assert estimates[-1].status.startswith("standing still"), "not a weight or a steady push"
    assert estimates[-1].mass < estimates[-1].std[0] > 0.1


def test_in_a_loop_what_was_in_doubt_at_its_end_may_end_at_its_begin(panda):
    """Half of a load is let down at rest: a release, or a push. At the begin of the recording it is there again."""
    motion, more = standing(12.0, 200.0), replace(PAYLOAD, mass=2.0)
    share = np.clip((motion.stamp - 8.0) / 0.6, 0.0, 1.0)[:, None]
    tau = (1.0 - share) * torques(panda, motion, more) + share * torques(panda, motion, PAYLOAD)
    tau += 0.02 * np.random.default_rng(0).standard_normal(tau.shape)
    estimator, first = followed(panda, motion, tau)
    again = fed(estimator, motion, tau)
    assert (kinds(first), kinds(again)) == (["release"], ["load", "release"])


def test_in_a_loop_what_is_carried_at_its_begin_is_not_known_from_its_end(panda):
    motion = sinusoids(6.0, rate=200.0)
    tau = carried(panda, motion, 3.0, seed=0)
    estimator, _ = followed(panda, motion, tau)
    again = fed(estimator, motion, tau)
    assert kinds(again) == ["release", "pick"]
    assert max(each.mass / each.std[0] for each in again if each.stamp < 2.9) < 3.0, "24 as for a known payload"


def test_in_a_loop_the_last_contact_is_not_the_first(panda):
    motion = sinusoids(6.0, rate=200.0)
    tau = torques(panda, motion) + push(panda, motion, 4, [0.0, 40.0, 40.0], 4.0, 4.3)
    estimator, first = followed(panda, motion, tau)
    again = fed(estimator, motion, tau)
    assert kinds(first) == kinds(again) == ["contact"]


@pytest.mark.slow
def test_a_light_object_may_be_taken_away_while_the_arm_is_touched(panda):
    motion, body = sinusoids(12.0, rate=200.0), InertialParameters(0.25, [0.0, 0.0, 0.06], 0.001 * np.eye(3))
    tau = carried(panda, motion, 3.0, 8.5, body) + push(panda, motion, 7, [0.0, 25.0, 0.0], 2.0, 7.0)
    worst = []
    for seed in range(5):
        _, estimates = followed(panda, motion, tau + 0.7 * coloured(panda, motion.stamp, np.random.default_rng(seed)))
        worst.append(max(each.mass / each.std[0] for each in estimates if each.stamp > 9.5))
    assert np.median(worst) < 4.0, "6.8, if what was carried before counts as certain"
    assert estimates[-1].std[0] < 0.03, "an empty hand, as after a release that nobody hides"


@some("seed", [1, 7, 8])
def test_what_is_picked_up_beside_a_hand_that_guides_the_arm_is_weighed_before_it_has_let_go(panda, seed):
    """1 kg, after a second. It is at most 0.31 kg where the hand is expected to be as strong as one that pushes."""
    motion, rng = sinusoids(8.0, rate=100.0), np.random.default_rng(seed)
    hand = gaussian_filter1d(rng.standard_normal((1200, 3)), 30, axis=0)[: len(motion.stamp)]  # 3 N, over 0.3 s
    hand *= 3.0 / hand.std() * (motion.stamp > 4.0)[:, None]
    tau = carried(panda, motion, 6.0) - np.einsum("kji,kj->ki", panda.jacobian(motion.q)[:, :3], hand)
    _, estimates = followed(panda, motion, tau + 0.5 * coloured(panda, motion.stamp, np.random.default_rng(seed)))
    assert next(each.mass for each in estimates if each.stamp > 7.0) > 0.5


@pytest.mark.slow
def test_the_end_of_a_touch_is_found_however_long_it_has_lasted(panda):
    """An empty hand leans on a table with 15 N for 75 s: what it knew before is what it knows afterwards."""
    stamp = np.arange(0.0, 87.0, 0.01)
    motion = sinusoids_paced(stamp, np.clip(np.maximum((6.0 - stamp) / 0.5, (stamp - 81.0) / 0.5), 0.0, 1.0))
    force = np.clip(np.minimum(stamp - 6.6, 80.9 - stamp) / 0.3, 0.0, 1.0)[:, None] * [0.0, 0.0, 15.0]
    lean = -np.einsum("kji,kj->ki", panda.jacobian(motion.q)[:, :3], force)
    noise = 0.05 * np.random.default_rng(0).standard_normal(lean.shape)
    _, estimates = followed(panda, motion, torques(panda, motion) + lean + noise)
    assert kinds(estimates) == ["contact"]
    assert all(each.mass < 0.02 for each in estimates if each.stamp > 81.5)
    assert estimates[-1].mass_margin < 0.2
