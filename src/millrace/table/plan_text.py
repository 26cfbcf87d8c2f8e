"""EXPLAIN: the tree of a query, and its operators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from millrace.plan.execution_plan import execution_plan
from millrace.plan.stages import inputs_first
from millrace.plan.transformation import Input, Transformation
from millrace.planner.relational.explain import explained
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import CollectSink, LogicalSink
from millrace.runtime.program import Exchange
from millrace.table.explain_detail import ExplainDetail
from millrace.table.table_session import TableSession

__all__ = ["explained_plan"]

_Mode = Callable[[Transformation], str]


def explained_plan(
    session: TableSession,
    nodes: Sequence[RelNode],
    details: Iterable[ExplainDetail] = (),
    planned: bool = False,
) -> str:
    """The text of EXPLAIN: the syntax tree, and the operators with their exchanges, without running
    the query.

    Args:
        planned: whether the trees are optimised already.

    Raises:
        JobDefinitionError: a part of the query cannot run here.
    """
    details = set(details)
    parts = ["== Abstract Syntax Tree =="]
    for node in nodes:
        if isinstance(node, LogicalSink):
            fields = ", ".join(node.row_type.names)
            parts.append(f"LogicalSink(table=[{'.'.join(node.table.path)}], fields=[{fields}])")
            parts += [f"+- {line}" if i == 0 else f"   {line}" for i, line in _numbered(node.input)]
        else:
            parts.append(explained(node))
    ends = [node if isinstance(node, LogicalSink) else CollectSink(node) for node in nodes]
    translator, made = session.translated(ends, planned)
    mode = translator.changelog_mode if ExplainDetail.CHANGELOG_MODE in details else None
    parts += ["", "== Optimized Execution Plan =="]
    shown = [
        end if isinstance(node, LogicalSink) else end.inputs[0].transformation
        for node, end in zip(nodes, made, strict=True)
    ]
    tree = _Tree(shown, mode)
    for root in shown:
        parts += tree.lines(root, 0)
    if ExplainDetail.JSON_EXECUTION_PLAN in details:
        graph = session.graph(made)
        plan = json.dumps(execution_plan(graph, inputs_first(made)), indent=2)
        parts += ["", "== Physical Execution Plan ==", plan]
    parts += ["", "== Executor ==", session.executor(made)]
    return "\n".join(parts) + "\n"


def _numbered(node: RelNode) -> Iterator[tuple[int, str]]:
    return enumerate(explained(node).split("\n"))


class _Tree:
    """The operators below some roots; an operator with several readers is written out once."""

    def __init__(self, roots: Sequence[Transformation], mode: _Mode | None) -> None:
        self._mode = mode
        made = inputs_first(list(roots))
        readers = Counter(source.transformation for each in made for source in each.inputs)
        reused = [each for each in made if readers[each] > 1]
        self._numbers = {each: number for number, each in enumerate(reused, start=1)}
        self._written: set[Transformation] = set()

    def lines(self, transformation: Transformation, depth: int) -> list[str]:
        """A transformation and the operators below it."""
        number = self._numbers.get(transformation)
        if transformation in self._written:
            return [_indented(f"Reused(reference_id=[{number}])", depth)]
        shown = transformation.description or transformation.name
        kinds = "" if self._mode is None else self._mode(transformation)
        if kinds:
            shown = f"{shown.removesuffix(')')}, changelogMode=[{kinds}])"
        if number is not None:
            self._written.add(transformation)
            shown += f"(reuse_id=[{number}])"
        lines = [_indented(shown, depth)]
        for source in transformation.inputs:
            further = depth + 1
            exchange = _exchange(source)
            if exchange:
                lines.append(_indented(exchange, further))
                further += 1
            lines += self.lines(source.transformation, further)
        return lines


def _indented(text: str, depth: int) -> str:
    return text if not depth else "   " * (depth - 1) + "+- " + text


def _exchange(source: Input) -> str:
    if source.partitioning is None:
        return ""
    exchange = source.partitioning.exchange
    if exchange is Exchange.GLOBAL:
        return "Exchange(distribution=[single])"
    kind = "hash" if exchange is Exchange.KEYED else exchange.value.lower()
    return f"Exchange(distribution=[{kind}])"
