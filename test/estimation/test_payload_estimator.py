# SPDX-License-Identifier: Apache-2.0
import copy
from dataclasses import replace

import numpy as np
import pytest
from conftest import some
from motion import PAYLOAD, REST, carried, coloured, fed, followed, kinds, sinusoids, sinusoids_paced, torques

from panda_dynamics_ros import InertialParameters
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import PayloadEstimator
from panda_dynamics_ros.robot.inertial import UNIT_PSEUDO_INERTIAS
from panda_dynamics_ros.simulation import SimulatedPanda


@pytest.fixture(scope="module")
def loaded(panda):
    """An estimator that has found the payload from 5 s of perfect data, and the motion it saw."""
    motion = sinusoids(5.0, rate=200.0)
    return followed(panda, motion, torques(panda, motion, PAYLOAD))[0], motion


def test_a_perfect_arm_gives_the_payload(loaded):
    estimate = loaded[0].estimate
    # The prior (mean zero) has leaked in by 5 s / 8 s of its weight: (0.03 kg / 1.5 kg)^2 of the mass, and more
    # of the less certain CoM.
    assert estimate.mass == pytest.approx(PAYLOAD.mass, abs=0.01)
    np.testing.assert_allclose(estimate.com, PAYLOAD.com, atol=0.004)
    assert estimate.payload.is_physical(tolerance=0.0)
    assert estimate.identifiable[:4].all()
    assert estimate.status == "estimating"


@pytest.mark.slow
def test_intervals_hold_the_truth_on_coloured_residuals(panda):
    """Thirty arms whose residual is what the robot's residual model says: 95 % intervals of the mass.

    Of 30 intervals that each hold the truth with probability 0.95, fewer than 25 do so once in 400 times;
    sigmas half as large as they should be would hold about 20.
    """
    motion = sinusoids(3.0, rate=100.0)
    clean = torques(panda, motion, PAYLOAD)
    held, worst = 0, 0.0
    for seed in range(30):
        tau = clean + coloured(panda, motion.stamp, np.random.default_rng(seed))
        estimate = followed(panda, motion, tau)[0].estimate
        held += abs(estimate.mass - PAYLOAD.mass) < 1.96 * estimate.std[0]
        worst = max(worst, estimate.std[0])
        pseudo_inertia = np.tensordot(estimate.payload.vector, UNIT_PSEUDO_INERTIAS, 1)
        assert np.linalg.eigvalsh(pseudo_inertia)[0] > -1e-12
    assert held >= 25
    assert worst < 0.2, "intervals that hold everything would say nothing"


def test_pick_and_release_are_detected_and_told_apart(panda):
    motion = sinusoids(9.0, rate=200.0)
    _, estimates = followed(panda, motion, carried(panda, motion, 3.0, 6.0, seed=5))
    events = [estimate.event for estimate in estimates if estimate.event]
    mass = {round(estimate.stamp, 3): estimate.mass for estimate in estimates}
    assert [event.kind for event in events] == ["pick", "release"]
    assert 3.0 < events[0].stamp < 3.25
    assert 6.0 < events[1].stamp < 6.25
    assert mass[5.0] == pytest.approx(1.0, abs=0.2)  # three sigma two seconds after the pick
    assert mass[8.0] < 0.2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stamp", np.nan),
        ("q", np.zeros(6)),
        ("q", [0.0, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0]),
        ("dq", np.full(7, np.inf)),
        ("tau", np.zeros((7, 1))),
        ("tau", "torque"),
    ],
)
def test_bad_input_is_refused_by_name_and_harms_nothing(loaded, name, value):
    estimator, motion = loaded
    before = estimator.estimate
    sample = {"stamp": motion.stamp[-1] + 0.001, "q": REST, "dq": np.zeros(7), "tau": np.ones(7), name: value}
    with pytest.raises(ArgumentError, match=f"^{name}: expected"):
        estimator.update(**sample)
    assert estimator.estimate is before


@pytest.mark.parametrize("jump", [3.0, 3600.0, -1000.0])
def test_after_silence_the_estimate_goes_on(panda, jump):
    """A gap, or a bag that starts again: the payload is what it was, within its sigma, and learning goes on."""
    motion = sinusoids(4.0, rate=200.0)
    estimator, (*_, before) = followed(panda, motion, torques(panda, motion, PAYLOAD))
    again = sinusoids(2.0, rate=200.0, start=motion.stamp[-1] + jump)
    copied, estimates = copy.deepcopy(estimator), fed(estimator, again, torques(panda, again, PAYLOAD))
    np.testing.assert_array_equal(
        [each.vector for each in fed(copied, again, torques(panda, again, PAYLOAD))],
        [each.vector for each in estimates],
    )
    assert not kinds(estimates)
    assert estimator.counts.gaps == 1
    assert abs(estimates[-1].mass - before.mass) < before.std[0]
    assert estimates[-1].status == "estimating"


@pytest.mark.slow
def test_torques_that_creep_while_the_arm_stands_are_no_payload(panda):
    """Up to 0.3 N m of each joint in 150 s, as sensors and friction do: the kilogram that is held stays one."""
    stamp, rng = np.arange(0.0, 170.0, 0.01), np.random.default_rng(2)
    rate = np.clip(np.maximum((8.0 - stamp) / 0.5, (stamp - 160.0) / 0.5), 0.0, 1.0)
    motion = sinusoids_paced(stamp, rate)  # it is slowed down to a rest, and goes on
    creep = np.outer(1.0 - np.exp(-np.clip(stamp - 8.0, 0.0, None) / 60.0), rng.uniform(-0.3, 0.3, 7))
    noise = 0.05 * rng.standard_normal(creep.shape)
    _, estimates = followed(panda, motion, carried(panda, motion, 3.0) + creep + noise)
    after = [estimate for estimate in estimates if estimate.stamp > 4.0]
    still = [estimate.std[0] for estimate in estimates if 10.0 < estimate.stamp < 158.0]
    assert min(still) > 0.5 * still[0], "standing still must not look like learning"
    assert all(abs(each.mass - PAYLOAD.mass) < 2.0 * each.std[0] for each in after)
    assert not any(estimate.problem for estimate in after)


@some("fetched", [3.0, 0.0])
def test_tare_makes_the_tool_the_new_zero(panda, fetched):
    """A tool that is there from the start, or is fetched; it is put back, and fetched again."""
    tool = InertialParameters(0.7, np.array([0.0, 0.01, 0.05]), np.diag([0.001, 0.002, 0.001]))
    motion = sinusoids(6.0, rate=200.0)
    estimator = PayloadEstimator(panda)
    fed(estimator, motion, carried(panda, motion, fetched, payload=tool))
    estimator.tare()
    assert estimator.estimate.mass < 0.02
    for k, payload in enumerate([*2 * [tool + PAYLOAD, tool], None, tool, tool + PAYLOAD]):
        later = sinusoids(4.0, rate=200.0, start=motion.stamp[-1] + 0.005 + 4.0 * k)
        estimate = fed(estimator, later, torques(panda, later, payload))[-1]
        assert payload is None or estimate.mass == pytest.approx(payload.mass - tool.mass, abs=0.05)
        assert ("less is carried than at the tare" in estimate.problem) == (payload is None)
    estimator.reset()
    assert estimator.estimate.status == "waiting for samples"


@pytest.mark.slow
def test_a_tare_at_the_start_leaves_no_error_behind(panda):
    """What is not known of the hand at a tare after 1 s, 0.1 kg and more, is in no interval twelve seconds later."""
    estimators = [PayloadEstimator(panda) for _ in range(3)]
    for seed, estimator in enumerate(estimators, 1):
        plant = SimulatedPanda(panda, seed=seed)
        for k in range(12_000):
            if k == 6_000:
                plant.attach(PAYLOAD)
            sample = plant.step()
            if k % 5 == 0:
                estimator.update(sample.stamp, sample.q, sample.dq, sample.tau)
            if k == 1_000:
                estimator.tare()
    found = [each.estimate for each in estimators]
    errors = [[(e.mass - PAYLOAD.mass) / e.std[0], *(e.com - PAYLOAD.com) / e.com_std] for e in found]
    assert np.abs(errors).max() < 2.5


@pytest.mark.parametrize("again", ["reset", "restore"])
def test_after_a_pick_it_starts_again_as_a_new_one(panda, again):
    """What was carried before, which its state has since the pick, is gone, too."""
    motion = sinusoids(5.0, rate=200.0)
    tau = carried(panda, motion, 2.0, 9.0, seed=5)
    used, new = followed(panda, motion, tau)[0], PayloadEstimator(panda)
    used.reset() if again == "reset" else used.restore(new.memory)
    later = replace(motion, stamp=motion.stamp + 60.0)
    estimates = [fed(each, later, tau)[-1] for each in (used, new)]
    np.testing.assert_array_equal(estimates[0].vector, estimates[1].vector)
    np.testing.assert_array_equal(estimates[0].covariance, estimates[1].covariance)


def test_an_hour_of_stale_data_changes_nothing(panda):
    """A driver that hangs: the last sample again and again, with the same stamp, a late one, or a new one."""
    motion = sinusoids(4.0, rate=200.0)
    tau = torques(panda, motion, PAYLOAD) + coloured(panda, motion.stamp, np.random.default_rng(3))
    estimator, _ = followed(panda, motion, tau)
    before = estimator.estimate
    last, sample = motion.stamp[-1], (motion.q[-1], motion.dq[-1], tau[-1])
    for k in range(20_000):
        estimator.update(last - (0.01 if k % 2 else 0.0), *sample)
    assert estimator.estimate is before
    assert estimator.counts.duplicate + estimator.counts.backward == 20_000
    for k in range(1, 9_000):
        estimator.update(last + 0.1 * k, *sample)
    assert estimator.estimate is before
    assert estimator.counts.frozen == 8_999
    again = sinusoids(4.0, rate=200.0, start=last + 3_600.0)
    after = fed(estimator, again, torques(panda, again, PAYLOAD))[-1]
    assert abs(after.mass - PAYLOAD.mass) < 2.0 * after.std[0]


def test_a_mass_below_zero_widens_its_interval(panda):
    """An arm lighter than its model by 0.3 kg at the flange: what is published is zero, and the error that shows."""
    motion, missing = sinusoids(6.0, rate=200.0), InertialParameters(0.3, [0.0, 0.0, 0.05], np.zeros((3, 3)))
    tau = 2.0 * torques(panda, motion) - torques(panda, motion, missing)
    estimator, (*_, estimate) = followed(panda, motion, tau)
    assert estimator.raw_mass < -0.15
    assert estimate.mass < 0.05
    assert estimate.std[0] > 0.5 * abs(estimator.raw_mass)


@pytest.mark.slow
@pytest.mark.parametrize(("mass", "least", "most"), [(0.0, 0.0, 0.03), (0.1, 0.0, 0.2), (0.3, 0.1, 0.5)])
def test_an_empty_arm_reads_nothing_and_a_light_payload_does_not_become_it(panda, mass, least, most):
    """From the start, on arms whose residual looks like 0.1 kg: nothing is more likely than a payload of such a mass.
    Intervals hold the truth; of twelve that each hold it with a probability of 0.95, ten or more do so in 98 of 100."""
    motion, body = sinusoids(5.0, rate=100.0), InertialParameters(mass, PAYLOAD.com, mass * PAYLOAD.inertia)
    clean, found, held = torques(panda, motion, body if mass else None), [], 0
    for seed in range(12):
        tau = clean + coloured(panda, motion.stamp, np.random.default_rng(seed))
        estimate = followed(panda, motion, tau)[0].estimate
        found.append(estimate.mass)
        held += abs(estimate.mass - mass) < 1.96 * estimate.std[0]
    assert least <= np.median(found) <= most
    assert held >= 10
