# SPDX-License-Identifier: Apache-2.0
"""From expressions to straight-line statements, in the arithmetic that C and Python have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from panda_dynamics_ros.codegen.graph import (
    ADD,
    CONSTANT,
    COSINE,
    MULTIPLY,
    SINE,
    SUBTRACT,
    SYMBOL,
    Expression,
    Graph,
    Scalar,
)

# A term that is used once stands where it is used, unless it is longer: lines stay below 120 characters.
LONGEST_TERM = 44


@dataclass(frozen=True)
class OperationCount:
    """Operations of one call; subtractions and changes of sign count as additions."""

    multiplications: int
    additions: int
    trigonometric: int


@dataclass(frozen=True)
class Program:
    """Straight-line code.

    Attributes
    ----------
    inputs: names that have to be there: "q1", "dq3".
    statements: pairs of a new name and the text of its value, in order.
    results: texts of the outputs, in their order.
    count: operations of all of it.
    """

    inputs: frozenset[str]
    statements: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    count: OperationCount


def program_of(graph: Graph, outputs: Sequence[Scalar]) -> Program:
    """The program that computes `outputs`, and nothing that they do not need."""
    expressions = [graph.as_expression(output) for output in outputs]
    live = _needed(graph, expressions)
    writer = _Writer(graph, live, expressions)
    results = tuple(writer.result(expression) for expression in expressions)
    operations = Counter(graph.nodes[number].operation for number in live)
    sign_changes = {output.node for output in expressions if writer.changes_sign(output)}
    return Program(
        inputs=frozenset(graph.nodes[number].name for number in live if graph.nodes[number].operation == SYMBOL),
        statements=tuple(writer.statements),
        results=results,
        count=OperationCount(
            multiplications=operations[MULTIPLY],
            additions=operations[ADD] + operations[SUBTRACT] + len(sign_changes),
            trigonometric=operations[SINE] + operations[COSINE],
        ),
    )


def _needed(graph: Graph, outputs: Sequence[Expression]) -> list[int]:
    """Numbers of the nodes that the outputs need, in an order in which they can be computed."""
    needed: set[int] = set()
    waiting = [output.node for output in outputs]
    while waiting:
        number = waiting.pop()
        if number >= 0 and number not in needed:
            needed.add(number)
            waiting += [graph.nodes[number].left, graph.nodes[number].right]
    return sorted(needed)


class _Writer:
    """The text of every node: a name where it has been stored, the operation itself where it is used once."""

    def __init__(self, graph: Graph, live: list[int], outputs: Sequence[Expression]) -> None:
        self.statements: list[tuple[str, str]] = []
        self._graph = graph
        self._outputs = Counter(outputs)
        self._uses = Counter(output.node for output in outputs)
        self._negatives: dict[int, str] = {}
        for number in live:
            node = graph.nodes[number]
            self._uses.update(part for part in (node.left, node.right) if part >= 0)
        # A difference that serves as -(a - b) alone is written b - a.
        self._reversed = {output.node for output in outputs if output.negative and self._may_reverse(output)}
        self._texts: dict[int, str] = {}
        for number in live:
            self._texts[number] = self._text(number)

    def result(self, output: Expression) -> str:
        """The text of an output, with its sign."""
        text = self._texts[output.node]
        if not output.negative or output.node in self._reversed:
            return text
        if output.node not in self._negatives:
            negative = f"-{_bracketed(text)}"
            again = self._outputs[output] > 1 and self.changes_sign(output)
            self._negatives[output.node] = self._stored(f"t{len(self.statements)}", negative) if again else negative
        return self._negatives[output.node]

    def changes_sign(self, output: Expression) -> bool:
        """Whether the output takes a change of sign at run time."""
        return output.negative and output.node not in self._reversed and output.content.operation != CONSTANT

    def _may_reverse(self, output: Expression) -> bool:
        return output.content.operation == SUBTRACT and self._uses[output.node] == 1

    def _text(self, number: int) -> str:
        operation, left, right, value, name = self._graph.nodes[number]
        if operation == CONSTANT:
            return repr(value)
        if operation == SYMBOL:
            return name
        if operation in (SINE, COSINE):
            return self._stored(f"{operation[0]}{self._joint_of(left)}", f"{operation}({self._texts[left]})")
        if number in self._reversed:
            left, right = right, left
        if operation == MULTIPLY:
            text = f"{_bracketed(self._texts[left])}*{_bracketed(self._texts[right])}"
        else:  # what is added first stays together, in brackets on the right
            text = f"{self._texts[left]} {operation} {_bracketed(self._texts[right])}"
        many = self._uses[number] > 1 or len(text) > LONGEST_TERM
        return self._stored(f"t{len(self.statements)}", text) if many else text

    def _stored(self, name: str, text: str) -> str:
        self.statements.append((name, text))
        return name

    def _joint_of(self, angle: int) -> str:
        """The number of the joint whose position, or position and a constant, the angle is."""
        node = self._graph.nodes[angle]
        if node.operation == SYMBOL:
            return node.name.removeprefix("q")
        return next(self._joint_of(part) for part in (node.left, node.right) if not self._is_constant(part))

    def _is_constant(self, number: int) -> bool:
        return self._graph.nodes[number].operation == CONSTANT


def _bracketed(text: str) -> str:
    """`text`, in brackets where it is a sum or difference."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == " " and depth == 0:
            return f"({text})"
    return text
