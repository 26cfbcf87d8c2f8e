"""Every pattern can be explained and drawn, and nothing is left out."""

from __future__ import annotations

import re

from hypothesis import given, settings
from random_patterns import patterns

from millrace.cep.explain import explain
from millrace.cep.graph import graph_of
from millrace.cep.graphviz import dot_of
from millrace.cep.mermaid import mermaid_of
from millrace.runtime.cep.pattern_model import EventPattern

EDGE = re.compile(r"^  n\d+ \S*[=-]>", re.MULTILINE)


@settings(max_examples=60, deadline=None)
@given(patterns())
def test_every_way_is_shown(pattern: EventPattern) -> None:
    graph = graph_of(pattern)
    assert len(EDGE.findall(mermaid_of(graph))) == len(graph.edges)
    assert dot_of(graph).count(" -> ") == len(graph.edges)
    explanation = explain(graph).splitlines()
    assert sum(line.startswith("  -> ") for line in explanation) == len(graph.edges)
    assert [line.split(":")[0] for line in explanation if not line.startswith("  ")] == [
        *(node.label for node in graph.nodes[:-1]),
        *(limit.split(":")[0] for limit in graph.limits),
    ]
