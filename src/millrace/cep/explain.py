"""Explanation of a pattern's automaton in words."""

from __future__ import annotations

from millrace.cep.graph import GraphEdge, GraphNode, PatternGraph
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["Explanation", "explain"]

WORDS = {
    Contiguity.STRICT: "the next event",
    Contiguity.RELAXED: "the next such event",
    Contiguity.ANY: "any later such event",
}


class Explanation(str):
    """Text of several lines whose ``repr`` is the text itself, for consoles that show values."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(graph: PatternGraph) -> Explanation:
    """States and transitions in words: the events that each state accepts, then the transitions
    from it."""
    blocks = [_block(graph, node) for node in graph.nodes[:-1]]
    return Explanation("\n".join([*blocks, *graph.limits]))


def _block(graph: PatternGraph, node: GraphNode) -> str:
    edges = graph.edges_from(node)
    width = max((len(graph.nodes[edge.target].label) for edge in edges), default=0)
    lines = [_edge(graph, edge, width) for edge in edges]
    return "\n".join([_head(node), *lines])


def _head(node: GraphNode) -> str:
    stops = "".join(f", not if {stop}" for stop in node.stops)
    return f"{node.label}: {node.condition}{stops}" if node.condition else node.label


def _edge(graph: PatternGraph, edge: GraphEdge, width: int) -> str:
    target = graph.nodes[edge.target].label.ljust(width)
    words = [] if edge.contiguity is None else [_contiguity(edge.contiguity)]
    said = ", ".join([*words, *edge.notes])
    return f"  -> {target}  {said}".rstrip()


def _contiguity(contiguity: Contiguity) -> str:
    return f"{contiguity.value}: {WORDS[contiguity]}"
