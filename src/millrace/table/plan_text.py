"""EXPLAIN: the tree of a query, and its operators."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from millrace.job_graph.execution_plan import execution_plan
from millrace.job_graph.operator_tree import TreeInput, TreeOperator, exchange_of, tree_lines
from millrace.job_graph.stages import inputs_first
from millrace.job_graph.transformation import Transformation
from millrace.planner.relational.explain import explained
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import CollectSink, LogicalSink
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
    parts += _tree(shown, mode)
    if ExplainDetail.JSON_EXECUTION_PLAN in details:
        graph = session.graph(made)
        plan = json.dumps(execution_plan(graph, inputs_first(made)), indent=2)
        parts += ["", "== Physical Execution Plan ==", plan]
    parts += ["", "== Executor ==", session.executor(made)]
    return "\n".join(parts) + "\n"


def _numbered(node: RelNode) -> Iterator[tuple[int, str]]:
    return enumerate(explained(node).split("\n"))


def _tree(ends: Sequence[Transformation], mode: _Mode | None) -> list[str]:
    """Lines of the operators that lead to some ends."""
    operators = {
        made: TreeOperator(
            _text(made, mode),
            tuple(TreeInput(source.transformation, exchange_of(source)) for source in made.inputs),
        )
        for made in inputs_first(ends)
    }
    return tree_lines(ends, operators)


def _text(made: Transformation, mode: _Mode | None) -> str:
    text = made.description or made.name
    kinds = "" if mode is None else mode(made)
    return f"{text.removesuffix(')')}, changelogMode=[{kinds}])" if kinds else text
