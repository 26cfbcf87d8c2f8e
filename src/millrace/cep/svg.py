"""The automaton of a pattern as a drawing in SVG, complete in itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape

from millrace.cep.graph import BEGIN, Edge, Graph
from millrace.cep.svg_layout import LINE, MARGIN, NAME, Arc, Box, Layout, Straight, layout_of
from millrace.runtime.cep.pattern_model import Contiguity

__all__ = ["Drawing", "svg_of"]

INK, FAINT, PAPER, FILL = "#1f2933", "#52606d", "#ffffff", "#e0f2f1"
DASHES = {
    None: "",
    Contiguity.STRICT: "",
    Contiguity.RELAXED: ' stroke-dasharray="7 4"',
    Contiguity.ANY: ' stroke-dasharray="2 4"',
}
HALO = f'paint-order="stroke" stroke="{PAPER}" stroke-width="4"'
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no way to write."""


class Drawing(str):
    """The text of an SVG document; notebooks show it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def svg_of(graph: Graph) -> Drawing:
    """Draw a graph from left to right."""
    layout = layout_of(graph)
    height = layout.bottom + LINE * len(graph.limits)
    size = f"{layout.width:.0f} {height:.0f}"
    width_and_height = 'width="{}" height="{}"'.format(*size.split())
    body = [
        f'<rect {width_and_height} fill="{PAPER}"/>',
        *(_arc(arc, layout) for arc in reversed(layout.arcs)),  # short ones over long ones
        *(_straight(straight, layout) for straight in layout.straights),
        *(_box(box, graph, layout) for box in layout.boxes),
        *_lines(graph.limits, MARGIN, layout.bottom, f'fill="{FAINT}"'),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {width_and_height} '
        f'style="max-width:100%;height:auto" font-family="sans-serif" font-size="11" role="img">'
    )
    return Drawing("\n".join([head, "<title>Automaton of a pattern</title>", *body, "</svg>\n"]))


def _box(box: Box, graph: Graph, layout: Layout) -> str:
    if box.node.number in (BEGIN, graph.end):
        return _round(box, box.node.number == graph.end, layout)
    stops = [f"not if {stop}" for stop in box.node.stops]
    middle = layout.middle - LINE * len(box.lines) / 2
    return _group(
        f"{box.node.label}: {'; '.join([box.node.condition, *stops])}",
        f'<rect x="{box.left:.1f}" y="{layout.top:.1f}" width="{box.width:.1f}" '
        f'height="{layout.box_height:.1f}" rx="8" fill="{FILL}" stroke="{INK}"/>',
        *_lines([box.name], box.x, middle + 4, 'font-size="12" font-weight="bold"', True),
        *_lines(box.lines, box.x, middle + NAME + 2, f'fill="{FAINT}"', True),
    )


def _round(box: Box, double: bool, layout: Layout) -> str:
    place = f'cx="{box.x:.1f}" cy="{layout.middle:.1f}"'
    inner = f'<circle {place} r="5" fill="{INK}"/>'
    outer = f'<circle {place} r="9" fill="none" stroke="{INK}"/>' if double else ""
    y = layout.middle + 22
    return _group(box.node.label, inner, outer, *_lines([box.node.label], box.x, y, HALO, True))


def _straight(straight: Straight, layout: Layout) -> str:
    y = layout.middle
    x = (straight.left + straight.right) / 2
    first = y - 7 - LINE * (len(straight.lines) - 1)
    return _group(
        _title(straight.edge),
        f'<path d="M{straight.left:.1f} {y:.1f} H{straight.right - 6:.1f}" {_pen(straight.edge)}/>',
        _head(straight.right, y, (-8, -4), (-8, 4)),
        *_lines(straight.lines, x, first, HALO, True),
    )


def _arc(arc: Arc, layout: Layout) -> str:
    away = -1 if arc.over else 1
    y = layout.top if arc.over else layout.top + layout.box_height
    far = y + away * arc.apex / 0.75  # how far the curve's handles are to be for such an apex
    foot = y - away * arc.inset
    over = y - arc.apex - 5 - LINE * (len(arc.lines) - 1)
    first = over if arc.over else y + arc.apex + LINE
    return _group(
        _title(arc.edge),
        f'<path d="M{arc.begin:.1f} {y:.1f} C{arc.begin:.1f} {far:.1f} {arc.end:.1f} {far:.1f} '
        f'{arc.end:.1f} {foot + away * 6:.1f}" {_pen(arc.edge)}/>',
        _head(arc.end, foot, (-4, away * 8), (4, away * 8)),
        *_lines(arc.lines, (arc.begin + arc.end) / 2, first, HALO, True),
    )


def _pen(edge: Edge) -> str:
    width = 2 if edge.contiguity is Contiguity.STRICT else 1.3
    return f'fill="none" stroke="{INK}" stroke-width="{width}"{DASHES[edge.contiguity]}'


def _head(x: float, y: float, *corners: tuple[float, float]) -> str:
    """The head of an arrow whose point is at ``x, y``."""
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, 0), *corners))
    return f'<polygon points="{points}" fill="{INK}"/>'


def _title(edge: Edge) -> str:
    words = [] if edge.contiguity is None else [edge.contiguity.value]
    return "; ".join([*words, *edge.notes])


def _group(title: str, *elements: str) -> str:
    return "".join(["<g>", f"<title>{_text(title)}</title>" if title else "", *elements, "</g>"])


def _lines(
    lines: Iterable[str], x: float, y: float, style: str, centred: bool = False
) -> list[str]:
    """Lines of text, the first at ``y``."""
    anchor = ' text-anchor="middle"' if centred else ""
    return [
        f'<text x="{x:.1f}" y="{y + LINE * number:.1f}"{anchor} {style}>{_text(line)}</text>'
        for number, line in enumerate(lines)
    ]


def _text(text: str) -> str:
    return escape(ILLEGAL.sub("\ufffd", text))
