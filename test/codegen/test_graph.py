# SPDX-License-Identifier: Apache-2.0
"""The expression graph: values are right whatever is folded or shared, and what is equal is one node."""

import operator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panda_dynamics_ros.codegen.graph import Expression, Graph, program_of

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
def test_folding_and_sharing_keep_the_value(steps: list[float | str]) -> None:
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


def test_what_is_known_is_folded() -> None:
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
