# SPDX-License-Identifier: Apache-2.0
"""Options of the estimators: what is no good is refused by name."""

import numpy as np
import pytest

from panda_dynamics_ros import PandaDynamicsError
from panda_dynamics_ros.estimation import ContactDetector, EstimatorOptions, PayloadEstimator


@pytest.mark.parametrize("make", [PayloadEstimator, ContactDetector])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_gap_s": 0.0}, r"^max_gap_s: expected a positive number, got 0$"),
        ({"bandwidth_hz": -1.0}, r"^bandwidth_hz: expected a positive number, got -1$"),
        ({"max_gap_s": np.nan}, r"^max_gap_s: expected finite numbers, got nan$"),
        ({"max_gap_s": 1.0, "width": 1.0, "gap": 1.0}, r"^options: expected any of .*max_gap_s.*, got gap, width$"),
    ],
)
def test_bad_options_are_refused_by_name(panda, make, options, said):
    with pytest.raises(PandaDynamicsError, match=said):
        make(panda, **options)


def test_a_known_mass_of_zero_says_that_it_is_unknown():
    assert EstimatorOptions.of({"known_mass": 0.0}).known_mass == 0.0
    with pytest.raises(PandaDynamicsError, match=r"^known_mass: expected a positive number, got -0\.1$"):
        EstimatorOptions(known_mass=-0.1)


def test_the_spread_of_the_prior_is_that_of_mass_moment_and_inertia():
    spread = EstimatorOptions(mass_std=2.0, com_std=0.05, inertia_std=0.03).prior_std
    np.testing.assert_allclose(spread, [2.0, 0.1, 0.1, 0.1, *[0.03] * 6], rtol=1e-15)
