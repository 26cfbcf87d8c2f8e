"""The automaton of a pattern as Mermaid text (https://mermaid.js.org, flowchart syntax)."""

from __future__ import annotations

import re

from millrace.cep.graph import BEGIN, Graph, GraphEdge, GraphNode
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["Diagram", "mermaid_of"]

ARROWS = {
    None: "-->",
    Contiguity.STRICT: "==>",
    Contiguity.RELAXED: "-.->",
    Contiguity.ANY: "-.->",
}
DOTTED = "stroke-dasharray:1 4"
"""How `followed_by_any` differs from `followed_by`, for which Mermaid has one arrow only."""
CONTROL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SPECIAL = re.compile("[^\\w .,:;!?=+/()\\[\\]{}'$%@^~|-]")
"""What Mermaid may take for markup inside a quoted label; written by its number."""


class Diagram(str):
    """The text of a diagram; notebooks that know Mermaid show it as a picture."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return f"```mermaid\n{self}```\n"


def mermaid_of(graph: Graph) -> Diagram:
    """The text of a ``flowchart``, from left to right."""
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


def _node(graph: Graph, node: GraphNode) -> str:
    if node.number == BEGIN:
        return f"n{node.number}(({_quoted(node.label)}))"
    if node.number == graph.end:
        return f"n{node.number}((({_quoted(node.label)})))"
    stops = [f"not if {stop}" for stop in node.stops]
    return f"n{node.number}({_quoted(node.label, node.condition, *stops)})"


def _edge(edge: GraphEdge) -> str:
    words = [] if edge.contiguity is None else [edge.contiguity.value]
    label = [*words, *edge.notes]
    text = f"|{_quoted(*label)}|" if label else ""
    return f"n{edge.source} {ARROWS[edge.contiguity]}{text} n{edge.target}"


def _quoted(*lines: str) -> str:
    """Lines as one label, whatever characters are in them."""
    legal = (CONTROL.sub("\ufffd", line) for line in lines)
    escaped = (SPECIAL.sub(lambda found: f"#{ord(found[0])};", line) for line in legal)
    return '"' + "<br/>".join(escaped) + '"'
