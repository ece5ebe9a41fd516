# SPDX-License-Identifier: Apache-2.0
"""Compares positions with velocities and stamps: what an arm moves is the integral of its velocity.

Over windows of at least `WINDOW` samples and some motion the displacement D = q(end) - q(start) is compared with
V = integral of dq dt. Stamps in milliseconds, velocities in degrees, of opposite sign, of other joints or missing make
them disagree. Two robots in similar postures on one topic make consecutive samples jump to and fro, so that the path
is many times that of the velocities.
"""

from __future__ import annotations

import math

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.kernels.compiled import compiled

WINDOW, MOTION = 50, 0.02  # samples; rad or m of the joint that moves most
LONGEST = 2.0  # s: in a longer one with less motion an offset of dq would count
COARSE, FAR_MORE = 0.2, 20.0
"""s: a longer step is hardly integrated. It counts only where V is so many times D, as with another unit of time."""
KEEP, ENOUGH = 0.8, 4  # exponential memory, per window; windows before anything is said
MISFIT = 0.3
"""|D - V|^2 over |D|^2 + |V|^2, above which they disagree: of V = D times 2.3 or 0.4. Real arms have 0.00 to 0.05."""
TO_AND_FRO = 5.0  # path of the positions beside that of the velocities, over the latter; 2 where positions are held
ALIKE = 0.8  # squared correlation of D and V, above which they differ by a factor

# Entries of `window`: samples, s, longest step, path off the velocity's, path of the velocity.
_COUNT, _TIME, _STEP, _OFF, _PATH = range(5)


@compiled
def follow_motion(dt, q, dq, last, moved, window):
    """Add a sample to the window, in place; whether it is complete. `last`, `moved` (2, n): q and dq; D and V."""
    most = 0.0
    for i in range(q.shape[0]):
        step, integral = q[i] - last[0, i], 0.5 * (dq[i] + last[1, i]) * dt
        moved[0, i] += step
        moved[1, i] += integral
        window[_OFF] += abs(step - integral)
        window[_PATH] += abs(integral)
        most = max(most, abs(moved[0, i]), abs(moved[1, i]))
        last[0, i], last[1, i] = q[i], dq[i]
    window[_COUNT] += 1.0
    window[_TIME] += dt
    window[_STEP] = max(window[_STEP], dt)
    return window[_COUNT] >= WINDOW and (most > MOTION or window[_TIME] > LONGEST)


class KinematicCheck:
    """Follows the samples of one arm.

    Parameters
    ----------
    n: joints.

    Attributes
    ----------
    problem: one sentence with cause and remedy while positions, velocities and stamps disagree; else empty.
    """

    def __init__(self, n: int) -> None:
        self._last, self._moved, self._window = np.full((2, n), math.nan), np.zeros((2, n)), np.zeros(5)
        self._stamp = -math.inf
        self._products = np.zeros(3)  # means of D'D, D'V, V'V
        self._to_and_fro, self._windows, self.problem = 0.0, 0, ""

    def update(self, stamp: float, q: FloatArray, dq: FloatArray) -> None:
        """Follow a sample: s; (n,), rad; (n,), rad/s."""
        dt, self._stamp = stamp - self._stamp, stamp
        if not 0.0 < dt < math.inf:
            self._last[0], self._last[1] = q, dq
            self._start_window()
        elif follow_motion(dt, q, dq, self._last, self._moved, self._window):
            self._judge()
            self._start_window()

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The arguments of `follow_motion` from `last` on."""
        return self._last, self._moved, self._window

    def follow(self, stamp: float, complete: bool) -> None:
        """Go on from the last of several samples that `arrays` have followed, which may have completed the window."""
        self._stamp = stamp
        if complete:
            self._judge()
            self._start_window()

    def _start_window(self) -> None:
        self._moved[:], self._window[:] = 0.0, 0.0

    def _judge(self) -> None:
        """Take the window that is complete into account, and renew `problem`."""
        D, V = self._moved
        products = np.array([D @ D, D @ V, V @ V])
        largest = max(products[0], products[2])
        coarse = self._window[_STEP] > COARSE and products[2] < FAR_MORE**2 * products[0]
        if coarse or largest < MOTION**2 or not math.isfinite(largest):
            return
        self._windows += 1
        new = 1.0 - min(KEEP, 1.0 - 1.0 / self._windows)
        self._products += new * (products / largest - self._products)
        # Where the velocities are nothing, or of another unit, this says nothing.
        ratio = self._window[_OFF] / max(self._window[_PATH], float(np.abs(D).sum()), 1e-300)
        self._to_and_fro += new * (min(ratio, 100.0) - self._to_and_fro)
        self.problem = self._found() if self._windows >= ENOUGH else ""

    def _found(self) -> str:
        DD, DV, VV = self._products
        if self._to_and_fro > TO_AND_FRO:
            return (
                f"the positions go to and fro by {self._to_and_fro:.0f} times what the arm moves: expected the samples "
                "of one arm; two robots on one topic?"
            )
        if DD - 2.0 * DV + VV < MISFIT * (DD + VV):
            return ""
        if DV > 0.0 and DV**2 > ALIKE * DD * VV:
            return (
                f"the positions change {DV / VV:.2g} times as much as velocities and stamps say: expected rad, rad/s "
                "and stamps in s; are they in milliseconds, or the velocities in degrees?"
            )
        return (
            "the positions do not change as the velocities say: expected q in rad and dq in rad/s of the same joints; "
            "check sign, unit and order of the velocities, and the stamps"
        )
