"""The pages on graphs: their programs run, and names of Gelly lead to names that exist."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import Any

import gen_printed as generator
import pytest

import millrace.graph
import millrace.graph.bipartite
import millrace.graph.generators
import millrace.graph.gsa
import millrace.graph.iterations
import millrace.graph.library
import millrace.graph.pregel
import millrace.graph.spargel

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "graph" / "coming-from-gelly.md"
ROW = re.compile(r"^\| `(?P<theirs>[\w.]+)` \| (?P<ours>.*) \|$", re.MULTILINE)
NAME = re.compile(r"`((?:[a-z]+\.)?[A-Z]\w*(?:\.\w+)?)`")
GRAPH = """
addEdge addEdges addVertex addVertices difference filterOnEdges filterOnVertices fromCollection
fromCsvReader fromDataSet fromTuple2DataSet fromTupleDataSet getContext getDegrees getEdgeIds
getEdges getEdgesAsTuple3 getTriplets getUndirected getVertexIds getVertices getVerticesAsTuple2
groupReduceOnEdges groupReduceOnNeighbors inDegrees intersect joinWithEdges joinWithEdgesOnSource
joinWithEdgesOnTarget joinWithVertices mapEdges mapVertices numberOfEdges numberOfVertices
outDegrees reduceOnEdges reduceOnNeighbors removeEdge removeEdges removeVertex removeVertices
reverse run runGatherSumApplyIteration runScatterGatherIteration runVertexCentricIteration
subgraph translateEdgeValues translateGraphIds translateVertexValues union validate
"""
"""Gelly's methods of ``Graph``."""
OTHERS = frozenset({"RandomGenerableFactory"})
"""Names of Gelly that the explanations mention."""


def rows() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8")
    return {match["theirs"]: match["ours"] for match in ROW.finditer(text)}


def test_each_method_of_gellys_graph_has_a_row() -> None:
    assert [name for name in GRAPH.split() if f"Graph.{name}" not in rows()] == []


@pytest.mark.parametrize("theirs", rows())
def test_names_of_the_table_exist(theirs: str) -> None:
    for name in NAME.findall(rows()[theirs]):
        if name not in OTHERS:
            reduce(getattr, name.split("."), millrace.graph)


@pytest.mark.turns(7)
@pytest.mark.spark
@pytest.mark.parametrize("name", generator.SPARK_PAGES)
def test_a_page_shows_what_its_programs_print(name: str, spark: Any) -> None:
    """After a change of a page run scripts/gen_printed.py."""
    page = generator.DOCS / name
    assert page.read_text(encoding="utf-8") == generator.filled(page)
    assert f" {name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
