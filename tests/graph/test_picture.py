"""Pictures of small graphs."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.graph.elements import Edge, Vertex
from millrace.graph.picture import dot_of, svg_of

CIRCLE = re.compile(r'<circle cx="([\d.]+)" cy="([\d.]+)"')


def test_a_picture_is_xml_and_vertices_do_not_overlap() -> None:
    vertices = [Vertex(f"<{number}>", None) for number in range(12)]
    edges = [Edge(f"<{number}>", f"<{number * 5 % 12}>", "&") for number in range(12)]
    picture = svg_of(vertices, edges, 400, 300)
    ElementTree.fromstring(picture)
    places = [(float(x), float(y)) for x, y in CIRCLE.findall(picture)]
    assert all(0 <= x <= 400 and 0 <= y <= 300 for x, y in places)
    assert len(set(places)) == 12


def test_neighbours_are_near() -> None:
    """Ends of a path are farther from each other than from their neighbours."""
    vertices = [Vertex(number, None) for number in range(6)]
    picture = svg_of(vertices, [Edge(n, n + 1, None) for n in range(5)], 400, 400)
    places = [complex(float(x), float(y)) for x, y in CIRCLE.findall(picture)]
    longest = max(abs(places[n + 1] - places[n]) for n in range(5))
    assert abs(places[5] - places[0]) > 2 * longest


@pytest.mark.parametrize("count", [0, 1])
def test_the_smallest_graphs(count: int) -> None:
    assert svg_of([Vertex(0, None)][:count], [], 100, 100).count("<circle") == count


def test_too_many() -> None:
    with pytest.raises(JobDefinitionError, match="at most 500 vertices, and the graph has 501"):
        svg_of([Vertex(number, None) for number in range(501)], [], 100, 100)


def test_names_are_quoted() -> None:
    assert '"a\\"b" [label="a\\"b: \\\\"];' in dot_of("g", [Vertex('a"b', "\\")], [])
