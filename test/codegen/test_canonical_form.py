# SPDX-License-Identifier: Apache-2.0
"""The arm that code is generated for: frames of modified DH form and fewer inertial parameters, the same torques; and
the expression graph: values are right whatever is folded or shared, and what is equal is one node."""

import operator
from dataclasses import replace

import numpy as np
import pytest
from arms import Array, chain, random_body, random_chain, random_states, transform
from hypothesis import given
from hypothesis import strategies as st
from oracles import assert_agrees

import panda_dynamics_ros as pdr
from panda_dynamics_ros.codegen.arm import cheapest_parameters, with_modified_dh_frames
from panda_dynamics_ros.codegen.graph import Expression, Graph, program_of
from panda_dynamics_ros.robot.yaml_file import modified_dh


@pytest.mark.parametrize("seed", range(5))
def test_the_arm_moves_and_weighs_as_before(seed):
    robot = random_chain(5, seed=80 + seed)
    moved, T_base_first = with_modified_dh_frames(robot)
    states = random_states(robot, np.random.default_rng(81), samples=50)
    # Origins that move along an axis by a metre or two cost a digit of the rounding.
    assert_agrees(moved.inverse_dynamics(*states), robot.inverse_dynamics(*states), 1e-12)
    assert_agrees(T_base_first @ moved.pose(states.q), robot.pose(states.q), 1e-13, axes=2)


@pytest.mark.parametrize("seed", range(5))
def test_placements_are_of_modified_dh_form(seed):
    """Eq. (1) of document 004: the new x is across both axes, and the way to the next axis has no y but r sin alpha."""
    for T in with_modified_dh_frames(random_chain(6, seed=90 + seed))[0].placements:
        z, p = T[:3, 2], T[:3, 3]
        assert abs(z[0]) < 1e-14
        assert abs(np.cross(z, p)[0]) < 1e-13 * max(1.0, float(np.linalg.norm(p)))  # (p - d x) is along z


def test_modified_dh_frames_stay(panda):
    moved, T_base_first = with_modified_dh_frames(panda)
    np.testing.assert_array_equal(moved.placements[1:], panda.placements[1:])
    np.testing.assert_array_equal(T_base_first, panda.placements[0])
    np.testing.assert_allclose(moved.inertial_vector, panda.inertial_vector, rtol=1e-15, atol=1e-16)


def test_nearly_parallel_axes_keep_their_frames():
    """Their common normal is 3 km away: an inertia about a point there would have lost its digits."""
    placements = np.array([np.eye(4), transform((1e-4, 0.0, 0.0), (0.1, 0.3, 0.0)), modified_dh(0.2, 0.0, 0.0, 0.0)])
    rng = np.random.default_rng(82)
    robot = chain(placements, (False,) * 3, tuple(random_body(rng) for _ in range(3)))
    moved = with_modified_dh_frames(robot)[0]
    assert np.abs(moved.placements[:, :3, 3]).max() < 1.0


def torques_of(robot: pdr.RobotModel, parameters: Array) -> tuple[Array, Array]:
    """Torques of the robot and of these inertial vectors (n, 10), at the same states."""
    states = random_states(robot, np.random.default_rng(95), samples=100)
    return robot.regressor(*states) @ parameters.ravel(), robot.inverse_dynamics(*states)


@pytest.mark.parametrize("seed", range(5))
def test_torques_are_those_of_the_robot(seed):
    """Tolerance: masses carried over several links make sums of some hundred kg m^2."""
    robot = random_chain(6, seed=95 + seed)
    assert_agrees(*torques_of(robot, cheapest_parameters(robot)), 1e-12)


def test_library_s_links_have_seven_numbers_at_most(robot):
    """XX + YY = ZZ, no mass, no mZ; of link 1 only ZZ is left."""
    parameters = cheapest_parameters(robot)
    assert_agrees(*torques_of(robot, parameters), 1e-13)
    assert not parameters[:, 0].any()
    assert not parameters[:, 3].any()
    np.testing.assert_array_equal(parameters[0].nonzero()[0], [9])
    np.testing.assert_allclose(parameters[1:, 4] + parameters[1:, 7], parameters[1:, 9], rtol=1e-14)


def test_a_sum_that_is_zero_but_for_rounding_is_zero(panda):
    """Of a ball whose moments of inertia differ in the last bit, XX - YY is 1e-18 before and zero after."""
    ball = pdr.InertialParameters(1.0, np.zeros(3), np.diag([0.004, np.nextafter(0.004, 1.0), 0.004]))
    last = cheapest_parameters(replace(panda, links=(*panda.links[:6], ball)))[6]
    assert last[4] == last[7] != 0.0


# A program of the stack: numbers and symbols are pushed, operations take two, "-" alone takes one.
STEPS = st.lists(
    st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5]), st.sampled_from(["x", "y", "z", "add", "sub", "mul", "neg"])
    ),
    max_size=40,
)
VALUES = {"x": 1.25, "y": -0.75, "z": 3.0}


def run(steps: list[float | str], graph: Graph) -> tuple[Expression, float]:
    """The expression that the steps build, and its value computed beside it."""
    stack: list[tuple[Expression, float]] = [(graph.constant(0.5), 0.5)]
    for step in steps:
        if isinstance(step, float):
            stack.append((graph.constant(step), step))
        elif step in VALUES:
            stack.append((graph.symbol(step), VALUES[step]))
        elif step == "neg":
            expression, value = stack.pop()
            stack.append((-expression, -value))
        elif len(stack) > 1:
            (b, b_value), (a, a_value) = stack.pop(), stack.pop()
            operation = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[step]
            stack.append((operation(a, b), operation(a_value, b_value)))
    return stack[-1]


@given(STEPS)
def test_folding_and_sharing_keep_the_value(steps):
    graph = Graph()
    expression, value = run(steps, graph)
    program = program_of(graph, [expression, -expression])
    names = dict(VALUES)
    for name, text in program.statements:
        names[name] = eval(text, {}, names)
    results = [eval(text, {}, names) for text in program.results]
    # Reordered factors round differently; products of up to twenty of them grow up to 3^20.
    np.testing.assert_allclose(results, [value, -value], rtol=1e-12, atol=1e-12)
    assert program.inputs <= set(VALUES)


def test_what_is_known_is_folded():
    graph = Graph()
    x, y = graph.symbol("x"), graph.symbol("y")
    assert 0.0 * x == graph.constant(0.0)
    assert 1.0 * x == x == x + 0.0 == 0.0 - -x == -1.0 * -x
    assert x - x == graph.constant(0.0)
    assert 2.0 * (3.0 * x) == 6.0 * x
    assert x - y == -(y - x)
    assert x * y == y * x == -x * -y
    assert graph.sine(-x) == -graph.sine(x)
    assert graph.cosine(-x) == graph.cosine(x)
