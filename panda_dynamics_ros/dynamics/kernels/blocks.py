# SPDX-License-Identifier: Apache-2.0
"""Blocks of states, for the compiled kernels of many: several times as fast as state by state.

In a block, each number of a state stands beside the same number of the other states. Its workspace W (n + 1, NUMBERS,
BLOCK) has an array V of numbers for each link, and one more. A driver goes through the links, and for each link through
the states of the block: that innermost loop has no branches and reads and writes neighbours, so that LLVM's vectoriser
computes four or eight states with one instruction. It does not do this with a loop over states around a recursion over
links. One state is a block of its own, or has functions that keep numbers in registers; the results are the same.

Everything is in one array because LLVM has to show at run time that arrays do not overlap, and gives up at many.
"""

import numpy as np

from panda_dynamics_ros.dynamics.kernels import chain
from panda_dynamics_ros.dynamics.kernels.compiled import part
from panda_dynamics_ros.dynamics.kernels.vectors import LARGEST, along, cos_sin, reduced_cos_sin, turned

BLOCK, NUMBERS = 16, 32
PLACED, ORIGIN, POSITION, COSINE, SINE = 0, 9, 12, 13, 14  # rotation and translation of a joint; its position
FREE = 15  # from here on, each driver has its own numbers


@part
def workspace(n, states=BLOCK):
    """W of an arm with n joints, for so many states at a time."""
    return np.empty((n + 1, NUMBERS, states))


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
def placed(V, b):
    """The placement (R, p) of state b."""
    return get(V, PLACED, b) + get(V, PLACED + 3, b) + get(V, PLACED + 6, b), get(V, ORIGIN, b)


@part
def place(V, b, X):
    """Write the placement X = (R, p) of state b."""
    R, p = X
    put(V, PLACED, b, R[:3])
    put(V, PLACED + 3, b, R[3:6])
    put(V, PLACED + 6, b, R[6:])
    put(V, ORIGIN, b, p)


@part
def load(W, k, count, states):
    """Copy joint values (count, n) into row k of each link."""
    for i in range(states.shape[1]):
        V = W[i]
        for b in range(count):
            V[k, b] = states[b, i]


@part
def place_joints(table, W, count, q, joints):
    """Place the first joints of the states q (count, n), as `chain.place_joints`."""
    load(W, POSITION, count, q)
    for i in range(joints):
        V, (R, p) = W[i], chain.placed(table, i)
        if chain.slides(table, i):
            for b in range(count):
                place(V, b, chain.slid((R, p), V[POSITION, b]))
            continue
        for b in range(count):
            V[COSINE, b], V[SINE, b] = reduced_cos_sin(V[POSITION, b])
        for b in range(count):
            if abs(V[POSITION, b]) > LARGEST:
                V[COSINE, b], V[SINE, b] = cos_sin(V[POSITION, b])
        for b in range(count):
            place(V, b, (turned(R, V[COSINE, b], V[SINE, b]), p))


@part
def place_in_base(W, count, joints):
    """Replace the placements of the first joints in the link before by those in base."""
    for i in range(1, joints):
        U, V = W[i - 1], W[i]
        for b in range(count):
            place(V, b, along(placed(U, b), placed(V, b)))
