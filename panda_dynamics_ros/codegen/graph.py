# SPDX-License-Identifier: Apache-2.0
"""Expressions as a graph in which equal ones are one: constants folded, subexpressions shared, zeros and ones gone.

Every node is a positive constant, a symbol, a sine or cosine, or a sum, difference or product of two nodes; signs are
kept outside, so that x - y and y - x are the same node. A node is numbered after the nodes that it needs. `program_of`
writes nodes as straight-line statements, in the arithmetic that C and Python have in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Scalar: TypeAlias = "Expression | float"

CONSTANT, SYMBOL, SINE, COSINE, ADD, SUBTRACT, MULTIPLY = "constant", "symbol", "sin", "cos", "+", "-", "*"
NEGATE = "negate"  # of outputs only
# A term that is used once stands where it is used, unless it is longer: lines stay below 120 characters.
LONGEST_TERM = 44


class Node(NamedTuple):
    """An operation on earlier nodes, or a leaf with its value or name."""

    operation: str
    left: int = -1
    right: int = -1
    value: float = 0.0
    name: str = ""


class Graph:
    """All nodes, in an order in which they can be computed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}

    def number_of(self, node: Node) -> int:
        """The number of a node, which is stored if it is new."""
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[node]

    def constant(self, value: float) -> Expression:
        """A number."""
        return Expression(self, self.number_of(Node(CONSTANT, value=abs(value))), value < 0.0)

    def symbol(self, name: str) -> Expression:
        """An input."""
        return Expression(self, self.number_of(Node(SYMBOL, name=name)))

    def sine(self, angle: Expression) -> Expression:
        """sin(angle); sin(-x) is -sin(x)."""
        return Expression(self, self.number_of(Node(SINE, angle.node)), angle.negative)

    def cosine(self, angle: Expression) -> Expression:
        """cos(angle); cos(-x) is cos(x)."""
        return Expression(self, self.number_of(Node(COSINE, angle.node)))

    def as_expression(self, value: Scalar) -> Expression:
        """A number as a constant, an expression as it is."""
        return value if isinstance(value, Expression) else self.constant(float(value))


@dataclass(frozen=True)
class Expression:
    """A node of a graph, or its negative. Adds, subtracts and multiplies with others and with numbers."""

    graph: Graph
    node: int
    negative: bool = False

    @property
    def content(self) -> Node:
        """The operation that gives its magnitude."""
        return self.graph.nodes[self.node]

    @property
    def number(self) -> float | None:
        """Its value, of a constant."""
        content = self.content
        return (-content.value if self.negative else content.value) if content.operation == CONSTANT else None

    def __neg__(self) -> Expression:
        return self if self.number == 0.0 else Expression(self.graph, self.node, not self.negative)

    def __add__(self, other: Scalar) -> Expression:
        graph, a, b = self.graph, self, self.graph.as_expression(other)
        if a.number is not None and b.number is not None:
            return graph.constant(a.number + b.number)
        if 0.0 in (a.number, b.number):
            return b if a.number == 0.0 else a
        first, second = (a, b) if a.node <= b.node else (b, a)
        if a.negative == b.negative:
            return Expression(graph, graph.number_of(Node(ADD, first.node, second.node)), a.negative)
        if a.node == b.node:
            return graph.constant(0.0)
        return Expression(graph, graph.number_of(Node(SUBTRACT, first.node, second.node)), first.negative)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Expression:
        return self + -other

    def __rsub__(self, other: Scalar) -> Expression:
        return -self + other

    def __mul__(self, other: Scalar) -> Expression:
        graph, a, b = self.graph, self, self.graph.as_expression(other)
        negative = a.negative != b.negative
        if b.number is not None:
            a, b = b, a  # a constant is always the left factor
        if a.number is None:
            first, second = sorted((a.node, b.node))
            return Expression(graph, graph.number_of(Node(MULTIPLY, first, second)), negative)
        if b.number is not None:
            return graph.constant(a.number * b.number)
        if a.number == 0.0:
            return a
        if abs(a.number) == 1.0:
            return Expression(graph, b.node, negative)
        inner = b.content
        if inner.operation == MULTIPLY and graph.nodes[inner.left].operation == CONSTANT:
            factor = graph.constant(abs(a.number) * graph.nodes[inner.left].value)
            return Expression(graph, (factor * Expression(graph, inner.right)).node, negative)
        return Expression(graph, graph.number_of(Node(MULTIPLY, a.node, b.node)), negative)

    __rmul__ = __mul__


Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]


class Turn(NamedTuple):
    """A rotation about x (axis 0) or z (axis 2) by an angle with this cosine and sine."""

    axis: int
    cosine: Scalar
    sine: Scalar

    def rotate(self, a: Vector) -> Vector:
        """R a."""
        c, s = self.cosine, self.sine
        if self.axis == 2:
            return (c * a[0] - s * a[1], s * a[0] + c * a[1], a[2])
        return (a[0], c * a[1] - s * a[2], s * a[1] + c * a[2])

    def rotate_back(self, a: Vector) -> Vector:
        """R' a."""
        return self._replace(sine=-self.sine).rotate(a)


class OperationCount(NamedTuple):
    """Operations of one call; subtractions and changes of sign count as additions."""

    multiplications: int
    additions: int
    trigonometric: int


def program_of(graph: Graph, outputs: Sequence[Scalar]) -> tuple[list[tuple[str, str]], list[str], OperationCount]:
    """Straight-line code that computes `outputs`, and nothing that they do not need.

    Returns pairs of a new name and the text of its value, in order; texts of the outputs; and the operations of it all.
    """
    results = [_with_its_sign(graph, graph.as_expression(output)) for output in outputs]
    uses = Counter(results)
    for number in reversed(range(len(graph.nodes))):  # a node comes after those that it needs
        if uses[number]:
            uses.update(graph.nodes[number][1:3])
    texts: dict[int, str] = {}
    statements: list[tuple[str, str]] = []
    operations = Counter[str]()
    for number, (operation, left, right, value, name) in enumerate(graph.nodes):
        if not uses[number]:
            continue
        operations[operation] += 1
        if operation in (CONSTANT, SYMBOL):
            texts[number] = name or repr(value)
            continue
        if operation in (SINE, COSINE):
            text = f"{operation}({texts[left]})"
        elif operation == NEGATE:
            text = f"-{_bracketed(texts[left])}"
        elif operation == MULTIPLY:
            text = f"{_bracketed(texts[left])}*{_bracketed(texts[right])}"
        else:  # what is added first stays together, in brackets on the right
            text = f"{texts[left]} {operation} {_bracketed(texts[right])}"
        if uses[number] > 1 or len(text) > LONGEST_TERM:
            statements.append((f"t{len(statements)}", text))
            text = statements[-1][0]
        texts[number] = text
    count = OperationCount(
        multiplications=operations[MULTIPLY],
        additions=operations[ADD] + operations[SUBTRACT] + operations[NEGATE],
        trigonometric=operations[SINE] + operations[COSINE],
    )
    return statements, [texts[number] for number in results], count


def _with_its_sign(graph: Graph, output: Expression) -> int:
    """The number of a node that is the output, sign included: -(a - b) is b - a."""
    operation, left, right, value, _ = output.content
    if not output.negative:
        return output.node
    if operation == CONSTANT:
        return graph.number_of(Node(CONSTANT, value=-value))
    return graph.number_of(Node(SUBTRACT, right, left) if operation == SUBTRACT else Node(NEGATE, output.node))


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text
