"""Merges equal parts of a job's trees, so that they run once and feed all consumers.

Flink: ``SubplanReuser``, options ``table.optimizer.reuse-sub-plan-enabled`` and
``table.optimizer.reuse-source-enabled``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from millrace.expressions.evaluation import is_deterministic
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.relational.rel_node import (
    Filter,
    Project,
    RelNode,
    TableScan,
)
from millrace.planner.relational.sink_nodes import CollectSink, LogicalSink
from millrace.planner.relational.stream_rel_nodes import WatermarkAssigner

__all__ = ["with_reused_subplans"]


def with_reused_subplans(roots: Sequence[RelNode], sources: bool = True) -> list[RelNode]:
    """The trees with their equal parts shared.

    Nondeterministic nodes are not shared, nor are the nodes above them: two calls of ``RAND()``
    give two numbers. Sinks are not shared either.

    Args:
        sources: whether scans with their projections and filters are shared, or only nodes above.
    """
    reuse = _Reuse(sources)
    return [reuse.shared(root) for root in roots]


class _Reuse:
    """Finds equal nodes in trees; inputs come before the nodes that read them."""

    def __init__(self, sources: bool) -> None:
        self._sources = sources
        self._shared: dict[RelNode, RelNode] = {}
        self._alike: dict[RelNode, RelNode] = {}
        """The first node that each node is like: itself, if none was before."""
        self._firsts: dict[Any, list[RelNode]] = {}

    def shared(self, node: RelNode) -> RelNode:
        shared = self._shared.get(node)
        if shared is None:
            inputs = tuple(map(self.shared, node.inputs))
            changed = any(one is not two for one, two in zip(inputs, node.inputs, strict=True))
            made = node.with_inputs(inputs) if changed else node
            first = self._first(made)
            shared = self._shared[node] = made if self._is_apart(made) else first
            self._alike[shared] = first
        return shared

    def _is_apart(self, node: RelNode) -> bool:
        """Whether a node is little more than a scan of a source that must not be shared."""
        while isinstance(node, Project | Filter | WatermarkAssigner):
            node = node.input
        return isinstance(node, TableScan) and not self._sources

    def _first(self, node: RelNode) -> RelNode:
        if isinstance(node, LogicalSink | CollectSink) or not _is_repeatable(node):
            return node
        kind = type(node), tuple(self._alike[child] for child in node.inputs)
        firsts = self._firsts.setdefault(kind, [])
        for first in firsts:
            if _parts(first) == _parts(node):
                return first
        firsts.append(node)
        return node


def _parts(node: RelNode) -> list[Any]:
    """Parts of a node other than its inputs."""
    values = [getattr(node, field.name) for field in fields(node) if field.compare]
    return [value for value in values if not _has_nodes(value)]


def _has_nodes(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(isinstance(item, RelNode) for item in value)
    return isinstance(value, RelNode)


def _is_repeatable(node: RelNode) -> bool:
    """Whether all expressions of a node are deterministic."""
    return all(
        is_deterministic(expression) for part in _parts(node) for expression in _expressions(part)
    )


def _expressions(part: Any) -> Iterator[ResolvedExpression]:
    if isinstance(part, ResolvedExpression):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _expressions(item)
    elif is_dataclass(part) and not isinstance(part, ResolvedTable | type):
        for field in fields(part):
            yield from _expressions(getattr(part, field.name))
