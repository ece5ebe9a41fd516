# SPDX-License-Identifier: Apache-2.0
"""Torques of the simulated arm that no model has: coloured disturbances.

Ornstein-Uhlenbeck processes (Uhlenbeck and Ornstein, Physical Review 36, 1930), plain and oscillating:
    dx = (-1/tau + i w) x dt + noise,
of which the real part is used: its autocorrelation is std^2 exp(-|s|/tau) cos(w s). With w = 0 it is the slow residual
that a model leaves on the real arm; with w = 2 pi 35 Hz and a tau of some periods, the structure's vibration.
Discretised exactly, for any time step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError


class OrnsteinUhlenbeck:
    """Independent coloured processes of given std and correlation time, from a stationary start.

    Parameters
    ----------
    std: (n,), the stationary standard deviation, >= 0; in the unit of the output.
    correlation_time: (n,) or number, s, > 0.
    timestep: s, > 0.
    rng: where the randomness comes from.
    frequency: Hz, of the oscillation; 0 for none.

    Raises
    ------
    ArgumentError: an argument has the wrong shape or sign, or is not finite.
    """

    def __init__(
        self,
        std: ArrayLike,
        correlation_time: ArrayLike,
        timestep: float,
        rng: np.random.Generator,
        frequency: float = 0.0,
    ) -> None:
        sigma = checks.real_array(std, "std").reshape(-1)
        tau = np.broadcast_to(checks.real_array(correlation_time, "correlation_time"), sigma.shape)
        h = checks.number(timestep, "timestep", minimum=1e-9)
        if (sigma < 0.0).any() or (tau <= 0.0).any():
            raise ArgumentError(
                f"std, correlation_time: expected std >= 0 and times > 0, got {sigma.tolist()}, {tau.tolist()}"
            )
        # x_{k+1} = e^{(-1/tau + i w) h} x_k + std sqrt(1 - e^{-2 h/tau}) xi_k
        self._decay = np.exp((-1.0 / tau + 2j * np.pi * checks.number(frequency, "frequency", minimum=0.0)) * h)
        self._input = sigma * np.sqrt(-np.expm1(-2.0 * h / tau))
        self._rng = rng
        self._state = sigma * self._noise()

    def step(self) -> FloatArray:
        """The present value (n,), after which the process moves on by one time step."""
        value: FloatArray = self._state.real.copy()
        self._state = self._decay * self._state + self._input * self._noise()
        return value

    def rows(self, count: int) -> FloatArray:
        """The next `count` values (count, n) at once, as so many steps would give them."""
        from scipy.signal import lfilter  # not needed by a node, whose start it would double

        noise = self._rng.standard_normal((count, 2 * self._decay.size)).view(np.complex128) * self._input
        driven = np.concatenate([self._state[None], noise])
        states = np.column_stack([lfilter([1.0], [1.0, -a], x) for a, x in zip(self._decay, driven.T, strict=True)])
        self._state = states[-1].copy()
        return np.ascontiguousarray(states[:-1].real)

    def _noise(self) -> FloatArray:
        """Complex noise whose real and imaginary parts have unit variance each."""
        return self._rng.standard_normal(2 * self._decay.size).view(np.complex128)
