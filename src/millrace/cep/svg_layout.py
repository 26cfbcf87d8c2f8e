"""Where the parts of a drawn automaton go: nodes in a row, short ways between, arcs around them.

All lengths are pixels; y grows downwards. Arcs over the row lead forwards or back to the same
node, arcs under it lead back to an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap
from unicodedata import east_asian_width

from millrace.cep.graph import BEGIN, Edge, Graph, Node

__all__ = ["LINE", "MARGIN", "NAME", "Arc", "Box", "Layout", "Straight", "layout_of"]

LINE = 13
"""Height of a line of small text."""
NAME = 16
"""Height of the line of a name."""
CHARACTER = 6.4
"""How wide a character is, at most on the average; those of East Asia are twice as wide."""
BOLD = 7.2
"""How wide one of a name is."""
LONGEST_NAME = 32
"""In narrow characters; longer ones are cut in the middle, as their ends may be numbers."""
WRAPPED_AT = 24
MOST_LINES = 3
MARGIN = 16
LEAST_APEX = 24
ROOM = 10
"""Between an arc's label and the arc around it."""
ROUND = 20
"""Width and height of the beginning and the end."""


@dataclass(frozen=True, slots=True)
class Box:
    """A node: its centre is at ``x``."""

    node: Node
    name: str
    """As it is written."""
    x: float
    width: float
    lines: tuple[str, ...]

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Straight:
    """A way from a node to the next."""

    edge: Edge
    left: float
    right: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arc:
    """A way around nodes."""

    edge: Edge
    begin: float
    end: float
    over: bool
    apex: float
    """How far it goes away from the nodes."""
    inset: float
    """How much lower than the others the node is that it leads to."""
    lines: tuple[str, ...]

    @property
    def reach(self) -> float:
        """How far it goes with its label."""
        return self.apex + LINE * len(self.lines) + 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything in its place."""

    boxes: tuple[Box, ...]
    straights: tuple[Straight, ...]
    arcs: tuple[Arc, ...]
    width: float
    top: float
    """Where the boxes begin."""
    box_height: float
    bottom: float
    """Where the drawing ends; what holds for the whole pattern stands below."""

    @property
    def middle(self) -> float:
        """Where the straight ways are."""
        return self.top + self.box_height / 2


def layout_of(graph: Graph) -> Layout:
    """Place a graph."""
    straight, around = _sorted_out(graph)
    boxes = _boxes(graph, straight)
    height = max(NAME + LINE * len(box.lines) + 12 for box in boxes)
    straights = tuple(
        Straight(edge, boxes[edge.source].right, boxes[edge.target].left, edge_lines(edge))
        for edge in straight
    )
    higher = [(s.left, s.right, LINE * len(s.lines) + 8 - height / 2) for s in straights]
    inset = height / 2 - ROUND / 2
    forth = [edge for edge in around if edge.target >= edge.source]
    back = [edge for edge in around if edge.target < edge.source]
    over, under = _arcs(forth, boxes, higher, inset), _arcs(back, boxes, [], inset)
    top = MARGIN + max([reach for _, _, reach in higher] + [arc.reach for arc in over] + [0])
    bottom = top + height + max([arc.reach for arc in under] + [NAME]) + MARGIN
    arcs = (*over, *under)
    rights = [_extent(arc.begin, arc.end, arc.lines)[1] for arc in arcs]
    end = boxes[-1].x + _width([boxes[-1].node.label]) / 2
    width = max([end, MARGIN + _width(graph.limits), *rights]) + MARGIN
    return Layout(boxes, straights, arcs, width, top, height, bottom)


def edge_lines(edge: Edge) -> tuple[str, ...]:
    """What is written at an edge."""
    words = [] if edge.contiguity is None else [edge.contiguity.value.replace("_", " ")]
    return tuple(line for text in (*words, *edge.notes) for line in _wrapped(text))


def _sorted_out(graph: Graph) -> tuple[list[Edge], list[Edge]]:
    """The edges that lead to the next node, one each, and all others."""
    straight: dict[int, Edge] = {}
    around: list[Edge] = []
    for edge in graph.edges:
        if edge.target == edge.source + 1 and edge.source not in straight:
            straight[edge.source] = edge
        else:
            around.append(edge)
    return list(straight.values()), around


def _boxes(graph: Graph, straight: list[Edge]) -> tuple[Box, ...]:
    between = {edge.source: edge_lines(edge) for edge in straight}
    boxes: list[Box] = []
    left = float(MARGIN)
    for node in graph.nodes:
        is_round = node.number in (BEGIN, graph.end)
        lines = () if is_round else _node_lines(node)
        name = node.label if is_round else _cut(node.label)
        room = max(_width([name], CHARACTER if is_round else BOLD), _width(lines)) + 20
        width = ROUND if is_round else max(room, 64)
        boxes.append(Box(node, name, left + max(width, room) / 2, width, lines))
        left = boxes[-1].right + max(_width(between.get(node.number, ())) + 24, 48)
    return tuple(boxes)


def _node_lines(node: Node) -> tuple[str, ...]:
    texts = (node.condition, *(f"not if {stop}" for stop in node.stops))
    return tuple(line for text in texts for line in _wrapped(text))


def _arcs(
    edges: list[Edge],
    boxes: tuple[Box, ...],
    taken: Iterable[tuple[float, float, float]],
    inset: float,
) -> list[Arc]:
    """Arcs one over the other, the short ones next to the nodes."""
    placed = list(taken)
    arcs: list[Arc] = []
    for edge in sorted(edges, key=lambda edge: abs(edge.target - edge.source)):
        begin, end = _feet(edge, boxes)
        lines = edge_lines(edge)
        left, right = _extent(begin, end, lines)
        below = [reach + ROOM for x1, x2, reach in placed if x1 < right and left < x2]
        deeper = inset if edge.target == len(boxes) - 1 else 0.0
        over = edge.target >= edge.source
        arc = Arc(edge, begin, end, over, max([*below, LEAST_APEX]), deeper, lines)
        arcs.append(arc)
        placed.append((left, right, arc.reach))
    return arcs


def _feet(edge: Edge, boxes: tuple[Box, ...]) -> tuple[float, float]:
    """Where an arc begins and ends: loops in the middle of their node, ways on beside it."""
    source, target = boxes[edge.source], boxes[edge.target]
    if edge.source == edge.target:
        return source.x + 10, source.x - 10
    if edge.target == len(boxes) - 1:
        return source.x + source.width * 0.3, target.x
    side = 0.3 if edge.target > edge.source else -0.3
    return source.x + source.width * side, target.x - target.width * side


def _extent(begin: float, end: float, lines: tuple[str, ...]) -> tuple[float, float]:
    """From where to where an arc and its label go."""
    half = _width(lines) / 2
    middle = (begin + end) / 2
    return min(begin, end, middle - half), max(begin, end, middle + half)


def _width(lines: Iterable[str], character: float = CHARACTER) -> float:
    return max(map(_columns, lines), default=0) * character


def _columns(text: str) -> int:
    """How many narrow characters are as wide as the text."""
    return len(text) + sum(east_asian_width(character) in "WF" for character in text)


def _cut(name: str) -> str:
    columns = _columns(name)
    if columns <= LONGEST_NAME:
        return name
    kept = LONGEST_NAME // (2 if columns == len(name) else 4)
    return f"{name[:kept]}…{name[-kept:]}"


def _wrapped(text: str) -> list[str]:
    lines = wrap(text, WRAPPED_AT) if text else []
    if len(lines) > MOST_LINES:
        return [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1][: WRAPPED_AT - 2] + " …"]
    return lines
