"""The graph of a program as text and as a picture (SVG), before operators are chained."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from millrace.job_graph.stages import inputs_first
from millrace.job_graph.transformation import Transformation

__all__ = ["graph_lines", "graph_svg"]

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 190, 46, 56, 18, 8
_LONGEST = 26


def graph_lines(ends: Sequence[Transformation]) -> str:
    """Text of the graph: one operator per line, inputs first.

    A line has a number, the name, what the operator reads and how, and its parallelism.
    """
    nodes = inputs_first(ends)
    numbers = {node: number for number, node in enumerate(nodes, start=1)}
    lines = []
    for node in nodes:
        read = ", ".join(
            f"{numbers[node_input.transformation]}{_exchange(node_input)}"
            for node_input in node.inputs
        )
        given = f" <- {read}" if read else ""
        lines.append(f"{numbers[node]}: {node.name}{given} [parallelism {node.parallelism}]")
    return "\n".join(lines)


def graph_svg(ends: Sequence[Transformation]) -> str:
    """Picture of the graph: one box per operator, from left to right, and one line per input. If
    records go to other subtasks, the label of the line says how they are partitioned."""
    nodes = inputs_first(ends)
    columns: dict[Transformation, int] = {}
    rows: dict[Transformation, int] = {}
    filled: dict[int, int] = {}
    for node in nodes:
        places = [columns.get(node_input.transformation, -1) for node_input in node.inputs]
        column = columns[node] = max(places, default=-1) + 1
        rows[node] = filled.get(column, 0)
        filled[column] = rows[node] + 1
    parts = [_line(node, columns, rows) for node in nodes]
    parts += [_box(node, *_corner(columns[node], rows[node])) for node in nodes]
    width = max(filled, default=0) * (_WIDTH + _GAP_X) + _WIDTH + 2 * _MARGIN
    height = max(filled.values(), default=1) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="sans-serif" font-size="12">'
        f"<title>{escape(f'{len(nodes)} operators')}</title>"
    )
    return head + "".join(parts) + "</svg>"


def _exchange(read: object) -> str:
    partitioning = getattr(read, "partitioning", None)
    return "" if partitioning is None else f" {partitioning.exchange.name.lower()}"


def _corner(column: int, row: int) -> tuple[int, int]:
    return _MARGIN + column * (_WIDTH + _GAP_X), _MARGIN + row * (_HEIGHT + _GAP_Y)


def _box(node: Transformation, x: int, y: int) -> str:
    name = node.name if len(node.name) <= _LONGEST else f"{node.name[: _LONGEST - 1]}…"
    middle = x + _WIDTH // 2
    return (
        f'<g><title>{escape(node.description or node.name)}</title><rect x="{x}" y="{y}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#f4f7fb" stroke="#5b7083"/>'
        f'<text x="{middle}" y="{y + 20}" text-anchor="middle" fill="#16202a">{escape(name)}</text>'
        f'<text x="{middle}" y="{y + 36}" text-anchor="middle" fill="#4a5a68" font-size="10">'
        f"parallelism {node.parallelism}</text></g>"
    )


def _line(
    node: Transformation, columns: dict[Transformation, int], rows: dict[Transformation, int]
) -> str:
    x, y = _corner(columns[node], rows[node])
    parts = []
    for node_input in node.inputs:
        source = node_input.transformation
        if source not in columns:  # a loop comes back later
            continue
        from_x, from_y = _corner(columns[source], rows[source])
        start, end = (from_x + _WIDTH, from_y + _HEIGHT // 2), (x, y + _HEIGHT // 2)
        parts.append(
            f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#5b7083"/>'
        )
        if text := _exchange(node_input).strip():
            middle = (start[0] + end[0]) // 2, (start[1] + end[1]) // 2 - 4
            parts.append(
                f'<text x="{middle[0]}" y="{middle[1]}" text-anchor="middle" fill="#4a5a68" '
                f'font-size="10">{escape(text)}</text>'
            )
    return "".join(parts)
