# SPDX-License-Identifier: Apache-2.0
"""Base parameters against the regressor, whose numerical rank knows nothing of the direct method of document 004; the
document's regrouping relations, typed out; and its example, with the names and closed forms that it prints."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from arms import Array, body_of_points, chain, random_body, random_chain, random_states, transform
from hypothesis import given, settings
from hypothesis import strategies as st

import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.base_parameters import SYMBOLS, BaseParameters
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot.inertial import inertial_transport
from panda_dynamics_ros.robot.yaml_file import modified_dh

# Seen over 2,000 chains: the smallest singular value that counts is above 1e-4 of the largest, rounding below 1e-14.
RANK_TOLERANCE = 1e-9
# Y pi and Y_base values are sums of at most 10 n products of the same size: rounding has been seen up to 1e-14.
EXACT = 1e-12


def symbols_of(n: int) -> list[str]:
    return [f"{symbol}{link}" for link in range(1, n + 1) for symbol in SYMBOLS]


def stacked(robot: pdr.RobotModel, seed: int = 40) -> Array:
    """The regressor at 15 random states for each joint, one below the other: (15 n n, 10 n), at least 30 rows."""
    states = random_states(robot, np.random.default_rng(seed), samples=max(15 * robot.n, 30))
    return robot.regressor(*states).reshape(-1, 10 * robot.n)


def rank(matrix: Array) -> int:
    """Numerical rank, columns brought to the same length first."""
    lengths = np.linalg.norm(matrix, axis=0)
    lengths[lengths <= 1e-12 * lengths.max()] = 1.0  # rounding of a zero column stays rounding
    singular_values = np.linalg.svd(matrix / lengths, compute_uv=False)
    return int((singular_values > RANK_TOLERANCE * singular_values[0]).sum())


def assert_minimal_and_complete(robot: pdr.RobotModel) -> BaseParameters:
    """What makes a set of base parameters: nothing is lost, nothing could be left out, silence means silence."""
    base, Y = robot.base_parameters(), stacked(robot)
    Y_base, scale = Y[:, list(base.columns)], np.abs(Y).max()
    assert np.abs(Y_base @ base.mapping - Y).max() <= EXACT * scale
    assert np.abs(Y_base @ base.values - Y @ robot.inertial_vector).max() <= 10 * EXACT * scale  # values of some kg m
    assert len(base) == len(base.values) == len(base.expressions) == rank(Y)
    silent = np.abs(Y).max(axis=0) <= EXACT * scale
    assert base.without_effect == tuple(np.array(symbols_of(robot.n))[silent])
    return base


def test_panda_has_43(robot):
    assert len(assert_minimal_and_complete(robot)) == 43
    assert rank(stacked(robot)[:, -10:]) == 10  # all ten parameters of a payload have an effect


def test_panda_s_closed_forms(panda):
    """Eq. (20) by hand for links 7 and 6: a 7 = 0.088, d 5 = 0.384, right angles."""
    forms = panda.base_parameters().expressions
    assert "XXR7 = XX7 - YY7" in forms
    assert "XXR6 = XX6 - YY6 + YY7 - 0.007744*m7" in forms
    assert "mXR6 = mX6 + 0.088*m7" in forms
    assert "mYR4 = mY4 + mZ5 + 0.384*(m5 + m6 + m7)" in forms
    assert "ZZ7 = ZZ7" in forms


def test_gravity_across_the_first_joint_shows_two_more(panda):
    """Theorem 3: mX1 and mY1 have no effect only where gravity is along joint 1, as it is on a table."""
    base = assert_minimal_and_complete(replace(panda, gravity=np.array([0.0, 9.81, 0.0])))
    assert len(base) == 45
    assert {"mX1", "mYR1"} <= set(base.names)


def test_expressions_say_what_the_mapping_does():
    """Each closed form, read as arithmetic, gives its value; factors are printed with twelve digits."""
    robot = random_chain(5, seed=41)
    base = robot.base_parameters()
    symbols = dict(zip(symbols_of(5), robot.inertial_vector.tolist(), strict=True))
    assert re.fullmatch(r"[\w*+\-(). =]+", "".join(base.expressions))
    for name, value, form in zip(base.names, base.values, base.expressions, strict=True):
        left, right = form.split(" = ")
        assert left == name
        assert eval(right, {}, symbols) == pytest.approx(value, rel=1e-11, abs=1e-11)


ANGLES = st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, 0.7, -2.1])
LENGTHS = st.sampled_from([0.0, 0.0, 0.3, -0.2])
MODIFIED_DH = st.builds(modified_dh, LENGTHS, LENGTHS, ANGLES, ANGLES)
UNITS = st.integers(-8, 8).map(lambda k: k / 8.0)  # what is nearly special has no rank in floating point
VECTORS = st.tuples(UNITS, UNITS, UNITS)
ANYWHERE = st.builds(transform, VECTORS, VECTORS)
JOINTS = st.tuples(st.one_of(MODIFIED_DH, MODIFIED_DH, ANYWHERE), st.booleans())
GRAVITY = st.sampled_from([(0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (9.81, 0.0, 0.0), (3.0, 4.0, 5.0), (0.0, 0.0, 0.0)])


@given(joints=st.lists(JOINTS, min_size=1, max_size=5), gravity=GRAVITY)
@settings(max_examples=150)
def test_rank_of_any_chain(joints, gravity):
    """Turning and sliding, parallel, crossing, skew; gravity along, across, oblique or none."""
    rng = np.random.default_rng(len(joints))
    placements, prismatic = zip(*joints, strict=True)
    links = tuple(random_body(rng) for _ in joints)
    robot = chain(np.array(placements), prismatic, links, gravity=gravity)
    base = assert_minimal_and_complete(robot)
    sliding = sum(prismatic)
    turning = len(joints) - sliding
    # Theorem 7, eq. (23), with the bar that the extraction of document 004 has lost: see the next test.
    assert len(base) <= 7 * turning + 4 * sliding - 3 - (not prismatic[0])


def test_bound_of_equation_23_is_with_sigma_bar():
    """One sliding joint has one parameter, its mass; a bound of 4 n_t - 3 - sigma_1 = 0 would deny it."""
    slide = chain(np.eye(4)[None], (True,), (random_body(np.random.default_rng(43)),))
    assert assert_minimal_and_complete(slide).names == ("m1",)
    turn = replace(slide, prismatic=(False,), gravity=np.array([9.81, 0.0, 0.0]))
    assert assert_minimal_and_complete(turn).names == ("mX1", "mY1", "ZZ1")  # 7 n - 4, as the paper's abstract says


def test_bound_of_equation_23_is_reached():
    """A chain in general position, six joints, has exactly as many as theorem 7 allows."""
    rng = np.random.default_rng(44)
    placements = np.array([transform(rng.normal(size=3), rng.normal(size=3)) for _ in range(6)])
    prismatic = (False, False, False, True, False, False)
    robot = chain(placements, prismatic, tuple(random_body(rng) for _ in range(6)), gravity=(3.0, 4.0, 5.0))
    assert len(assert_minimal_and_complete(robot)) == 7 * 5 + 4 - 4


def test_planar_two_link_arm_of_document_003():
    """Slides 7 to 9: four dynamic coefficients, once the centres of mass lie on the links' axes."""
    rng = np.random.default_rng(45)
    length = 0.7
    placements = np.array([np.eye(4), modified_dh(length, 0.0, 0.0, 0.0)])
    on_axis = [np.column_stack([rng.uniform(0.1, 0.6, 2), np.zeros((2, 2))]) for _ in range(2)]
    links = tuple(body_of_points(rng.uniform(0.5, 2.0, 2), points) for points in on_axis)
    robot = chain(placements, (False, False), links, gravity=(0.0, -9.81, 0.0))
    base = assert_minimal_and_complete(robot)
    forms = dict(form.split(" = ") for form in base.expressions)
    assert forms == {
        "mXR1": "mX1 + 0.7*m2",  # a1 of slide 9: m1 d1 + m2 l1
        "ZZR1": "ZZ1 + 0.49*m2",  # a2: I1zz + m2 l1^2
        "mX2": "mX2",  # a3: m2 d2
        "ZZ2": "ZZ2",  # a4: I2zz
        "mY1": "mY1",  # these two are zero by the slides' assumption
        "mY2": "mY2",
    }
    assert np.count_nonzero(np.abs(base.values) > 1e-15) == 4
    used = [k for k, symbol in enumerate(symbols_of(2)) if re.fullmatch(r"mX.|ZZ.|m2", symbol)]
    assert len(used) == 5
    assert rank(stacked(robot)[:, used]) == 4  # slide 9: five parameters, one column of which depends on the others


def test_scale_of_the_arm_does_not_matter():
    """An arm of 0.3 mm and one of 30 m have the parameters of the arm of 0.3 m."""
    for seed in range(20):
        robot = random_chain(4, seed=100 + seed)
        for scale in (1e-3, 1e2):
            placements = robot.placements.copy()
            placements[:, :3, 3] *= scale
            assert replace(robot, placements=placements).base_parameters().names == robot.base_parameters().names


def test_axes_that_meet_but_for_rounding():
    """A head whose pan and tilt meet, as an exporter writes it: the only other length is 5.6e-17 m."""
    tilt = transform([-np.pi / 2.0, 0.0, 0.0], [0.0, 5.5511e-17, 0.0])
    placements = np.array([transform(np.zeros(3), [0.0, 0.0, 0.3]), tilt])
    assert_minimal_and_complete(chain(placements, (False, False), (random_body(np.random.default_rng(47)),) * 2))


def test_tolerance_overlooks_a_calibration(panda):
    """Angles and lengths that are off by 1e-5 make every structural zero a number; with 1e-3 they count as zero."""
    rng = np.random.default_rng(46)
    off = [transform(1e-5 * rng.normal(size=3), 1e-5 * rng.normal(size=3)) for _ in range(7)]
    calibrated = replace(panda, placements=np.array([T @ d for T, d in zip(panda.placements, off, strict=True)]))
    assert len(calibrated.base_parameters()) == 45  # 7 n - 4: joint 1 is no longer along gravity
    base = calibrated.base_parameters(tolerance=1e-3)
    assert base.columns == panda.base_parameters().columns
    Y = stacked(calibrated)
    assert np.abs(Y[:, list(base.columns)] @ base.mapping - Y).max() < 1e-3 * np.abs(Y).max()


@pytest.mark.parametrize("tolerance", [-1.0, np.nan, 1.0, "fine"])
def test_tolerance_is_checked(panda, tolerance):
    with pytest.raises(ArgumentError, match=r"^tolerance: expected"):
        panda.base_parameters(tolerance=tolerance)


TOLERANCE = 1e-12  # both sides are products of a few rounded numbers of size one: a thousand times their rounding


def vector(**terms: float) -> np.ndarray:
    """An inertial vector of its entries by name."""
    return np.array([terms.get(symbol, 0.0) for symbol in SYMBOLS])


def test_a_body_in_another_frame(rng):
    """Eq. (22) with first moments and mass, of which the appendix prints factors with errors (erratum 8)."""
    for _ in range(100):
        body, T = random_body(rng), transform(rng.normal(size=3), rng.normal(size=3))
        np.testing.assert_allclose(inertial_transport(T) @ body.vector, body.transformed(T).vector, atol=10 * TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_equation_20(seed):
    """A turning joint: the eleven relations as printed, the first one as erratum 6 says."""
    rng = np.random.default_rng([22, seed])
    d, r, alpha, theta, YY, mZ, m = rng.normal(size=7)
    S, C = math.sin(alpha), math.cos(alpha)
    want = vector(
        XX=YY + 2 * r * mZ + r**2 * m,
        YY=C**2 * YY + 2 * r * C**2 * mZ + (d**2 + r**2 * C**2) * m,
        ZZ=S**2 * YY + 2 * r * S**2 * mZ + (d**2 + r**2 * S**2) * m,
        XY=d * S * mZ + d * r * S * m,
        XZ=-d * C * mZ - d * r * C * m,
        YZ=C * S * YY + 2 * r * C * S * mZ + r**2 * C * S * m,
        mX=d * m,
        mY=-S * mZ - r * S * m,
        mZ=C * mZ + r * C * m,
        m=m,
    )
    given = inertial_transport(modified_dh(d, r, alpha, theta)) @ vector(XX=YY, YY=YY, mZ=mZ, m=m)  # at any theta
    np.testing.assert_allclose(given, want, rtol=0.0, atol=TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_equation_21(seed):
    """A sliding joint: the six relations, with the terms of XX_j as erratum 7 says; and eq. (22)."""
    rng = np.random.default_rng([23, seed])
    d, alpha, theta, XX, XY, XZ, YY, YZ, ZZ = rng.normal(size=9)
    S, C, s, c = math.sin(alpha), math.cos(alpha), math.sin(theta), math.cos(theta)
    want = vector(
        XX=c**2 * XX + s**2 * YY - 2 * c * s * XY,
        YY=s**2 * C**2 * XX + c**2 * C**2 * YY + S**2 * ZZ
        + 2 * c * s * C**2 * XY - 2 * s * C * S * XZ - 2 * c * C * S * YZ,
        ZZ=s**2 * S**2 * XX + c**2 * S**2 * YY + C**2 * ZZ
        + 2 * c * s * S**2 * XY + 2 * s * C * S * XZ + 2 * c * C * S * YZ,
        XY=c * s * C * XX - c * s * C * YY + (c**2 - s**2) * C * XY - c * S * XZ + s * S * YZ,
        XZ=c * s * S * XX - c * s * S * YY + (c**2 - s**2) * S * XY + c * C * XZ - s * C * YZ,
        YZ=s**2 * C * S * XX + c**2 * C * S * YY - C * S * ZZ
        + 2 * c * s * C * S * XY + s * (C**2 - S**2) * XZ + c * (C**2 - S**2) * YZ,
    )  # fmt: skip
    leaving = vector(XX=XX, XY=XY, XZ=XZ, YY=YY, YZ=YZ, ZZ=ZZ)
    given = inertial_transport(modified_dh(d, rng.normal(), alpha, theta)) @ leaving  # however far the joint slides
    np.testing.assert_allclose(given, want, rtol=0.0, atol=TOLERANCE)


D3, RL4 = 0.6, 0.45  # m; the paper keeps them as symbols, so any lengths do
RIGHT = np.pi / 2
D = (0.0, 0.0, D3, 0.0, 0.0, 0.0)
R = (0.0, 0.0, 0.0, RL4, 0.0, 0.0)
ALPHA = (0.0, RIGHT, 0.0, -RIGHT, RIGHT, -RIGHT)

MINIMUM = """
    ZZR1
    XXR2 XY2 XZR2 YZ2 ZZR2 mXR2 mY2
    XXR3 XY3 XZ3 YZ3 ZZR3 mX3 mYR3
    XXR4 XY4 XZ4 YZ4 ZZR4 mX4 mYR4
    XXR5 XY5 XZ5 YZ5 ZZR5 mX5 mYR5
    XXR6 XY6 XZ6 YZ6 ZZ6 mX6 mY6
"""  # what the paper lists for each link


@pytest.fixture(scope="module")
def scemi():
    """The SCEMI robot, document 004's example (section 9), which the paper shows only as a drawing.

    Its geometry follows from the relations it prints: each must be eq. (20) for some alpha, d and r, and those of link
    6 to 2 leave no choice but the sign of alpha_2, which no relation shows.
    """
    rng = np.random.default_rng(30)
    placements = np.array([modified_dh(d, r, alpha, 0.0) for d, r, alpha in zip(D, R, ALPHA, strict=True)])
    return chain(placements, (False,) * 6, tuple(random_body(rng) for _ in range(6)))


@pytest.fixture(scope="module")
def symbols(scemi):
    """Every inertial parameter by its symbol."""
    return dict(zip(symbols_of(6), scemi.inertial_vector.tolist(), strict=True))


def test_it_has_the_36_parameters_that_the_paper_lists_and_step_a_the_others(scemi):
    base = scemi.base_parameters()
    assert len(base) == 36
    assert sorted(base.names) == sorted(MINIMUM.split())
    assert set(base.without_effect) == {"XX1", "XY1", "XZ1", "YY1", "YZ1", "mX1", "mY1", "mZ1", "m1", "mZ2", "m2"}


def closed_forms(p: dict[str, float]) -> dict[str, float]:
    """Section 9, step b, as printed; link 2 with the YY3 that the paper forgets (see the test below)."""
    wrist = p["m4"] + p["m5"] + p["m6"]
    beyond_2 = p["m3"] + wrist
    at_3 = p["YY4"] + 2 * RL4 * p["mZ4"] + RL4**2 * wrist
    return {
        "XXR6": p["XX6"] - p["YY6"], "XXR5": p["XX5"] + p["YY6"] - p["YY5"], "ZZR5": p["ZZ5"] + p["YY6"],
        "mYR5": p["mY5"] + p["mZ6"], "XXR4": p["XX4"] + p["YY5"] - p["YY4"], "ZZR4": p["ZZ4"] + p["YY5"],
        "mYR4": p["mY4"] - p["mZ5"], "XXR3": p["XX3"] + at_3 - p["YY3"], "ZZR3": p["ZZ3"] + at_3,
        "mYR3": p["mY3"] + p["mZ4"] + RL4 * wrist, "XXR2": p["XX2"] - p["YY2"] - D3**2 * beyond_2,
        "XZR2": p["XZ2"] - D3 * p["mZ3"], "ZZR2": p["ZZ2"] + D3**2 * beyond_2, "mXR2": p["mX2"] + D3 * beyond_2,
        "ZZR1": p["ZZ1"] + p["YY2"] + p["YY3"] + D3**2 * beyond_2,
    }  # fmt: skip


def test_closed_forms_link_by_link(scemi, symbols):
    base = scemi.base_parameters()
    values = dict(zip(base.names, base.values, strict=True))
    regrouped = closed_forms(symbols)
    # The paper's R marks the regrouped ones; all the others stand for themselves.
    wanted = {name: regrouped[name] if "R" in name else symbols[name] for name in base.names}
    assert values == pytest.approx(wanted, rel=1e-14, abs=1e-14)  # sums of at most seven terms


def test_printed_relations_of_link_2_forget_a_term(scemi, symbols):
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
