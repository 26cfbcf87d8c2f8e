"""Histories with branches, drawn."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.cli.lineage import LineageNode, draw


def drawn(*edges: str) -> list[str]:
    """Each edge is "child<parent" or "child"; later ones are newer."""
    nodes = []
    for time, edge in enumerate(edges):
        id, _, parent = edge.partition("<")
        nodes.append(LineageNode(id, parent, time, id))
    return list(draw(nodes, lambda id: f"{id}?"))


def test_one_line() -> None:
    assert drawn("a", "b<a", "c<b") == ["* c", "* b", "* a"]


def test_branches_meet_where_they_began() -> None:
    assert drawn("a", "b<a", "c<b", "d<b", "e<a", "f<d") == [
        "* f",
        "| * e",
        "* | d",
        "| | * c",
        "| |/",
        "|/|",
        "* | b",
        "|/",
        "* a",
    ]


def test_histories_that_have_nothing_to_do_with_each_other_keep_apart() -> None:
    assert drawn("a", "b", "c<b") == ["* c", "* b", "", "* a"]


def test_a_parent_that_is_not_here_is_shown_as_such() -> None:
    assert drawn("b<a", "c<a") == ["* c", "| * b", "|/", "o a?"]


def test_children_come_before_their_parents_whatever_the_clocks_say() -> None:
    assert drawn("b<a", "a") == ["* b", "* a"]


def test_copies_are_all_drawn() -> None:
    """Children are those of the first."""
    assert drawn("a", "a", "b<a", "b<a") == ["* b", "| * b", "| | * a", "|/", "* a"]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (["a<a"], ["* a"]),
        (["a<b", "b<a"], ["* b", "* a"]),
        (["a<b", "b<c", "c<a", "d<b"], ["* d", "* b", "* c", "* a"]),
    ],
)
def test_a_ring_begins_at_its_oldest_point(edges: list[str], expected: list[str]) -> None:
    """Somebody may have written his own."""
    assert drawn(*edges) == expected


@given(st.lists(st.integers(0, 12), max_size=12))
@settings(max_examples=50, deadline=None)
def test_every_point_is_drawn_once_and_below_its_children(parents: list[int]) -> None:
    edges = [f"n{i}<n{p}" if p < i else f"n{i}" for i, p in enumerate(parents)]
    order = [line.split()[-1] for line in drawn(*edges) if "*" in line]
    assert sorted(order) == sorted(f"n{i}" for i in range(len(parents)))
    for i, p in enumerate(parents):
        if p < i:
            assert order.index(f"n{i}") < order.index(f"n{p}")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
@settings(max_examples=50, deadline=None)
def test_whatever_claims_to_come_from_what_is_drawn(edges: list[tuple[int, int]]) -> None:
    """Copies and rings, too."""
    lines = drawn(*(f"n{id}<n{parent}" for id, parent in edges))
    points = [line.split()[-1] for line in lines if "*" in line]
    assert sorted(points) == sorted(f"n{id}" for id, _ in edges)
