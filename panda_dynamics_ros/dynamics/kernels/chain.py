# SPDX-License-Identifier: Apache-2.0
"""What compiled kernels read in `RobotDescription.table`: joints, their placements, bodies, gravity."""

from panda_dynamics_ros.dynamics.kernels.compiled import part
from panda_dynamics_ros.dynamics.kernels.vectors import add, column, cos_sin, fetch, scale, store, turned
from panda_dynamics_ros.robot.description import INERTIAL, PRISMATIC, ROTATION, TRANSLATION


@part
def joint_count(table):
    """n."""
    return table.shape[0] - 3


@part
def fixed(table, row):
    """The constant placement (R, p) of a row: joint i at zero position, the flange (n), or the end effector (n + 1)."""
    t, k = table[row], ROTATION
    R = (t[k], t[k + 1], t[k + 2], t[k + 3], t[k + 4], t[k + 5], t[k + 6], t[k + 7], t[k + 8])
    return R, fetch(table, row, TRANSLATION)


@part
def slides(table, i):
    """Whether joint i is prismatic."""
    return table[i, PRISMATIC] != 0.0


@part
def link_body(table, i):
    """Mass, first moment and inertia (xx, xy, xz, yy, yz, zz) of link i."""
    t, k = table[i], INERTIAL
    return t[k], (t[k + 1], t[k + 2], t[k + 3]), (t[k + 4], t[k + 5], t[k + 6], t[k + 7], t[k + 8], t[k + 9])


@part
def upward(table):
    """The acceleration of a base that feels gravity: minus the gravity vector, in base axes."""
    return scale(-1.0, fetch(table, joint_count(table) + 2, TRANSLATION))


@part
def placement(table, i, qi):
    """The placement of joint i's frame in its parent's, at joint position qi."""
    R, p = fixed(table, i)
    if slides(table, i):
        return R, add(p, scale(qi, column(R, 2)))
    c, s = cos_sin(qi)
    return turned(R, c, s), p


@part
def place_joints(table, q, frames):
    """Write the placements of all joints at q (n,) into `frames` (n, 12), with each sine and cosine computed once."""
    for i in range(joint_count(table)):
        R, p = placement(table, i, q[i])
        store(frames, i, 0, (R[0], R[1], R[2]))
        store(frames, i, 3, (R[3], R[4], R[5]))
        store(frames, i, 6, (R[6], R[7], R[8]))
        store(frames, i, 9, p)


@part
def placed(frames, i):
    """`placement` of joint i, read from what `place_joints` wrote."""
    f = frames[i]
    return (f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]), (f[9], f[10], f[11])
