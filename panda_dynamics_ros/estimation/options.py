# SPDX-License-Identifier: Apache-2.0
"""Options that are positive numbers with defaults, given as keyword arguments.

Options of the payload estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError

Options = TypeVar("Options", bound="PositiveOptions")


@dataclass(frozen=True)
class PositiveOptions:
    """What frozen dataclasses of positive numbers derive from; `MAY_BE_ZERO` names their fields that zero suits, too.

    Raises
    ------
    ArgumentError: a value is not a positive number.
    """

    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = checks.number(getattr(self, field.name), field.name)
            if value < 0.0 or (value == 0.0 and field.name not in self.MAY_BE_ZERO):
                raise ArgumentError(f"{field.name}: expected a positive number, got {value:g}")

    @classmethod
    def of(cls: type[Options], options: dict[str, float]) -> Options:
        """From keyword arguments.

        Raises
        ------
        ArgumentError: one of them is unknown, or its value is no good.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ArgumentError(f"options: expected any of {', '.join(known)}, got {', '.join(unknown)}")
        return cls(**options)


@dataclass(frozen=True)
class EstimatorOptions(PositiveOptions):
    """Options of the payload estimator; the defaults suit a Panda.

    Attributes
    ----------
    mass_std: kg, how heavy payloads are, at one sigma about none (the Panda carries 3 kg).
    com_std: m, how far from the flange their centre of mass is; its product with the mass bounds m c.
    inertia_std: kg m^2, of each entry of the inertia about the flange origin.
    max_mass: kg, more than which the arm does not carry: a torque that asks for more is no payload's.
    known_mass: kg, of whatever is carried, where somebody has weighed it; 0: unknown.
    bandwidth_hz: pole of the two low-pass filters.
    update_period_s: the filter takes in a sample each such period (samples in between are only filtered).
    memory_s: time in motion after which the payload's information has leaked to 1/e toward the prior.
    arm_memory_s: time in motion after which what was learnt about the arm has leaked to 1/e toward the prior.
    white_noise_ratio: white noise of the filtered torque, as a share of the residual's standard deviation.
    slow_speed: rad/s, speed of a joint below which its friction is anybody's guess: there, and until the filters
        have passed it on, its torque counts with the whole residual's standard deviation as white noise.
    still_speed, moving_speed: rad/s, norm of dq below which the arm stands still, above which it fully moves.
    max_gap_s: a longer silence restarts the filters.

    Raises
    ------
    ArgumentError: a value is not a positive number (`known_mass`: negative).
    """

    MAY_BE_ZERO: ClassVar[frozenset[str]] = frozenset({"known_mass"})

    mass_std: float = 1.5
    com_std: float = 0.1
    inertia_std: float = 0.02
    max_mass: float = 3.0
    known_mass: float = 0.0
    bandwidth_hz: float = 3.0
    update_period_s: float = 0.01
    memory_s: float = 8.0
    arm_memory_s: float = 100.0
    white_noise_ratio: float = 0.3
    slow_speed: float = 0.05
    still_speed: float = 0.03
    moving_speed: float = 0.3
    max_gap_s: float = 0.5

    @cached_property
    def prior_std(self) -> FloatArray:
        """Standard deviations (10,) of the inertial vector about the flange origin, before any data; its mean is 0."""
        m = self.mass_std
        return checks.read_only(np.array([m, *[m * self.com_std] * 3, *[self.inertia_std] * 6]))

    @cached_property
    def identified_variance(self) -> FloatArray:
        """Variances (10,) below which the data has told nine tenths of what is known: deviations of a third."""
        return checks.read_only((self.prior_std / 3.0) ** 2)
