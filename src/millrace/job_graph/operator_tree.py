"""Text of a graph of operators: a tree from each end of the graph, as EXPLAIN shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from millrace.job_graph.transformation import Input
from millrace.runtime.program import Exchange

__all__ = ["TreeInput", "TreeOperator", "exchange_of", "tree_lines"]

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class TreeInput(Generic[Key]):
    """Input of an operator: the operator that it reads from, and the exchange between them."""

    source: Key
    exchange: Exchange | None = None
    """None if records stay in their subtask."""


@dataclass(frozen=True, slots=True)
class TreeOperator(Generic[Key]):
    """Operator in a tree: its description and its inputs."""

    text: str
    inputs: tuple[TreeInput[Key], ...] = ()


def tree_lines(roots: Sequence[Key], operators: Mapping[Key, TreeOperator[Key]]) -> list[str]:
    """Lines of the trees below some roots. An operator that several others read is written out only
    once.

    Args:
        operators: all operators, each after its inputs.

    Example:
        >>> read = TreeOperator("Source(clicks)")
        >>> count = TreeOperator("Count(page)", (TreeInput("read", Exchange.KEYED),))
        >>> print(*tree_lines(["count"], {"read": read, "count": count}), sep="\\n")
        Count(page)
        +- Exchange(distribution=[hash])
           +- Source(clicks)
    """
    readers = Counter(
        tree_input.source for operator in operators.values() for tree_input in operator.inputs
    )
    reused = [key for key in operators if readers[key] > 1]
    numbers = {key: number for number, key in enumerate(reused, start=1)}
    lines: list[str] = []
    written: set[Key] = set()
    left: list[tuple[TreeInput[Key], int]] = [(TreeInput(root), 0) for root in reversed(roots)]
    while left:
        source, depth = left.pop()
        if source.exchange is not None:
            lines.append(_indented(f"Exchange(distribution=[{_word(source.exchange)}])", depth))
            depth += 1
        key = source.source
        if key in written:
            lines.append(_indented(f"Reused(reference_id=[{numbers[key]}])", depth))
            continue
        text = operators[key].text
        if key in numbers:
            written.add(key)
            text += f"(reuse_id=[{numbers[key]}])"
        lines.append(_indented(text, depth))
        left += [(tree_input, depth + 1) for tree_input in reversed(operators[key].inputs)]
    return lines


def exchange_of(source: Input) -> Exchange | None:
    """The exchange that the program or query asks for; None if records stay in their subtask."""
    return None if source.partitioning is None else source.partitioning.exchange


def _word(exchange: Exchange) -> str:
    if exchange is Exchange.GLOBAL:
        return "single"
    return "hash" if exchange is Exchange.KEYED else exchange.value.lower()


def _indented(text: str, depth: int) -> str:
    return text if not depth else "   " * (depth - 1) + "+- " + text
