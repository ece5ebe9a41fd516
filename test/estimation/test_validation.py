# SPDX-License-Identifier: Apache-2.0
"""Which samples are used; a block of samples is judged as one after the other.

Samples that no arm can have measured are refused; those of real arms never are (`test_problem.py`). Positions,
velocities and stamps that belong together have no problem, at any rate and with lost samples.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from motion import sinusoids, torques

from panda_dynamics_ros.errors import SampleError
from panda_dynamics_ros.estimation import validation
from panda_dynamics_ros.estimation.validation import KinematicCheck, SampleGate, SampleValidator


@pytest.fixture(scope="module")
def stream(panda):
    """(stamp, q, dq, tau) of 1 s at 1 kHz, to be changed by each test."""
    motion = sinusoids(1.0)
    return motion.stamp, motion.q, motion.dq, torques(panda, motion)


def selected(panda, stream):
    """Indices and steps in one block, which equal those of single samples; and the counts."""
    whole, single = SampleValidator(panda, 0.5), SampleValidator(panda, 0.5)
    kept, steps = whole.select(*stream)
    one = [single.select(*(x[k : k + 1] for x in stream)) for k in range(len(stream[0]))]
    assert [k for k, (used, _) in enumerate(one) if used.size] == kept.tolist()
    assert np.concatenate([step for _, step in one]).tolist() == steps.tolist()
    assert asdict(whole.counts) == asdict(single.counts)
    assert whole.problem == single.problem
    return kept, steps, whole


def changed(stream, **places):
    """A copy; `places`: name=(index, value)."""
    copies = dict(zip(("stamp", "q", "dq", "tau"), (x.copy() for x in stream), strict=True))
    for name, (index, value) in places.items():
        copies[name][index] = value
    return tuple(copies.values())


def test_a_good_stream_is_used(panda, stream):
    kept, steps, validator = selected(panda, stream)
    assert kept.tolist() == list(range(1000))
    assert steps[0] == 0.0
    np.testing.assert_allclose(steps[1:], 1e-3, rtol=1e-9)
    assert (validator.counts.used, validator.counts.gaps, validator.problem) == (1000, 0, "")


@pytest.mark.parametrize(("stamp", "reason"), [(0.299, "duplicate"), (0.25, "backward")])
def test_order(panda, stream, stamp, reason):
    kept, _, validator = selected(panda, changed(stream, stamp=(300, stamp)))
    assert kept.tolist() == [k for k in range(1000) if k != 300]
    assert getattr(validator.counts, reason) == 1


@pytest.mark.parametrize(("gap", "restarts"), [(0.08, 0), (0.12, 1), (0.6, 1), (-2.0, 1)])
def test_gaps(panda, stream, gap, restarts):
    """A tenth of a second is one for a stream of 1 kHz, half a second for each; a jump back is another recording."""
    stamp = stream[0] + np.where(np.arange(1000) >= 400, gap, 0.0)
    kept, steps, validator = selected(panda, (stamp, *stream[1:]))
    assert len(kept) == 1000
    assert np.flatnonzero(steps <= 0.0).tolist() == [0, *([400] * restarts)]
    assert validator.counts.gaps == restarts


def test_a_slow_stream_has_no_gaps(panda):
    """At 5 Hz a step of 0.2 s is like the one before."""
    motion = sinusoids(4.0, 5.0)
    _, steps, _ = selected(panda, (motion.stamp, motion.q, motion.dq, torques(panda, motion)))
    assert steps[0] <= 0.0
    assert (steps[2:] > 0.0).all()


def test_a_driver_that_hangs(panda, stream):
    q, dq, tau = (np.where(np.arange(1000)[:, None] // 30 == 7, x[209], x) for x in stream[1:])
    kept, _, validator = selected(panda, (stream[0], q, dq, tau))
    assert validator.counts.frozen >= 25
    assert len(kept) + validator.counts.frozen + validator.counts.implausible.total() == 1000


@pytest.mark.parametrize("share", [0.9, 1.2])
def test_a_step_of_the_torque(panda, stream, share):
    """Of one sample; a payload cannot make a larger one."""
    most = validation.STEP_SHARE + 1e-3 / validation.STEP_TIME
    tau = stream[3][500] + share * most * panda.limits.effort * (np.arange(7) == 3)
    kept, _, validator = selected(panda, changed(stream, tau=(500, tau)))
    refused = validator.counts.implausible["torque jump"]
    assert (refused > 0) == (share > 1.0)
    assert len(kept) == 1000 - refused
    assert refused < 5


def reason(gate, sample):
    try:
        gate.check(*sample)
    except SampleError as error:
        return error.reason
    return ""


def refused(gate, samples):
    """Reasons, by sample; "" where one is accepted."""
    return [reason(gate, sample) for sample in samples]


@pytest.fixture
def samples(stream):
    return list(zip(*stream, strict=True))


@pytest.mark.parametrize("step", [1, 10, 33])  # 1 kHz, 100 Hz and 30 Hz
def test_a_motion_passes_at_any_rate(panda, samples, step):
    assert set(refused(SampleGate(panda), samples[::step])) == {""}


@pytest.mark.parametrize(
    ("field", "joint", "value", "expected", "words"),
    [
        (1, 5, 139.6, "outside joint limits", "joint 6 of panda, got 139.6: degrees"),
        (2, 0, 10.0, "velocity beyond limits", "dq: expected at most 4.35 rad/s for joint 1"),
        (3, 1, -40e3, "torque beyond limits", "tau: expected at most 174 N m for joint 2.*4e.04: is it in N m"),
        (3, 6, 1e308, "torque beyond limits", "joint 7"),
    ],
)
def test_a_value_beyond_the_limits_is_refused_and_the_next_sample_accepted(
    panda, samples, field, joint, value, expected, words
):
    bad: list[Any] = [np.copy(part) for part in samples[500]]
    bad[field][joint] = value
    gate = SampleGate(panda)
    assert set(refused(gate, samples[:500])) == {""}
    with pytest.raises(SampleError, match=words):
        gate.check(*bad)
    assert refused(gate, [bad, samples[501]]) == [expected, ""]


def test_of_two_interleaved_robots_one_is_followed(panda, samples):
    other = [(stamp + 5e-4, q + 0.4, dq, tau) for stamp, q, dq, tau in samples]
    mixed = [sample for pair in zip(samples, other, strict=True) for sample in pair]
    reasons = refused(SampleGate(panda), mixed)
    assert set(reasons[::2]) == {""}
    assert set(reasons[1::2]) == {"position jump"}


def test_a_recording_that_goes_on_elsewhere_is_followed_again(panda, samples):
    moved = [(stamp + 1.0, q + 0.4, dq, tau) for stamp, q, dq, tau in samples]
    reasons = refused(SampleGate(panda), samples + moved)
    count = round(validation.FAULT * 1000.0)
    assert reasons[len(samples) :] == ["position jump"] * count + [""] * (len(moved) - count)


def test_a_stamp_that_stands_still_fills_no_memory(panda, samples):
    """A jump that no arm makes, again and again under one stamp, as a driver repeats a message."""
    gate, (stamp, q, dq, tau) = SampleGate(panda), samples[0]
    assert refused(gate, [samples[0], *[(stamp + 0.01, q + 0.4, dq, tau)] * 100]) == ["", *["position jump"] * 100]
    assert len(gate._agreeing) <= validation.PERSISTENCE + 1


def test_velocities_of_another_robot_are_refused(panda, samples):
    """All joints 2 rad/s faster for ten samples, within every limit: 1.00 kg became 0.6 with a release."""
    spoilt = [(t, q, dq + 2.0 * (300 <= k < 310), tau) for k, (t, q, dq, tau) in enumerate(samples)]
    reasons = refused(SampleGate(panda), spoilt)
    assert reasons[300:310] == ["velocity jump"] * 10
    assert set(reasons[:300] + reasons[310:]) == {""}


def test_a_gap_lets_the_arm_move_and_a_repeated_stamp_is_not_the_gates_matter(panda, samples):
    stamp, q, dq, tau = samples[0]
    after_gap = (stamp + 2.0, q + 1.5, dq, tau)
    assert refused(SampleGate(panda), [samples[0], after_gap, after_gap]) == ["", "", ""]


def test_a_late_sample_spoils_none_of_the_next(panda, samples):
    """Of another posture, 10 ms before the sample that came before it."""
    late = (samples[490][0], *samples[0][1:])
    assert set(refused(SampleGate(panda), [*samples[:500], late, *samples[500:]])) == {""}


def problems(stamp, q, dq):
    check, last, found = KinematicCheck(q.shape[1]), np.zeros((3, q.shape[1])), set()
    for dt, *sample in zip(np.diff(stamp, prepend=-np.inf), q, dq, strict=True):
        check.follow(dt, np.array([*sample, last[2]]), last)
        found.add(check.problem)
    return found


def noisy(rate, rng):
    """Ten seconds; velocities are late by 5 ms and have the noise of a Panda's."""
    motion = sinusoids(10.0, rate)
    late = sinusoids(10.0, rate, -0.005)
    return motion.stamp, motion.q, late.dq + 0.004 * rng.standard_normal(motion.dq.shape)


def only(signals, kept):
    return [values[kept] for values in signals]


CONSISTENT: dict[str, Callable[..., Any]] = {
    **{f"{rate:g} Hz": lambda rng, rate=rate: noisy(rate, rng) for rate in (1000.0, 100.0, 30.0, 10.0, 2.0)},
    "lost samples": lambda rng: only(noisy(1000.0, rng), rng.random(10_000) > 0.9),
    "ten samples a second, at its begin": lambda rng: only(noisy(1000.0, rng), np.arange(10_000) % 1000 < 10),
    "stamped on arrival, in bursts": lambda rng: (
        0.01 * (np.arange(10_000) // 10) + 1e-5 * (np.arange(10_000) % 10), *noisy(1000.0, rng)[1:]
    ),
    "at rest, with an offset": lambda rng: (
        1e-3 * np.arange(20_000), np.zeros((20_000, 7)), 0.002 + 0.004 * rng.standard_normal((20_000, 7))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSISTENT)
def test_what_belongs_together_has_no_problem(rng, name):
    assert problems(*CONSISTENT[name](rng)) == {""}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stamp, q, dq: (0.1 * stamp, q, dq), "times as much as velocities and stamps say"),
        (lambda stamp, q, dq: (stamp, q, np.degrees(dq)), "times as much as velocities and stamps say"),
        (lambda stamp, q, dq: (stamp, q, dq[:, ::-1]), "sign, unit and order"),
        (lambda stamp, q, dq: (stamp, q + 0.02 * (np.arange(len(q)) % 2)[:, None], dq), "go to and fro by"),
    ],
)
def test_what_does_not_belong_together_is_named_within_a_second(rng, change, words):
    stamp, q, dq = (field[:1000] for field in noisy(1000.0, rng))
    found = problems(*change(stamp, q, dq)) - {""}
    assert found
    assert all(words in each for each in found)
