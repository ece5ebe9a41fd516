# SPDX-License-Identifier: Apache-2.0
"""Cosine and sine together, by additions and products only, so that the compiler can compute several angles at a time.

The argument is reduced after Cody and Waite 1980: x = m pi/2 + r with |r| <= pi/4, and pi/2 in three parts. The first
two have so few bits that their products with m are exact. The polynomials are those of fdlibm (k_cos.c, k_sin.c),
with errors below 1 unit in the last place.
"""

from __future__ import annotations

import math

from panda_dynamics_ros.dynamics.kernels.compiled import part

LARGEST = 1.0e5  # rad; beyond, m times a part of pi/2 would be rounded
_QUARTER_TURNS = 2.0 / math.pi
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33 bits each
_TO_INTEGER = 1.5 * 2.0**52  # x + this - this is x rounded to the nearest integer
_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


@part
def horner(c, x):
    """c[0] + c[1] x + ... + c[5] x^5."""
    return c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))))


@part
def reduced_cos_sin(x):
    """cos x and sin x for |x| <= LARGEST, as those of r turned by m quarter turns."""
    m = (x * _QUARTER_TURNS + _TO_INTEGER) - _TO_INTEGER
    r = ((x - m * _HALF_PI[0]) - m * _HALF_PI[1]) - m * _HALF_PI[2]
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    cos_r = w + (((1.0 - w) - half) + z * (z * horner(_COS, z)))
    sin_r = r + z * r * horner(_SIN, z)
    m = m - 4.0 * ((0.25 * m + _TO_INTEGER) - _TO_INTEGER)  # -2 .. 2
    mm = m * m
    cos_m = 1.0 - mm * (7.0 - mm) * (1.0 / 6.0)  # 1, 0, -1 for |m| = 0, 1, 2, exactly
    sin_m = m * (4.0 - mm) * (1.0 / 3.0)  # -1, 0, 1
    return cos_m * cos_r - sin_m * sin_r, cos_m * sin_r + sin_m * cos_r


@part
def cos_sin(x):
    """cos x and sin x of any angle."""
    if abs(x) <= LARGEST:
        return reduced_cos_sin(x)
    return math.cos(x), math.sin(x)
