# SPDX-License-Identifier: Apache-2.0
"""URDF files that tests write: the Panda with its hand, arms with odd axes, random trees."""

from collections.abc import Iterable, Sequence

import numpy as np
from arms import random_body

import panda_dynamics_ros as pdr

PI = np.pi


def words(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def link(
    name: str, mass: float | None = None, com: Sequence[float] = (0, 0, 0),
    six: Sequence[float] = (1e-3, 0, 0, 1e-3, 0, 1e-3), rpy: Sequence[float] = (0, 0, 0),
) -> str:  # fmt: skip
    """A link; `six` are ixx, ixy, ixz, iyy, iyz, izz about the CoM, in axes turned by `rpy`."""
    if mass is None:
        return f'<link name="{name}"/>'
    entries = " ".join(
        f'{key}="{float(value)!r}"' for key, value in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), six, strict=True)
    )
    return (
        f'<link name="{name}"><inertial><origin xyz="{words(com)}" rpy="{words(rpy)}"/>'
        f'<mass value="{mass!r}"/><inertia {entries}/></inertial></link>'
    )


def joint(
    kind: str, parent: str, child: str, xyz: Sequence[float] = (0, 0, 0), rpy: Sequence[float] = (0, 0, 0),
    axis: Sequence[float] = (0, 0, 1), extra: str = "", limit: Sequence[float] = (-2.0, 2.0, 3.0, 50.0),
) -> str:  # fmt: skip
    """A joint named after its child; `limit` is lower, upper, velocity, effort."""
    lower, upper, velocity, effort = limit
    bounds = f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'
    return (
        f'<joint name="to_{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{words(xyz)}" rpy="{words(rpy)}"/><axis xyz="{words(axis)}"/>'
        f"{bounds if kind in ('revolute', 'prismatic') else ''}{extra}</joint>"
    )


def robot(*elements: str, name: str = "arm") -> str:
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n' + "\n".join(elements) + "\n</robot>\n"


def panda() -> str:
    """The Panda of Gaz et al. as its URDF states it: rpy origins, a base link with mass, hand and fingers."""
    arm = pdr.load_robot("panda")
    a, d = (0, 0, 0, 0.0825, -0.0825, 0, 0.088), (0.333, 0, 0.316, 0, 0.384, 0, 0)
    rolls = (0, -PI / 2, PI / 2, PI / 2, -PI / 2, PI / 2, PI / 2)
    elements = [link("link0", 0.629769, (-0.041018, -0.00014, 0.049974), (0.00315, 0, 0, 0.00388, 0, 0.004285))]
    for i in range(7):
        body = arm.links[i]
        six = body.inertia[np.triu_indices(3)].tolist()
        xyz = (a[i], -d[i] * np.sin(rolls[i]), d[i] * np.cos(rolls[i]))
        limits = arm.limits
        bounds = (limits.lower[i], limits.upper[i], limits.velocity[i], limits.effort[i])
        elements.append(link(f"link{i + 1}", body.mass, body.com.tolist(), six))
        elements.append(joint("revolute", f"link{i}", f"link{i + 1}", xyz, (rolls[i], 0, 0), limit=bounds))
    finger = (0.015, (0, 0, 0), (2.375e-6, 0, 0, 2.375e-6, 0, 7.5e-7))
    elements += [
        link("link8"),
        joint("fixed", "link7", "link8", (0, 0, 0.107)),
        link("hand", 0.73, (-0.01, 0, 0.03), (0.001, 0, 0, 0.0025, 0, 0.0017)),
        joint("fixed", "link8", "hand", rpy=(0, 0, -PI / 4)),
        link("left", *finger),
        joint("prismatic", "hand", "left", (0, 0, 0.0584), axis=(0, 1, 0)),
        link("right", *finger),
        joint("prismatic", "hand", "right", (0, 0, 0.0584), axis=(0, -1, 0), extra='<mimic joint="to_left"/>'),
    ]
    return robot(*elements, name="panda")


def six_revolute() -> str:
    """Six joints about x, y, -z and oblique axes of any length; offset inertials with turned axes."""
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, -1), (0.3, -2.0, -0.5), (-1e-9, 1e-9, -1)]
    rng = np.random.default_rng(11)
    elements = [link("base")]
    for i, axis in enumerate(axes):
        elements.append(random_link(f"l{i + 1}", rng))
        kind = "continuous" if i == 3 else "revolute"
        xyz, rpy = rng.uniform(-0.3, 0.3, 3).tolist(), rng.uniform(-PI, PI, 3).tolist()
        elements.append(joint(kind, f"l{i}" if i else "base", f"l{i + 1}", xyz, rpy, axis))
    return robot(*elements)


def with_slide_and_fixed_joints() -> str:
    """A turned mount, a slide, links held by fixed joints on and beside the chain, a massless link between."""
    rng = np.random.default_rng(12)
    return robot(
        link("world"),
        random_link("mount", rng),
        joint("fixed", "world", "mount", (0.1, 0.2, 0.3), (0.5, -0.4, 0.3)),
        random_link("carriage", rng),
        joint("prismatic", "mount", "carriage", (0, 0.1, 0), (0.1, 0.2, 0.3), (0, 1, 0)),
        random_link("plate", rng),
        joint("fixed", "carriage", "plate", (0.2, 0, 0.1), (-0.7, 0.1, 1.0)),
        random_link("camera", rng),
        joint("fixed", "plate", "camera", (0, 0.3, 0), (1.0, 0, 0.2)),
        link("cross"),
        joint("revolute", "plate", "cross", (0, 0, 0.2), (0, 0.4, 0), (1, 1, 0)),
        random_link("fork", rng),
        joint("revolute", "cross", "fork", (0, 0, 0), (0.3, 0, 0), (0, 1, 0)),
        random_link("wrist", rng),
        joint("revolute", "fork", "wrist", (0.3, 0, 0), (0, 0, 0.6), (1, 0, 0)),
        random_link("gripper", rng),
        joint("fixed", "wrist", "gripper", (0.05, 0.02, 0.1), (0.3, 0.2, 0.1)),
        link("tool"),
        joint("fixed", "gripper", "tool", (0, 0, 0.15), (0, -0.5, 0)),
        name="slide",
    )


def random_link(name: str, rng: np.random.Generator) -> str:
    body = random_body(rng)
    six = body.inertia[np.triu_indices(3)].tolist()
    return link(name, body.mass, body.com.tolist(), six, rng.uniform(-PI, PI, 3).tolist())


def random_tree(seed: int) -> tuple[str, str, str]:
    """A tree of 12 links on joints of every kind that a chain may have, and a base and a tip in it."""
    rng = np.random.default_rng([13, seed])
    while True:
        elements, parents = [random_link("l0", rng)], {0: 0}
        movable = set()
        for i in range(1, 12):
            parent = int(rng.integers(max(0, i - 2), i))  # mostly a chain, with twigs
            kind = str(rng.choice(["revolute", "continuous", "prismatic", "fixed"]))
            elements.append(random_link(f"l{i}", rng) if rng.random() < 0.8 else link(f"l{i}"))
            xyz, rpy = rng.uniform(-0.3, 0.3, 3).tolist(), rng.uniform(-PI, PI, 3).tolist()
            elements.append(joint(kind, f"l{parent}", f"l{i}", xyz, rpy, rng.normal(size=3).tolist()))
            parents[i] = parent
            if kind != "fixed":
                movable.add(i)
        chain = [11]
        while chain[-1] not in (0, 1):
            chain.append(parents[chain[-1]])
        if len(movable & set(chain[:-1])) >= 3:
            return robot(*elements, name=f"tree_{seed}"), f"l{chain[-1]}", "l11"
