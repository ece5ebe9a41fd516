# SPDX-License-Identifier: Apache-2.0
"""Which samples are used; a block of samples is judged as one after the other."""

from dataclasses import asdict

import numpy as np
import pytest
from motion import sinusoids, torques

from panda_dynamics_ros.estimation.validation import STEP_SHARE, TORQUE_JUMP, SampleValidator


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


def test_a_slow_stream_has_no_gaps(panda, stream):
    """At 5 Hz a step of 0.2 s is like the one before."""
    motion = sinusoids(4.0, 5.0)
    _, steps, _ = selected(panda, (motion.stamp, motion.q, motion.dq, torques(panda, motion)))
    assert np.flatnonzero(steps <= 0.0)[0] == 0
    assert (steps[2:] > 0.0).all()


def test_a_driver_that_hangs(panda, stream):
    q, dq, tau = (np.where(np.arange(1000)[:, None] // 30 == 7, x[209], x) for x in stream[1:])
    kept, _, validator = selected(panda, (stream[0], q, dq, tau))
    assert validator.counts.frozen >= 25
    assert len(kept) + validator.counts.frozen + validator.counts.implausible.total() == 1000


@pytest.mark.parametrize("share", [0.9, 1.2])
def test_a_step_of_the_torque(panda, stream, share):
    """Of one sample; a payload cannot make a larger one."""
    tau = stream[3][500] + share * (STEP_SHARE + 1e-3 / 0.1) * panda.limits.effort * (np.arange(7) == 3)
    kept, _, validator = selected(panda, changed(stream, tau=(500, tau)))
    refused = validator.counts.implausible[TORQUE_JUMP]
    assert (refused > 0) == (share > 1.0)
    assert len(kept) == 1000 - refused
    assert refused < 5


def test_what_continues_elsewhere_is_refused_and_then_accepted(panda, stream):
    """A second controller: after some samples that agree with each other it is the stream; and nothing is a problem."""
    q = stream[1] + np.where(np.arange(1000) >= 500, 0.3, 0.0)[:, None]
    kept, _, validator = selected(panda, (stream[0], q, *stream[2:]))
    refused = validator.counts.implausible["position jump"]
    assert 5 <= refused <= 30
    assert kept[-1] == 999
    assert validator.problem == ""


def test_many_refusals_are_a_problem(panda, stream):
    kept, _, validator = selected(panda, (*stream[:3], 1e3 * stream[3]))
    assert len(kept) == 0
    assert validator.problem.startswith("many samples are implausible: tau: expected at most")
