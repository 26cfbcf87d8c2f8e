"""Patterns as Mermaid text: everything is said, and nothing of it is taken for markup."""

from __future__ import annotations

import re
from typing import Any

import pytest

from millrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from millrace.cep.graph import GraphEdge, GraphNode, PatternGraph, graph_of
from millrace.cep.mermaid import mermaid_of
from millrace.runtime.cep.pattern_model import Contiguity

NUMBERED = re.compile(r"#(\d+);")
LABEL = re.compile(r'"([^"]*)"')


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


PATTERNS = [no_return, everything, groups, lambda: Pattern.begin("a").not_next("b")]


def labels(text: str) -> list[str]:
    """The labels as a person sees them, a line each."""
    plain = (NUMBERED.sub(lambda found: chr(int(found[1])), label) for label in LABEL.findall(text))
    return [line for label in plain for line in label.split("<br/>")]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_everything_is_said(pattern: Any) -> None:
    graph, text = graph_of(pattern().model()), pattern().to_mermaid()
    assert sum(bool(re.match(r"  n\d+ \S*[=-]>", line)) for line in text.splitlines()) == len(
        graph.edges
    )
    said = labels(text)
    for node in graph.nodes:
        assert node.label in said
        assert not node.condition or node.condition in said
        assert all(f"not if {stop}" in said for stop in node.stops)
    for edge in graph.edges:
        assert all(note in said for note in edge.notes)
    assert all(limit in said for limit in graph.limits)


def test_lines_tell_the_contiguity() -> None:
    a = Pattern.begin("a")
    assert "n1 ==>" in a.next("b").to_mermaid()
    assert "n1 -.->" in a.followed_by("b").to_mermaid()
    dotted = a.followed_by_any("b").to_mermaid()
    assert "n1 -.->" in dotted
    assert "linkStyle 1 stroke-dasharray:1 4" in dotted


@pytest.mark.parametrize(
    "text",
    [
        *('a "b"', "<script>", "a < b && c > d", "#quot;", "`**bold**`", "end", "%% note"),
        *("a\x00b\ud800", "{x}", "x|y", "[[a]]", "(((", "1. a", "- b", "--> n1", "\\n"),
    ],
)
def test_no_text_is_markup(text: str) -> None:
    """What is written is what is shown; what no text can hold is replaced."""
    nodes = (GraphNode(0, "begin"), GraphNode(1, "x", text), GraphNode(2, "match"))
    drawn = mermaid_of(
        PatternGraph(
            nodes, (GraphEdge(0, 1, None), GraphEdge(1, 2, Contiguity.STRICT, (text,))), ()
        )
    )
    shown = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert labels(drawn).count(shown) == 2
    [line] = [line for line in drawn.splitlines() if line.startswith("  n1(")]
    assert not set(line.split('"')[1].replace("<br/>", "")) & set('<>"&`')


def test_notebooks_show_it() -> None:
    diagram = Pattern.begin("a").to_mermaid()
    assert diagram._repr_markdown_() == f"```mermaid\n{diagram}```\n"
