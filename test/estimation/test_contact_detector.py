# SPDX-License-Identifier: Apache-2.0
"""Pushes and payloads on an arm whose residual is what its residual model says; and on a standing Panda with a force
sensor at the flange, where a finger pushes, or an object is put on it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import public_log, some
from motion import PAYLOAD, Motion, carried, coloured, sinusoids, sinusoids_paced, standing, torques

from panda_dynamics_ros import InertialParameters, load_dataset, load_robot
from panda_dynamics_ros.estimation import ArmMonitor, Contact
from panda_dynamics_ros.simulation.realism import SensorLevels

AT, DURATION = 1.0, 0.3  # s


@pytest.fixture(scope="module")
def motion():
    return sinusoids(2.5)


@pytest.fixture(scope="module")
def clean(panda, motion):
    return torques(panda, motion)


def run(monitor, motion, tau, payloads=()):
    """The contacts reported, as they were in the end; `payloads`: (stamp, payload) that the monitor is told of."""
    found: dict[float, Contact] = {}
    firsts = [0, *np.searchsorted(motion.stamp, [stamp for stamp, _ in payloads]), len(tau)]
    for part, payload in zip(map(slice, firsts, firsts[1:]), (None, *(each for _, each in payloads)), strict=True):
        if payload is not None:
            monitor.carry(payload)
        rows = monitor.update_rows(motion.stamp[part], motion.q[part], motion.dq[part], tau[part], payload=False)
        found |= {contact.start: contact for _, contact in rows.contacts}
    return list(found.values())


def pushed(panda, motion, link, sigmas, rng):
    """Torques (N, 7) of a force on a link's centre of mass that loads some joint by so many sigmas."""
    J = panda.com_jacobian(motion.q, link)[:, :3]
    direction = rng.normal(size=3)
    load = np.einsum("kji,j->ki", J, direction)
    during = (motion.stamp >= AT) & (motion.stamp < AT + DURATION)
    first = np.argmax(during)
    return -load * during[:, None] * sigmas / np.abs(load[first] / panda.residual.std).max()


def test_in_a_loop_lost_samples_at_the_end_hide_no_contact_at_the_begin(panda, motion, clean, rng):
    """Of 50 ms, in a stream of 1 kHz."""
    tau = clean + coloured(panda, motion.stamp, rng) + pushed(panda, motion, 4, 12.0, rng)
    monitor, kept = ArmMonitor(panda), (motion.stamp < 2.0) | (motion.stamp > 2.05)
    motion = Motion(*(getattr(motion, name)[kept] for name in ("stamp", "q", "dq", "ddq")))
    (first,), (again,) = (run(monitor, motion, tau[kept]) for _ in range(2))
    assert all(0.0 < contact.start - AT <= 0.05 for contact in (first, again))


def test_in_a_loop_a_contact_that_lasts_at_the_end_ends_no_earlier_than_it_began(panda, motion, clean, rng):
    tau, part = clean + coloured(panda, motion.stamp, rng) + pushed(panda, motion, 4, 12.0, rng), slice(0, 1200)
    motion, monitor = Motion(*(getattr(motion, name)[part] for name in ("stamp", "q", "dq", "ddq"))), ArmMonitor(panda)
    (lasts,), (ended, _) = (run(monitor, motion, tau[part]) for _ in range(2))
    assert lasts.lasts and (ended.start, ended.end) == (lasts.start, lasts.start)


def test_pushes_are_found_within_50_ms_and_end(panda, motion, clean, rng):
    """Of twelve sigmas a second after the start, when little is known of the arm's noise."""
    for seed in range(18):
        link = 2 + seed % 6
        tau = clean + coloured(panda, motion.stamp, rng) + pushed(panda, motion, link, 12.0, rng)
        (contact,) = run(ArmMonitor(panda), motion, tau)
        assert 0.0 < contact.start - AT <= 0.05, seed
        assert contact.ended_by == "released"
        assert 0.1 < contact.end - (AT + DURATION) < 0.4, seed


REAL = [
    ("panda_gaz/excitation_1khz_first_7600ms.csv", "panda", "none"),
    ("panda_gaz/excitation_1khz_second_pass_13333ms_to_17000ms.csv", "panda", "none"),
    ("panda_unisa_bag/panda_exciting_trajectory.db3", "panda", "none"),
    ("fr3_hand_teleop/teleop_1khz_a.csv", "fr3", "hand"),
    ("fr3_hand_teleop/teleop_1khz_b.csv", "fr3", "hand"),
]


@pytest.mark.parametrize(("file", "robot", "end_effector"), REAL)
def test_real_arms_start_quiet(file, robot, end_effector):
    """Nothing touches them: with the threshold of a simulated arm, four of the five report contacts."""
    data, monitor = load_dataset(public_log(file)), ArmMonitor(load_robot(robot, end_effector=end_effector))
    assert run(monitor, data, data.tau) == []


def test_links_are_named_while_the_torques_rise(panda, motion, clean, rng):
    """10 sigmas, so that most joints of the link feel it: half of the links right, hardly one off by more than one."""
    off = []
    for k in range(24):
        link = 2 + k % 6
        push = pushed(panda, motion, link, 10.0, rng)
        (contact,) = run(ArmMonitor(panda), motion, clean + coloured(panda, motion.stamp, rng) + push)
        off.append(contact.link - link)
        # The torques that are reported are those of the push, though the filters have not let all of it through.
        felt = -push[np.argmax(push.any(axis=1))]
        most = np.argmax(np.abs(felt) / panda.residual.std)
        assert 0.2 < contact.torques[most] / felt[most] < 1.8
    assert np.mean(np.array(off) == 0) >= 0.5
    assert np.mean(np.abs(off) <= 1) >= 0.8


def test_nothing_happening_is_no_contact(panda, motion, clean, rng):
    """25 runs of 2.5 s, the joints turning around 3 times in each: an alarm in them would be 60 in an hour."""
    for _ in range(25):
        assert run(ArmMonitor(panda), motion, clean + coloured(panda, motion.stamp, rng)) == []


def with_stops(seconds):
    """Motion that rests for half a second every three seconds."""
    stamp = np.arange(1000 * seconds) / 1000.0
    return sinusoids_paced(stamp, np.clip(0.3 - 1.5 * np.cos(2.0 * np.pi * stamp / 3.0), 0.0, 1.0))


def test_a_learnt_delay_of_the_torques_is_no_contact(panda):
    """25 ms, at starts and stops: longer than dry friction takes to turn. The first of them teach the delay."""
    motion = with_stops(10)
    tau = np.column_stack([np.interp(motion.stamp - 0.025, motion.stamp, x) for x in torques(panda, motion).T])
    monitor = ArmMonitor(panda)
    contacts = monitor.update_rows(motion.stamp, motion.q, motion.dq, tau).contacts
    assert all(contact.start < 3.0 for _, contact in contacts)
    assert monitor.payload_estimator.delay == pytest.approx(0.025, abs=0.003)


@pytest.mark.parametrize("mass", [0.0, 2.5])
def test_noise_of_the_sensors_is_no_contact_where_an_arm_stops(panda, mass):
    """The arm is as its model says: what its torques show in motion is less than expected, and the noise at rest is no
    part of that. The noise of the velocities shows in the momentum of what is carried, too."""
    motion, body = with_stops(15), InertialParameters(mass, [0.02, 0.02, 0.08], 0.002 * mass * np.eye(3))
    clean = torques(panda, motion, body)
    for seed in range(4):
        noise = np.random.default_rng(seed).standard_normal((2, *motion.q.shape))
        monitor, measured = ArmMonitor(panda), replace(motion, dq=motion.dq + 0.003 * noise[1])
        monitor.carry(body)
        assert run(monitor, measured, clean + 0.05 * noise[0]) == []


@pytest.mark.parametrize("rate", [30.0, 50.0])
def test_vibrations_that_a_slow_stream_folds_are_no_contact(panda, rate, rng):
    """Sensors of real arms vibrate at 35 Hz: to a slow stream, white noise of what it is at once. Pushes are found."""
    still, level = standing(2.0, rate), np.hypot(SensorLevels().torque_vibration, SensorLevels().torque_noise)
    for _ in range(10):
        tau = torques(panda, still) + level * rng.standard_normal(still.q.shape)
        assert run(ArmMonitor(panda), still, tau) == []
        assert run(ArmMonitor(panda), still, tau + pushed(panda, still, 5, 12.0, rng))[0].start >= AT


def test_wrong_friction_that_turns_is_no_contact(panda, motion, clean):
    """Coulomb friction off by half a sigma in every joint: a step of one sigma wherever a joint turns around."""
    wrong = 0.5 * panda.residual.std * np.tanh(motion.dq / 0.01)
    assert run(ArmMonitor(panda), motion, clean + wrong) == []


def test_an_unknown_payload_is_a_contact_and_then_carried(panda, motion):
    (contact,) = run(ArmMonitor(panda, contact={"longest_s": 0.8}), motion, carried(panda, motion, AT))
    assert contact.start - AT < 0.05
    assert contact.ended_by == "steady"
    assert contact.end == pytest.approx(contact.start + 0.8, abs=0.002)


def test_a_payload_that_is_told_of_explains_its_contact(panda, motion):
    """As the payload estimator does: it says what was picked up some 100 ms later."""
    (contact,) = run(ArmMonitor(panda), motion, carried(panda, motion, AT), [(AT + 0.1, PAYLOAD)])
    assert contact.ended_by == "payload"
    assert contact.end - AT < 0.3


def test_another_estimate_of_the_payload_is_no_contact(panda, motion, rng):
    """The payload is there all the time; the detector learns of it, then better, then that there is none."""
    tau = torques(panda, motion, PAYLOAD) + coloured(panda, motion.stamp, rng)
    half = InertialParameters(0.5 * PAYLOAD.mass, PAYLOAD.com, 0.5 * PAYLOAD.inertia)
    told = [(0.0, PAYLOAD), (0.8, half), (1.2, InertialParameters.zero()), (1.6, PAYLOAD)]
    assert run(ArmMonitor(panda), motion, tau, told) == []


def test_a_contact_does_not_outlive_a_gap(panda, motion, clean):
    monitor = ArmMonitor(panda)
    load = np.where((motion.stamp >= AT)[:, None], 10.0 * panda.residual.std, 0.0)
    (contact,) = run(monitor, sinusoids(1.2), (clean - load)[:1200])
    assert contact.lasts
    (contact,) = run(monitor, sinusoids(0.001, start=3.2), clean[1200:1201])
    assert not contact.lasts


def test_on_a_standing_arm_a_contact_goes_on_over_a_gap(panda, rng):
    still = standing(3.0, 1000.0)
    tau, kept = torques(panda, still) + pushed(panda, still, 5, 10.0, rng), np.abs(still.stamp - AT - 0.15) > 0.07
    still = Motion(still.stamp[kept], still.q[kept], still.dq[kept], still.ddq[kept])
    (contact,) = run(ArmMonitor(panda), still, tau[kept])
    assert contact.ended_by == "released"
    assert 0.0 < contact.end - (AT + DURATION) < 0.3


def test_a_push_on_a_standing_arm_ends_though_it_leaves_friction_elsewhere(panda, rng):
    """A fifth of it stays; once in one contact, and once after it has become `steady`, when it goes as another one."""
    still = standing(2.5, 1000.0)
    push = pushed(panda, still, 5, 10.0, rng)
    left = 0.2 * push[np.argmax(push.any(axis=1))] * (still.stamp >= AT + DURATION)[:, None]
    tau = torques(panda, still) + push + left
    for longest_s, ends in ((5.0, ["released"]), (0.25, ["steady", "released"])):
        contacts = run(ArmMonitor(panda, contact={"longest_s": longest_s}), still, tau)
        assert [contact.ended_by for contact in contacts] == ends
        assert 0.0 < contacts[-1].end - (AT + DURATION) < 0.3


QUIET = 2.0  # N, below which for 1 s before, a push begins
PUSHED = ["793c8b5_data_PF_1", "793c8b5_data_PF_3", "8156ae8_data_pf_2", "8156ae8_data_raw_1"]
"""Those in which a push begins after a second of quiet."""
OBJECTS = [f"data_pos_{k}" for k in range(1, 6)]


def begins(stamp, force, least):
    """When the force first exceeds `least` after a second of quiet."""
    above = np.flatnonzero((force[1:] > least) & (force[:-1] <= least)) + 1
    before = [force[(stamp > t - 2.0) & (stamp <= t - 0.8)].max(initial=0.0) for t in stamp[above]]
    return [t for t, most in zip(stamp[above], before, strict=True) if t - stamp[0] > 1.5 and most < QUIET]


@cache
def of_wrist(name):
    """A log of the standing Panda: its stamps, the size of the force, N, and what is found in it."""
    log = np.genfromtxt(public_log(f"panda_wrist_ft/{name}.csv"), delimiter=",", names=True)
    q, dq, external = (np.column_stack([log[f"{field}{k}"] for k in range(1, 8)]) for field in ("q", "dq", "tau_ext"))
    force, panda = np.linalg.norm([log[axis] for axis in ("fx", "fy", "fz")], axis=0), load_robot("panda")
    return log["t"], force, ArmMonitor(panda).update_rows(log["t"], q, dq, panda.gravity_torques(q) + external)


@some("name", [*PUSHED, *OBJECTS, "8156ae8_data_pf_1", "8156ae8_data_raw_2"], 5)
def test_contacts_end_when_the_finger_or_the_object_has_gone(name):
    """Half a second later, and they stay ended: what it leaves of the joints' friction is up to half of what it was at
    some joint. A finger that pushes for seconds as an object weighs may be a weight, and its end a release; but it is
    never a payload by more than three sigmas."""
    stamp, force, found = of_wrist(name)
    contacts = {contact.start: contact for _, contact in found.contacts}
    gone = float(stamp[np.flatnonzero(force > QUIET)[-1]])
    assert all(contact.end is not None and contact.end < gone + 0.5 for contact in contacts.values())
    ends = {each.ended_by for each in contacts.values()} | {e.event.kind for _, e, _ in found.estimates if e.event}
    assert ends & {"released", "release"} or name not in PUSHED
    assert name in OBJECTS or max(estimate.mass / estimate.std[0] for _, estimate, _ in found.estimates) < 3.0


@some(
    ("name", "least", "within"), [*((name, 4.0, 0.15) for name in PUSHED), *((name, 2.5, 1.0) for name in OBJECTS)], 5
)
def test_pushes_and_objects_are_noticed(name, least, within):
    """Pushes within 0.15 s after 4 N; it may be before, while the force rises. Objects of 0.308 kg are put on by hand
    within half a second or so; the arm does not move, so that they stay a load."""
    stamp, force, found = of_wrist(name)
    events = [estimate.event for _, estimate, _ in found.estimates if estimate.event]
    noticed = [event.stamp for event in events] + [contact.start for _, contact in found.contacts]
    starts = begins(stamp, force, least)
    assert starts
    for start in starts:
        assert any(start - 0.8 < each <= start + within for each in noticed), start
    assert "pick" not in {event.kind for event in events}
