# SPDX-License-Identifier: Apache-2.0
"""What compiled kernels read in `RobotDescription.table`: joints, placements, gravity, and bodies with their laws."""

from panda_dynamics_ros.dynamics.kernels.compiled import part
from panda_dynamics_ros.dynamics.kernels.vectors import add, column, cos_sin, cross, fetch, scale, store, times, turned
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, ROTATION, TRANSLATION

BASE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)  # its placement (R, p) in itself


@part
def joint_count(table):
    """n."""
    return table.shape[0] - 3


@part
def placed(table, row):
    """The placement (R, p) of a row: joint i at zero position, the flange (n), or the end effector (n + 1).

    What `place_joints` writes is read in the same way.
    """
    k = ROTATION
    return fetch(table, row, k) + fetch(table, row, k + 3) + fetch(table, row, k + 6), fetch(table, row, TRANSLATION)


@part
def slides(table, i):
    """Whether joint i is prismatic."""
    return table[i, PRISMATIC] != 0.0


@part
def link_body(table, i):
    """Mass, first moment and inertia (xx, xy, xz, yy, yz, zz) of link i."""
    k = INERTIAL
    return table[i, k], fetch(table, i, k + 1), fetch(table, i, k + 4) + fetch(table, i, k + 7)


@part
def momentum_of(body, v, w):
    """(linear, angular) about the frame's origin: the spatial inertia of a body (m, m c, I) times a twist."""
    mass, mc, inertia = body
    return add(scale(mass, v), cross(w, mc)), add(times(inertia, w), cross(mc, v))


@part
def link_wrench(body, a, w, dw):
    """Force and moment about the frame's origin that give a body (m, m c, I) this motion."""
    (f, moment), (_, mc, inertia) = momentum_of(body, a, dw), body
    return add(f, cross(w, cross(w, mc))), add(moment, cross(w, times(inertia, w)))


@part
def upward(table):
    """The acceleration of a base that feels gravity: minus the gravity vector, in base axes."""
    return scale(-1.0, fetch(table, joint_count(table) + 2, TRANSLATION))


@part
def slid(X, d):
    """The placement X, moved by d along its own z."""
    R, p = X
    return R, add(p, scale(d, column(R, 2)))


@part
def placement(table, i, qi):
    """The placement of joint i's frame in its parent's, at joint position qi."""
    X = placed(table, i)
    if slides(table, i):
        return slid(X, qi)
    c, s = cos_sin(qi)
    return turned(X[0], c, s), X[1]


@part
def place_joints(table, q, frames):
    """Write the placements of all joints at q (n,) into `frames` (n, 12), with each sine and cosine computed once."""
    for i in range(joint_count(table)):
        R, p = placement(table, i, q[i])
        store(frames, i, ROTATION, R[:3])
        store(frames, i, ROTATION + 3, R[3:6])
        store(frames, i, ROTATION + 6, R[6:])
        store(frames, i, TRANSLATION, p)
