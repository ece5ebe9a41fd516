# SPDX-License-Identifier: Apache-2.0
"""Options that are positive numbers with defaults, given as keyword arguments."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

from panda_dynamics_ros import checks
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
