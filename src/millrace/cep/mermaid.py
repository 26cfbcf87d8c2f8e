"""The automaton of a pattern as a flowchart in Mermaid syntax (https://mermaid.js.org)."""

from __future__ import annotations

import re

from millrace.cep.graph import BEGIN, GraphEdge, GraphNode, PatternGraph
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["Diagram", "mermaid_of"]

ARROWS: dict[Contiguity | None, str] = {
    None: "-->",
    Contiguity.STRICT: "==>",
    Contiguity.RELAXED: "-.->",
    Contiguity.ANY: "-.->",
}
"""The arrow per contiguity; None: an edge from the begin node or to the match node."""
DOTTED = "stroke-dasharray:1 4"
"""The line style of `followed_by_any` edges: Mermaid has no third arrow that differs from
`followed_by`'s."""
CONTROL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML, and so the SVG that Mermaid draws, does not allow."""
SPECIAL = re.compile("[^\\w .,:;!?=+/()\\[\\]{}'$%@^~|-]")
"""Characters that Mermaid may read as markup even in a quoted label; they are escaped by their code
point, as in ``#60;``."""


class Diagram(str):
    """Mermaid text; notebooks that support Mermaid show it as a picture."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return f"```mermaid\n{self}```\n"


def mermaid_of(graph: PatternGraph) -> Diagram:
    """The graph as a Mermaid ``flowchart``, drawn from left to right."""
    lines = [
        "flowchart LR",
        *(f"  {_node(graph, node)}" for node in graph.nodes),
        *(f"  {_edge(edge)}" for edge in graph.edges),
        *(
            f"  linkStyle {number} {DOTTED}"
            for number, edge in enumerate(graph.edges)
            if edge.contiguity is Contiguity.ANY
        ),
    ]
    if graph.limits:
        lines.append(f"  limits[{_quoted(*graph.limits)}]")
        lines.append("  style limits fill:none,stroke:none")
    return Diagram("\n".join(lines) + "\n")


def _node(graph: PatternGraph, node: GraphNode) -> str:
    if node.number == BEGIN:
        return f"n{node.number}(({_quoted(node.label)}))"
    if node.number == graph.end:
        return f"n{node.number}((({_quoted(node.label)})))"
    stops = [f"not if {stop}" for stop in node.stops]
    return f"n{node.number}({_quoted(node.label, node.condition, *stops)})"


def _edge(edge: GraphEdge) -> str:
    contiguity = [] if edge.contiguity is None else [edge.contiguity.value]
    label = [*contiguity, *edge.notes]
    text = f"|{_quoted(*label)}|" if label else ""
    return f"n{edge.source} {ARROWS[edge.contiguity]}{text} n{edge.target}"


def _quoted(*lines: str) -> str:
    """A quoted Mermaid label of these lines, with special characters escaped."""
    legal = (CONTROL.sub("\ufffd", line) for line in lines)
    escaped = (SPECIAL.sub(lambda match: f"#{ord(match[0])};", line) for line in legal)
    return '"' + "<br/>".join(escaped) + '"'
