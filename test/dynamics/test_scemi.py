# SPDX-License-Identifier: Apache-2.0
"""The SCEMI robot, document 004's example (section 9), with the names and closed forms that the paper prints.

The paper shows the arm only as a drawing. Its geometry follows from the relations it prints: each must be eq. (20) for
some alpha, d and r, and those of link 6 to 2 leave no choice but the sign of alpha_2, which no relation shows.
"""

import numpy as np
import pytest
from arms import chain, random_body, random_states

import panda_dynamics_ros as pdr
from panda_dynamics_ros.robot.yaml_file import modified_dh

D3, RL4 = 0.6, 0.45  # m; the paper keeps them as symbols, so any lengths do
RIGHT = np.pi / 2
D = (0.0, 0.0, D3, 0.0, 0.0, 0.0)
R = (0.0, 0.0, 0.0, RL4, 0.0, 0.0)
ALPHA = (0.0, RIGHT, 0.0, -RIGHT, RIGHT, -RIGHT)

MINIMUM = {
    1: "ZZR1",
    2: "XXR2 XY2 XZR2 YZ2 ZZR2 mXR2 mY2",
    3: "XXR3 XY3 XZ3 YZ3 ZZR3 mX3 mYR3",
    4: "XXR4 XY4 XZ4 YZ4 ZZR4 mX4 mYR4",
    5: "XXR5 XY5 XZ5 YZ5 ZZR5 mX5 mYR5",
    6: "XXR6 XY6 XZ6 YZ6 ZZ6 mX6 mY6",
}
"""What the paper lists for each link."""


@pytest.fixture(scope="module")
def scemi() -> pdr.RobotModel:
    rng = np.random.default_rng(30)
    placements = np.array([modified_dh(d, r, alpha, 0.0) for d, r, alpha in zip(D, R, ALPHA, strict=True)])
    return chain(placements, (False,) * 6, tuple(random_body(rng) for _ in range(6)))


@pytest.fixture(scope="module")
def symbols(scemi: pdr.RobotModel) -> dict[str, float]:
    """Every inertial parameter by its symbol."""
    names = ("m", "mX", "mY", "mZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ")
    return {
        f"{name}{link}": float(value)
        for link, body in enumerate(scemi.links, start=1)
        for name, value in zip(names, body.vector, strict=True)
    }


def test_it_has_the_36_parameters_that_the_paper_lists(scemi: pdr.RobotModel) -> None:
    wanted = [name for names in MINIMUM.values() for name in names.split()]
    found = scemi.base_parameters().names
    assert len(found) == 36
    assert sorted(found) == sorted(wanted)


def test_step_a_finds_the_parameters_that_the_paper_lists(scemi: pdr.RobotModel) -> None:
    wanted = ["XX1", "XY1", "XZ1", "YY1", "YZ1", "mX1", "mY1", "mZ1", "m1", "mZ2", "m2"]
    assert sorted(scemi.base_parameters().without_effect) == sorted(wanted)


def closed_forms(p: dict[str, float]) -> dict[str, float]:
    """Section 9, step b, as printed; link 2 with the YY3 that the paper forgets (see the test below)."""
    wrist = p["m4"] + p["m5"] + p["m6"]
    beyond_2 = p["m3"] + wrist
    at_3 = p["YY4"] + 2 * RL4 * p["mZ4"] + RL4**2 * wrist
    return {
        "XXR6": p["XX6"] - p["YY6"],
        "XXR5": p["XX5"] + p["YY6"] - p["YY5"],
        "ZZR5": p["ZZ5"] + p["YY6"],
        "mYR5": p["mY5"] + p["mZ6"],
        "XXR4": p["XX4"] + p["YY5"] - p["YY4"],
        "ZZR4": p["ZZ4"] + p["YY5"],
        "mYR4": p["mY4"] - p["mZ5"],
        "XXR3": p["XX3"] + at_3 - p["YY3"],
        "ZZR3": p["ZZ3"] + at_3,
        "mYR3": p["mY3"] + p["mZ4"] + RL4 * wrist,
        "XXR2": p["XX2"] - p["YY2"] - D3**2 * beyond_2,
        "XZR2": p["XZ2"] - D3 * p["mZ3"],
        "ZZR2": p["ZZ2"] + D3**2 * beyond_2,
        "mXR2": p["mX2"] + D3 * beyond_2,
        "ZZR1": p["ZZ1"] + p["YY2"] + p["YY3"] + D3**2 * beyond_2,
    }


def test_closed_forms_link_by_link(scemi: pdr.RobotModel, symbols: dict[str, float]) -> None:
    base = scemi.base_parameters()
    values = dict(zip(base.names, base.values, strict=True))
    regrouped = closed_forms(symbols)
    # The paper's R marks the regrouped ones; all the others stand for themselves.
    wanted = {name: regrouped[name] if "R" in name else symbols[name] for name in base.names}
    assert values == pytest.approx(wanted, rel=1e-14, abs=1e-14)  # sums of at most seven terms


def test_printed_relations_of_link_2_forget_a_term(scemi: pdr.RobotModel, symbols: dict[str, float]) -> None:
    """With alpha_3 = 0 eq. (20) also gives YYR_2 = YY_2 + C(alpha_3)^2 YY_3 + ..; section 9 prints it without YY_3.

    So its XXR_2 has +YY_3 too much and its ZZR_1 lacks it. Torques decide: the printed values are wrong ones.
    """
    base = scemi.base_parameters()
    states = random_states(scemi, np.random.default_rng(31), samples=50)
    tau, Y = scemi.inverse_dynamics(*states), scemi.regressor(*states)[..., list(base.columns)]
    printed = np.array(base.values)
    printed[base.names.index("XXR2")] += symbols["YY3"]
    printed[base.names.index("ZZR1")] -= symbols["YY3"]
    assert np.abs(Y @ base.values - tau).max() < 1e-11  # torques of up to 500 N m
    assert np.abs(Y @ printed - tau).max() > 0.1
