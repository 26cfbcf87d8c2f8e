"""Graphs of CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.graph import Graph, GraphCsvFormat

pytestmark = pytest.mark.spark


@pytest.mark.turns(5)
def test_edges_and_vertices(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("1,2,0.5\n2,3,1.5\n")
    (tmp_path / "vertices.csv").write_text("id|when|name\n1|x|Ada\n2|y|Bob\n3|z|Cleo\n")
    graph = Graph.from_csv(
        str(tmp_path / "edges.csv"),
        str(tmp_path / "vertices.csv"),
        id_type=int,
        vertex_type=str,
        edge_type=float,
        vertex_format=GraphCsvFormat("|", ignore_first_line=True, include_fields=(0, 2)),
    )
    assert sorted(graph.get_vertices()) == [(1, "Ada"), (2, "Bob"), (3, "Cleo")]
    assert sorted(graph.get_edges()) == [(1, 2, 0.5), (2, 3, 1.5)]


@pytest.mark.turns(5)
def test_edges_alone(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is relative to the directory of the process, not to that of its JVM."""
    monkeypatch.chdir(tmp_path)
    path = Path("edges.csv")
    path.write_text("# who knows whom\na,b\nb,c\n")
    graph = Graph.from_csv(
        str(path),
        edge_format=GraphCsvFormat(ignore_comments="#"),
        vertex_initializer=len,
        vertex_type=int,
    )
    assert sorted(graph.get_vertices()) == [("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.turns(5)
def test_invalid_lines(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("1,2\nx,3\n4,\n")
    with pytest.raises(JobExecutionError, match=r"edges.csv: the field 0 of a line is 'x', and"):
        Graph.from_csv(str(path), id_type=int).get_edges().collect()
    lenient = GraphCsvFormat(ignore_invalid_lines=True)
    graph = Graph.from_csv(str(path), id_type=int, edge_format=lenient)
    assert sorted(graph.get_edges()) == [(1, 2, None)]


@pytest.mark.turns(5)
def test_an_empty_text_is_a_value(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text('a,b,x\na,c,\na,d\na,e,""\n,f,y\n')
    with pytest.raises(JobExecutionError, match="the field . of a line is missing or empty"):
        Graph.from_csv(str(path), edge_type=str).get_edges().collect()
    lenient = GraphCsvFormat(ignore_invalid_lines=True)
    graph = Graph.from_csv(str(path), edge_type=str, edge_format=lenient)
    assert sorted(graph.get_edges()) == [("a", "b", "x"), ("a", "c", ""), ("a", "e", "")]


@pytest.mark.turns(5)
def test_wrong_files(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("1;2\n")
    with pytest.raises(JobDefinitionError, match="the first line has 1 fields; is the field del"):
        Graph.from_csv(str(path), id_type=int)
    with pytest.raises(JobDefinitionError, match="cannot read"):
        Graph.from_csv(str(tmp_path / "none.csv"), id_type=int)
    with pytest.raises(JobDefinitionError, match="include_fields has 1 positions for the 2"):
        Graph.from_csv(str(path), edge_format=GraphCsvFormat(include_fields=(1,)))
