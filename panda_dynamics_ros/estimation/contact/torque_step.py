# SPDX-License-Identifier: Apache-2.0
"""Steps of the external joint torques: the torque now, compared with its mean a moment ago.

The residual of a model drifts as an Ornstein-Uhlenbeck process of the identified sigma and tau; a contact makes a step.
With s the external torque and m an exponential mean (time constant T) of s that ends a lag L ago, the process gives
the difference e = s - m the variance

    v = sigma^2 (1 - 2 exp(-L/tau) tau/(tau + T) + tau/(tau + T)),

independent of the mean of s: offsets and unknown payloads cancel. Two sources add to it.
- Sensor noise and vibration, which the residual model does not contain: the excess of e^2 over v, learnt while the arm
  moves, as a function of the inertia that a joint moves (`velocity_noise`). An arm at rest has less of it; what is
  learnt there would turn the next motion into a contact.
- Friction. An error of Coulomb friction changes sign with the velocity: to e it adds (sigma/2)^2 (c - c_m)^2, where
  c is tanh(dq / .05 rad/s) through the filters of s, and c_m is to c what m is to s. A joint at rest or at constant
  velocity has none of it.
While a contact lasts the mean is held, so L and v grow.

Where a residual map knows the arm, sigma^2 is the share u that it leaves open, and beside v there is (1 - u) DRIFT^2 of
it, which keeps its value for DRIFT_TIME only (`robot.residual_map`): what differs from run to run. While a contact
lasts v grows as without a map: whoever pushes may move the arm to where the map does not know it.

A contact usually loads several joints. With z = e / std of each joint, the test statistic (sum z^4)^(1/4) equals the
largest |z| where one joint dominates, and is a fifth larger where two are equal. The noise of the other joints hardly
adds to it, unlike to a sum of squares.

Its level while nothing touches the arm, the eighth root of its mean eighth power, is learnt as well; so high a power
shows how large the largest values are. The simulated arms have 2.0 to 2.5, real ones, which vibrate in bursts, 2.7 to
3.2. Large values promise larger ones that are rarer: a contact has to exceed a multiple of the square of the level.
The level of a tenth of a second ago counts, for the contact itself teaches nothing. A new arm counts as one of
`FIRST_QUIET` for the first `FIRST_QUIET_TIME`, which is forgotten as more of its motion is seen.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.contact.velocity_noise import (
    MEANS,
    initialise_noise,
    noise_parts,
    update_noise,
    velocity_noise_gain,
)
from panda_dynamics_ros.estimation.regression import filter_step, weighted_columns
from panda_dynamics_ros.kernels.scratch import scratch
from panda_dynamics_ros.kernels.vectors import compiled
from panda_dynamics_ros.robot import ResidualModel
from panda_dynamics_ros.robot.residual_map import DRIFT, DRIFT_TIME

LAG, MEAN_TIME = 0.045, 0.02
"""s: lag of the mean, in which a contact can show before it enters the mean; time constant of the mean."""
SLOTS = 16  # of the delay line, LAG / SLOTS apart at least
NOISE_TIME, FIRST_NOISE_TIME = 10.0, 0.3
"""s of motion: memory of the noise, and how long its first guess (sigma) counts."""
MOVING = 0.03  # rad/s, of the fastest joint: several times the noise of its velocity
QUIET, FIRST_QUIET, QUIET_TIME, FIRST_QUIET_TIME, LOUDEST = 2.55, 4.0, 10.0, 0.2, 1.5
"""Level of the statistic on an arm as modelled, and of one that is not known yet; s of motion in which it is learnt,
and for which its first value counts; how many times its level a value counts at most (a push that is too light to be
a contact teaches the level, too, and must not hide the next one)."""
HELD = 0.1
"""s, after which a value of the level is used: that of the moments before a contact."""
OUTLIER = 9.0  # e^2 over its variance is clipped here (three sigma) before it is learnt
REVERSAL_SHARE, TRANSITION = 0.5, 0.05  # of sigma; rad/s

# Rows of `memory`: the means of s and c, two poles of the low-pass filter for c, and the mean of s without a lag.
_S, _C, _FIRST, _SECOND, _RECENT = 0, 1, 2, 3, 4
# Entries of `clock`: delay line's first slot and length, stamp of the last s taken into the mean, time of learning,
# mean of the statistic's eighth power now, its last two values `HELD` ago, and the stamp of the last one.
_HEAD, _COUNT, _MEAN_STAMP, _LEARNT, _EIGHTH, _HELD, _USED, _HELD_STAMP = 0, 1, 2, 3, 4, 5, 6, 7


@compiled
def drift_variance(sigma, tau, lag):
    """v of the module's docstring."""
    share = tau / (tau + MEAN_TIME)
    return sigma * sigma * (1.0 - 2.0 * math.exp(-lag / tau) * share + share)


@compiled
def delayed_mean(stamp, s, line, clock, memory):
    """Put s and c into the delay line, and update the mean by those older than LAG."""
    n, slots = s.shape[0], line.shape[0]
    head, count = int(clock[_HEAD]), int(clock[_COUNT])
    newest = line[(head + count - 1) % slots, 2 * n]
    if count == 0 or (count < slots and stamp - newest >= 1.01 * LAG / slots):
        row = line[(head + count) % slots]
        for i in range(n):
            row[i], row[n + i] = s[i], memory[_SECOND, i]
        row[2 * n] = stamp
        count += 1
    while count > 0 and stamp - line[head, 2 * n] >= LAG:
        row = line[head]
        gain = 1.0 - math.exp(-max(row[2 * n] - clock[_MEAN_STAMP], 0.0) / MEAN_TIME)
        for i in range(n):
            memory[_S, i] += gain * (row[i] - memory[_S, i])
            memory[_C, i] += gain * (row[n + i] - memory[_C, i])
        clock[_MEAN_STAMP] = row[2 * n]
        head, count = (head + 1) % slots, count - 1
    clock[_HEAD], clock[_COUNT] = head, count


@compiled
def torque_step_update(
    stamp, dt, frozen, s, dq, h, unexplained, w, sigma, tau, drift, line, clock, memory, noise, jump, std
):  # fmt: skip
    """e and its standard deviation (n,), in place; returns (sum z^4)^(1/4).

    frozen: s, since when the mean is held; -1 where it is not. drift: (2, n), variances of the lag LAG: that of the
    residual, and that of the part which no residual map knows.
    """
    n = s.shape[0]
    a, b = math.exp(-w * dt), math.exp(-dt / MEAN_TIME)
    prior, fourth = velocity_noise_gain(w, dt), 0.0
    fastest = 0.0
    for i in range(n):
        fastest = max(fastest, abs(dq[i]))
    learns = frozen < 0.0 and fastest > MOVING
    learning = 1.0 - math.exp(-dt / min(NOISE_TIME, FIRST_NOISE_TIME + clock[_LEARNT]))
    for i in range(n):
        sign = math.tanh(dq[i] / TRANSITION)
        memory[_FIRST, i] = sign + a * (memory[_FIRST, i] - sign)
        memory[_SECOND, i] = memory[_FIRST, i] + a * (memory[_SECOND, i] - memory[_FIRST, i])
        memory[_RECENT, i] = s[i] + b * (memory[_RECENT, i] - s[i])
        e = s[i] - memory[_S, i]
        if math.isnan(noise[i, 0]):
            initialise_noise(noise[i], h[i], sigma[i] * sigma[i])
        least = unexplained[i] * drift[0, i] + (1.0 - unexplained[i]) * drift[1, i]
        grown = drift_variance(sigma[i], tau[i], LAG + frozen) - drift[0, i] if frozen > 0.0 else 0.0
        steady, inertial = noise_parts(noise[i], least, prior)
        turned = REVERSAL_SHARE * sigma[i] * (memory[_SECOND, i] - memory[_C, i])
        share = unexplained[i] + (1.0 - unexplained[i]) * DRIFT * DRIFT
        variance = steady + inertial * h[i] + grown + share * turned * turned
        if learns:
            update_noise(noise[i], learning, h[i], min(e * e, OUTLIER * variance))
        jump[i], std[i] = e, math.sqrt(variance)
        fourth += (e * e / variance) ** 2
    if learns:
        clock[_LEARNT] += dt
        loudest = LOUDEST**8 * clock[_EIGHTH]
        adapting = 1.0 - math.exp(-dt / min(QUIET_TIME, FIRST_QUIET_TIME + clock[_LEARNT]))
        clock[_EIGHTH] += adapting * (min(fourth * fourth, loudest) - clock[_EIGHTH])
        if abs(stamp - clock[_HELD_STAMP]) >= HELD:
            clock[_USED], clock[_HELD], clock[_HELD_STAMP] = clock[_HELD], clock[_EIGHTH], stamp
    if frozen < 0.0:
        delayed_mean(stamp, s, line, clock, memory)
    return math.sqrt(math.sqrt(fourth))


@compiled
def loudness(clock):
    """See `TorqueStepDetector.loudness`."""
    return max(1.0, math.sqrt(math.sqrt(clock[_USED])) / QUIET**2)


@compiled
def quiet_samples(
    stamp, steps, momentum, bias, dq, inertia, unexplained, w, weights, threshold,
    derivative, direct, first, old_direct, second, old_middle, sigma, tau, drift, line, clock, memory, noise, jump, std,
):  # fmt: skip
    """Follow N samples up to the first one whose test statistic is above `threshold`; how many, and the statistic."""
    external, ratio = scratch(dq.shape[1]), 0.0
    for k in range(steps.shape[0]):
        filter_step(momentum[k], bias[k], w, steps[k], derivative, direct, first, old_direct, second, old_middle)
        weighted_columns(second, weights, external)
        statistic = torque_step_update(
            stamp[k], steps[k], -1.0, external, dq[k], inertia[k], unexplained[k], w, sigma, tau, drift,
            line, clock, memory, noise, jump, std,
        )  # fmt: skip
        ratio = statistic / loudness(clock)
        if ratio > threshold:
            return k + 1, ratio
    return steps.shape[0], ratio


class TorqueStepDetector:
    """e and its standard deviation for the joints of one arm, sample by sample.

    Parameters
    ----------
    residual: the arm's residual model.
    pole: rad/s, of the two low-pass filters that external torques have passed.
    """

    def __init__(self, residual: ResidualModel, pole: float) -> None:
        n = len(residual.std)
        # Copies: numba would compile anew for arrays that cannot be written to.
        self._sigma, self._tau, self._pole = residual.std.copy(), residual.correlation_time.copy(), pole
        parts = (self._sigma, self._tau), (DRIFT * self._sigma, np.minimum(self._tau, DRIFT_TIME))
        self._drift = np.array([[drift_variance(*each, LAG) for each in zip(*part, strict=True)] for part in parts])
        self._memory, self._line, self._clock = np.zeros((5, n)), np.zeros((SLOTS, 2 * n + 1)), np.zeros(8)
        self._clock[[_EIGHTH, _HELD, _USED]] = FIRST_QUIET**8
        self._noise = np.full((n, MEANS), math.nan)  # until the first posture is known
        self.jump, self.std = np.zeros(n), residual.std.copy()
        self.unexplained = np.ones(n)
        """(n,), share of the residual's variance that a residual map leaves open in the present state."""
        self._stamp = math.nan
        self._frozen_since = math.nan

    def start(self, stamp: float, external: FloatArray) -> None:
        """Compare with `external` (n,), N m, at `stamp` s from now on; the noise learnt so far stays."""
        self._memory[_RECENT] = external
        self._stamp = stamp
        self.resume()

    def resume(self) -> None:
        """Compare with the torques of the last moments."""
        self._memory[_S], self._memory[_C] = self._memory[_RECENT], self._memory[_SECOND]
        self._clock[_HEAD] = self._clock[_COUNT] = 0.0
        self._clock[_MEAN_STAMP] = self._stamp
        self._frozen_since = math.nan

    def freeze(self) -> None:
        """Hold the mean that the torques are compared with, and unlearn the last moments: the contact has begun."""
        self._clock[_EIGHTH] = self._clock[_HELD] = self._clock[_USED]
        self._frozen_since = self._stamp

    def shift(self, change: FloatArray) -> None:
        """The external torques change by `change` (n,), N m, for a known reason, which is no step."""
        self._memory[_S] += change
        self._memory[_RECENT] += change
        self._line[:, : len(change)] += change

    def update(self, stamp: float, external: FloatArray, dq: FloatArray, inertia: FloatArray) -> float:
        """The test statistic after external torques (n,), N m, and velocities (n,), rad/s, at `stamp`, s.

        inertia: (n,), kg^2 m^4, `squared_inertia` of the posture.
        """
        dt, self._stamp = stamp - self._stamp, stamp
        frozen = -1.0 if math.isnan(self._frozen_since) else stamp - self._frozen_since
        statistic: float = torque_step_update(
            stamp, dt, frozen, external, dq, inertia, self.unexplained, self._pole, self._sigma, self._tau, self._drift,
            self._line, self._clock, self._memory, self._noise, self.jump, self.std,
        )  # fmt: skip
        return statistic

    @property
    def loudness(self) -> float:
        """Square of the level of the statistic while nothing touches the arm, over an arm's as modelled; at least 1."""
        level: float = loudness(self._clock)
        return level

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """The arguments of `torque_step_update` from `sigma` on."""
        return (
            self._sigma, self._tau, self._drift, self._line, self._clock, self._memory, self._noise,
            self.jump, self.std,
        )  # fmt: skip

    def follow(self, stamp: float) -> None:
        """Go on from the stamp, s, of the last of several samples that `arrays` have followed."""
        self._stamp = stamp

    @property
    def largest(self) -> float:
        """The largest |jump| / std of the joints."""
        return float(np.abs(self.jump / self.std).max())
