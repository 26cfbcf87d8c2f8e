"""The automaton of a pattern as Graphviz text."""

from __future__ import annotations

from millrace.cep.graph import BEGIN, GraphEdge, GraphNode, PatternGraph
from millrace.cep.mermaid import CONTROL
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["dot_of"]

STYLES = {
    None: "solid",
    Contiguity.STRICT: "bold",
    Contiguity.RELAXED: "dashed",
    Contiguity.ANY: "dotted",
}


def dot_of(graph: PatternGraph) -> str:
    """The text of a ``digraph``, from left to right."""
    lines = [
        "digraph pattern {",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
        f"  label={_quoted(*graph.limits)};",
        *(f"  n{node.number} [{_node(graph, node)}];" for node in graph.nodes),
        *(f"  n{edge.source} -> n{edge.target} [{_edge(edge)}];" for edge in graph.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _node(graph: PatternGraph, node: GraphNode) -> str:
    if node.number == BEGIN:
        return f"label={_quoted(node.label)}, shape=circle"
    if node.number == graph.end:
        return f"label={_quoted(node.label)}, shape=doublecircle"
    stops = [f"not if {stop}" for stop in node.stops]
    return f"label={_quoted(node.label, node.condition, *stops)}"


def _edge(edge: GraphEdge) -> str:
    words = [] if edge.contiguity is None else [edge.contiguity.value]
    return f"label={_quoted(*words, *edge.notes)}, style={STYLES[edge.contiguity]}"


def _quoted(*lines: str) -> str:
    """Lines as one quoted string in the DOT language."""
    legal = (CONTROL.sub("\ufffd", line) for line in lines)
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in legal)
    return '"' + "\\n".join(escaped) + '"'
