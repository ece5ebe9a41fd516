# SPDX-License-Identifier: Apache-2.0
"""Many states: blocks of 16, each number of which stands beside the same number of the other states.

A block's workspace W (n + 1, NUMBERS, BLOCK) has a row of numbers for each link, and one more. A driver goes through
the links, and for each link through the states of the block: that innermost loop has no branches and reads and writes
neighbours, so that LLVM's vectoriser computes four or eight states with one instruction. It does not do this with a
loop over states around a recursion over links. The functions of one state (`step_outward`, ...) are the same, and so
are their results, to the last bit.

Everything is in one array because LLVM has to show at run time that arrays do not overlap, and gives up at many.
"""

from __future__ import annotations

import numpy as np

from panda_dynamics_ros.dynamics.kernels.vectors import (
    LARGEST,
    add,
    column,
    cos_sin,
    fixed_rotation,
    part,
    reduced_cos_sin,
    scale,
    slides,
    translation,
    turned,
)

BLOCK, NUMBERS = 16, 32
PLACED, ORIGIN, POSITION, COSINE, SINE = 0, 9, 12, 13, 14  # rotation and translation of a joint; its position
FREE = 15  # from here on, each driver has its own numbers


@part
def workspace(n):
    """W of an arm with n joints."""
    return np.empty((n + 1, NUMBERS, BLOCK))


@part
def get(V, k, b):
    """The vector of state b whose first number is in row k of V (NUMBERS, BLOCK)."""
    return (V[k, b], V[k + 1, b], V[k + 2, b])


@part
def put(V, k, b, a):
    """Write the vector of state b that begins in row k of V."""
    V[k, b] = a[0]
    V[k + 1, b] = a[1]
    V[k + 2, b] = a[2]


@part
def get_rotation(V, k, b):
    """The rotation of state b that begins in row k of V."""
    return (
        V[k, b], V[k + 1, b], V[k + 2, b],
        V[k + 3, b], V[k + 4, b], V[k + 5, b],
        V[k + 6, b], V[k + 7, b], V[k + 8, b],
    )  # fmt: skip


@part
def put_rotation(V, k, b, R):
    """Write the rotation of state b that begins in row k of V."""
    put(V, k, b, (R[0], R[1], R[2]))
    put(V, k + 3, b, (R[3], R[4], R[5]))
    put(V, k + 6, b, (R[6], R[7], R[8]))


@part
def load(W, k, states):
    """Copy joint values (count, n) into row k of each link."""
    for i in range(states.shape[1]):
        V = W[i]
        for b in range(states.shape[0]):
            V[k, b] = states[b, i]


@part
def place_block(table, W, q, joints):
    """Place the first joints of the states q (count, n): as `place_joints`, into PLACED and ORIGIN."""
    count = q.shape[0]
    load(W, POSITION, q)
    for i in range(joints):
        V, R, p = W[i], fixed_rotation(table, i), translation(table, i)
        if slides(table, i):
            for b in range(count):
                put_rotation(V, PLACED, b, R)
                put(V, ORIGIN, b, add(p, scale(V[POSITION, b], column(R, 2))))
            continue
        ordinary = True
        for b in range(count):
            ordinary &= abs(V[POSITION, b]) <= LARGEST
        if ordinary:
            for b in range(count):
                V[COSINE, b], V[SINE, b] = reduced_cos_sin(V[POSITION, b])
        else:
            for b in range(count):
                V[COSINE, b], V[SINE, b] = cos_sin(V[POSITION, b])
        for b in range(count):
            put_rotation(V, PLACED, b, turned(R, V[COSINE, b], V[SINE, b]))
            put(V, ORIGIN, b, p)
