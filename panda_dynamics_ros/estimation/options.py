# SPDX-License-Identifier: Apache-2.0
"""Options of the estimators: positive numbers with defaults, given as keyword arguments."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeVar

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

Options = TypeVar("Options", bound="PositiveOptions")


@dataclass(frozen=True)
class PositiveOptions:
    """Base class of frozen dataclasses of positive numbers; one may also be zero where zero is its default.

    Raises ArgumentError: a value is not a positive number.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value = checks.number(getattr(self, field.name), field.name)
            if value < 0.0 or value == 0.0 != field.default:
                raise ArgumentError(f"{field.name}: expected a positive number, got {value:g}")

    @classmethod
    def of(cls: type[Options], options: dict[str, float]) -> Options:
        """From keyword arguments.

        Raises ArgumentError: one of them is unknown, or its value is not a positive number.
        """
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(options) - set(known)):
            raise ArgumentError(f"options: expected any of {', '.join(known)}, got {', '.join(unknown)}")
        return cls(**options)


@dataclass(frozen=True)
class EstimatorOptions(PositiveOptions):
    """Options of the payload estimator; the defaults suit a Panda.

    mass_std: kg, prior standard deviation of the mass, whose prior mean is zero (the Panda carries 3 kg).
    com_std: m, distance of the centre of mass from the flange at one sigma; mass_std com_std is the prior of m c.
    inertia_std: kg m^2, prior standard deviation of each entry of the inertia about the flange origin: 1.5 kg at 0.2 m.
    max_mass: kg, the heaviest payload; a larger torque has another cause.
    known_mass: kg, mass of the payload where it has been weighed; 0: unknown.
    bandwidth_hz: pole of the two low-pass filters.
    update_period_s: of the Kalman filter; samples in between pass the low-pass filters only.
    memory_s: time in motion after which the payload's information has leaked to 1/e toward the prior.
    arm_memory_s: time in motion after which what was learnt about the arm has leaked to 1/e toward the prior.
    arm_error_ratio: factor on the lasting errors expected of the arm's model (see `ResidualModel.error_ratio`).
    max_gap_s: a longer silence restarts the filters.
    Raises ArgumentError: a value is not a positive number (`known_mass`: negative).
    """

    mass_std: float = 1.5
    com_std: float = 0.1
    inertia_std: float = 0.06
    max_mass: float = 3.0
    known_mass: float = 0.0
    bandwidth_hz: float = 3.0
    update_period_s: float = 0.02
    memory_s: float = 30.0
    arm_memory_s: float = 100.0
    arm_error_ratio: float = 1.0
    max_gap_s: float = 0.5

    @cached_property
    def prior_std(self) -> FloatArray:
        """Prior standard deviations (10,) of the inertial vector about the flange origin; the prior mean is zero."""
        m = self.mass_std
        return checks.read_only(np.array([m, *[m * self.com_std] * 3, *[self.inertia_std] * 6]))

    @cached_property
    def identified_variance(self) -> FloatArray:
        """Variances (10,) below which a parameter is identifiable: a ninth of those of a body at `com_std`."""
        m, c = self.mass_std, self.com_std
        return checks.read_only((np.array([m, *[m * c] * 3, *[m * c * c] * 6]) / 3.0) ** 2)
