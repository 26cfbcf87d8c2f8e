"""Pictures of small graphs: text for Graphviz, and SVG with a force-directed layout."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.common.errors import JobDefinitionError
from millrace.graph.elements import Edge, Vertex

__all__ = ["dot_of", "svg_of"]

_MOST = 500
_ROUNDS = 150
_RADIUS = 9
_LABEL = 24


def dot_of(name: str, vertices: Sequence[Vertex[Any, Any]], edges: Sequence[Edge[Any, Any]]) -> str:
    """A graph in Graphviz's language.

    Example:
        >>> print(dot_of("g", [Vertex(1, "a")], [Edge(1, 1, None)]))
        digraph "g" {
          "1" [label="1: a"];
          "1" -> "1";
        }
    """
    lines = [f"digraph {_quoted(name)} {{"]
    for vertex in vertices:
        label = str(vertex.id) if vertex.value is None else f"{vertex.id}: {vertex.value}"
        lines.append(f"  {_quoted(str(vertex.id))} [label={_quoted(label)}];")
    for edge in edges:
        label = "" if edge.value is None else f" [label={_quoted(str(edge.value))}]"
        lines.append(f"  {_quoted(str(edge.source))} -> {_quoted(str(edge.target))}{label};")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def svg_of(
    vertices: Sequence[Vertex[Any, Any]],
    edges: Sequence[Edge[Any, Any]],
    width: int,
    height: int,
) -> str:
    """Picture of a graph.

    Raises:
        JobDefinitionError: the graph has too many vertices for a picture.
    """
    if len(vertices) > _MOST:
        raise JobDefinitionError(
            f"a picture shows at most {_MOST} vertices, and the graph has {len(vertices)}: choose "
            "a part with filter_on_vertices()"
        )
    numbers = {vertex.id: number for number, vertex in enumerate(vertices)}
    ends = [
        (numbers[edge.source], numbers[edge.target], edge)
        for edge in edges
        if edge.source in numbers and edge.target in numbers
    ]
    places = _layout(len(vertices), [(source, target) for source, target, _ in ends])
    margin = 3 * _RADIUS
    scale = np.array([width - 2 * margin, height - 2 * margin])
    points = places * scale + margin
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="millrace-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#888"/></marker></defs>',
    ]
    parts += [_edge(points[source], points[target], edge) for source, target, edge in ends]
    parts += [_vertex(points[number], vertex) for number, vertex in enumerate(vertices)]
    return "".join([*parts, "</svg>"])


def _edge(start: Any, stop: Any, edge: Edge[Any, Any]) -> str:
    title = f"{edge.source} → {edge.target}" + ("" if edge.value is None else f": {edge.value}")
    line = 'fill="none" stroke="#888" marker-end="url(#millrace-arrow)"'
    if edge.source == edge.target:
        x, y = start
        path = f"M{x - 4:.1f} {y - 8:.1f}C{x - 22:.1f} {y - 30:.1f} {x + 22:.1f} {y - 30:.1f} "
        path += f"{x + 4:.1f} {y - 8:.1f}"
    else:
        length = max(float(np.hypot(*(stop - start))), 1e-9)
        step = (stop - start) / length * _RADIUS
        (x, y), (u, v) = start + step, stop - step
        path = f"M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"
    return f'<path d="{path}" {line}><title>{escape(title)}</title></path>'


def _vertex(point: Any, vertex: Vertex[Any, Any]) -> str:
    x, y = point
    label = str(vertex.id)
    shown = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
    title = label if vertex.value is None else f"{label}: {vertex.value}"
    return (
        f'<g><title>{escape(title)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" '
        f'fill="#dbeafe" stroke="#1d4ed8"/><text x="{x:.1f}" y="{y + 4:.1f}" '
        f'text-anchor="middle">{escape(shown)}</text></g>'
    )


def _layout(count: int, ends: Sequence[tuple[int, int]]) -> npt.NDArray[np.float64]:
    """Places of vertices between 0 and 1. Edges pull vertices together, and all vertices push each
    other away (Fruchterman, Reingold: "Graph Drawing by Force-directed Placement", 1991)."""
    angles = 2 * np.pi * np.arange(count) / max(count, 1)
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    pairs = np.array([pair for pair in set(ends) if pair[0] != pair[1]], np.int64).reshape(-1, 2)
    ideal = 2 / max(count, 1) ** 0.5
    for turn in range(_ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        squares = np.maximum((apart**2).sum(axis=2), 1e-4)
        moves = (apart * (ideal**2 / squares)[:, :, None]).sum(axis=1)
        pull = places[pairs[:, 0]] - places[pairs[:, 1]]
        pull *= np.sqrt((pull**2).sum(axis=1, keepdims=True)) / ideal
        np.add.at(moves, pairs[:, 0], -pull)
        np.add.at(moves, pairs[:, 1], pull)
        length = np.maximum(np.sqrt((moves**2).sum(axis=1, keepdims=True)), 1e-9)
        places = places + moves / length * np.minimum(length, 0.2 * (1 - turn / _ROUNDS))
    if not count:
        return places
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.where(high - low < 1e-9, 1.0, high - low)
    middle = np.where(high - low < 1e-9, 0.5, 0.0)
    scaled: npt.NDArray[np.float64] = (places - low) / spread + middle
    return scaled
