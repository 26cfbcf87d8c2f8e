"""Patterns drawn: valid XML, everything said, nothing beside the paper or over one another."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from millrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from millrace.cep.graph import Edge, Graph, Node, graph_of
from millrace.cep.svg import svg_of
from millrace.cep.svg_layout import layout_of
from millrace.runtime.cep.pattern_model import Contiguity

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def no_return() -> Pattern:
    out = Pattern.begin("out").where(lambda value: value["to"] == "JFK")
    return out.not_followed_by("back").where(lambda value: value["from"] == "JFK").within(60_000)


def everything() -> Pattern:
    skip = AfterMatchSkipStrategy.skip_to_first("many")
    pattern = Pattern.begin("one", skip).where(lambda value: value < 10)
    pattern = pattern.followed_by("many").one_or_more().greedy().until(lambda value: value == 0)
    pattern = pattern.not_next("bad").where(lambda value: value < 0)
    pattern = pattern.followed_by_any("any").within(500, WithinType.PREVIOUS_AND_CURRENT)
    return pattern.within(10_000)


def groups() -> Pattern:
    pair = Pattern.begin("a").next("b").optional()
    return Pattern.begin("s").followed_by(pair).one_or_more().next("e").times(2, 3)


def many_ways() -> Pattern:
    pattern = Pattern.begin("p").times(1, 8).allow_combinations()
    return pattern.next("q").optional().followed_by("r").optional()


PATTERNS = [no_return, everything, groups, many_ways, lambda: Pattern.begin("a").not_next("b")]


def parsed(pattern: Pattern) -> Any:
    return ElementTree.fromstring(pattern.to_svg())


def texts(root: Any) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_everything_is_drawn(pattern: Any) -> None:
    graph, root = graph_of(pattern().model()), parsed(pattern())
    assert len(list(root.iter(f"{SVG}path"))) == len(graph.edges)
    assert len(list(root.iter(f"{SVG}polygon"))) == len(graph.edges)
    written = texts(root)
    for node in graph.nodes:
        assert written.count(node.label) == 1
    drawn = [element.text for element in root.iter(f"{SVG}title")]
    for edge in graph.edges:
        words = [] if edge.contiguity is None else [edge.contiguity.value]
        if said := "; ".join([*words, *edge.notes]):
            assert said in drawn
    for limit in graph.limits:
        assert limit in written


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nothing_is_beside_the_paper(pattern: Any) -> None:
    root = parsed(pattern())
    width, height = (float(root.get(name)) for name in ("width", "height"))
    assert root.get("viewBox") == f"0 0 {width:.0f} {height:.0f}"
    for text in root.iter(f"{SVG}text"):
        x, y, wide = float(text.get("x")), float(text.get("y")), len(text.text) * 6.4
        left = x - wide / 2 if text.get("text-anchor") == "middle" else x
        assert 10 < y < height
        assert left >= 0
        assert left + wide <= width
    for path in root.iter(f"{SVG}path"):
        begin, *_, end = [float(number) for number in NUMBER.findall(path.get("d"))]
        assert 0 <= begin <= width
        assert 0 <= end <= max(width, height)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nothing_is_over_one_another(pattern: Any) -> None:
    layout = layout_of(graph_of(pattern().model()))
    assert all(one.right < other.left for one, other in pairwise(layout.boxes))
    for straight in layout.straights:
        longest = max((len(line) for line in straight.lines), default=0)
        assert longest * 6.4 < straight.right - straight.left
    for arcs in ([arc for arc in layout.arcs if arc.over is over] for over in (True, False)):
        for one in arcs:
            for other in arcs:
                apart = one.apex >= other.reach or other.apex >= one.reach
                beside = max(one.begin, one.end) <= min(other.begin, other.end)
                assert one is other or apart or beside or beside_each_other(other, one)


def beside_each_other(one: Any, other: Any) -> bool:
    return bool(max(one.begin, one.end) <= min(other.begin, other.end))


def test_contiguity_is_seen() -> None:
    pattern = Pattern.begin("a").next("b").followed_by("c").followed_by_any("d")
    strokes = [
        (path.get("stroke-width"), path.get("stroke-dasharray"))
        for path in parsed(pattern).iter(f"{SVG}path")
    ]
    assert strokes == [
        ("1.3", None),
        ("2", None),
        ("1.3", "7 4"),
        ("1.3", "2 4"),
        ("1.3", None),
    ]


def test_signs_of_markup_are_only_text() -> None:
    pattern = Pattern.begin("<a> & 'b' \"c\"").where(lambda value: value < 3 & value > 1)
    root = parsed(pattern)
    assert "<a> & 'b' \"c\"" in texts(root)
    assert "value < 3 & value > 1" in texts(root)


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    nodes = (Node(0, "begin"), Node(1, "a\x00\ud800b\U0001f600"))
    root = ElementTree.fromstring(svg_of(Graph(nodes, (Edge(0, 1, None),), ())))
    assert "a\ufffd\ufffdb\U0001f600" in texts(root)


def test_long_words_are_cut_and_told_in_full_elsewhere() -> None:
    condition = " and ".join(f"value.field_{number} == {number}" for number in range(20))
    graph = Graph(
        (Node(0, "begin"), Node(1, "a", condition), Node(2, "match")),
        (Edge(0, 1, None), Edge(1, 2, Contiguity.STRICT, (condition,))),
        (),
    )
    layout = layout_of(graph)
    for lines in (layout.boxes[1].lines, layout.straights[1].lines[1:]):
        assert len(lines) == 3
        assert lines[-1].endswith(" …")
        assert all(len(line) <= 24 for line in lines)


@pytest.mark.parametrize(
    ("name", "least"),
    [("m" * 30, 30 * 7.2), ("大口の支払い", 12 * 7.2), ("small", 64)],
)
def test_names_are_within_their_boxes(name: str, least: float) -> None:
    [_, box, _] = layout_of(graph_of(Pattern.begin(name).model())).boxes
    assert box.width >= least


@pytest.mark.parametrize("name", ["payment_" * 40, "支払い" * 20])
def test_long_names_are_cut_and_told_in_full_elsewhere(name: str) -> None:
    pattern = Pattern.begin(name).times(2)
    for box in layout_of(graph_of(pattern.model())).boxes[1:-1]:
        assert box.width < 300
    root = parsed(pattern)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert f"{name}[2]: any event" in titles
    assert [text for text in texts(root) if text.endswith("[2]") and "…" in text]


def test_notebooks_show_the_picture() -> None:
    drawing = Pattern.begin("a").to_svg()
    assert drawing._repr_svg_() == str(drawing)
