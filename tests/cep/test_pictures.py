"""Every pattern can be explained and drawn, and nothing is left out."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from random_patterns import patterns

from millrace.cep.explain import explain
from millrace.cep.graph import graph_of
from millrace.cep.graphviz import dot_of
from millrace.cep.svg import svg_of
from millrace.cep.svg_layout import layout_of
from millrace.runtime.cep.pattern_model import EventPattern

PATH = "{http://www.w3.org/2000/svg}path"


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_every_way_is_shown(pattern: EventPattern) -> None:
    graph = graph_of(pattern)
    assert len(list(ElementTree.fromstring(svg_of(graph)).iter(PATH))) == len(graph.edges)
    assert dot_of(graph).count(" -> ") == len(graph.edges)
    explanation = explain(graph).splitlines()
    assert sum(line.startswith("  -> ") for line in explanation) == len(graph.edges)
    assert [line.split(":")[0] for line in explanation if not line.startswith("  ")] == [
        *(node.label for node in graph.nodes[:-1]),
        *(limit.split(":")[0] for limit in graph.limits),
    ]


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_labels_of_arcs_are_not_over_one_another(pattern: EventPattern) -> None:
    layout = layout_of(graph_of(pattern))
    assert all(one.right < other.left for one, other in pairwise(layout.boxes))
    for one in layout.arcs:
        for other in layout.arcs:
            if one is not other and one.over is other.over:
                apart = one.apex >= other.reach or other.apex >= one.reach
                assert (
                    apart
                    or min(one.begin, one.end) >= max(other.begin, other.end)
                    or (min(other.begin, other.end) >= max(one.begin, one.end))
                )
    assert all(box.left > 0 and box.right < layout.width for box in layout.boxes)
