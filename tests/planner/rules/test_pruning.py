"""Sources are asked for the columns that a query reads."""

import pytest
from query_tables import bound

from millrace.planner.relational.rel_node import Join, RelNode, TableScan
from millrace.planner.relational.stream_rel_nodes import Rank
from millrace.planner.rules.optimizer import optimized


def scans(node: RelNode) -> list[tuple[str, ...]]:
    found = [node.row_type.names] if isinstance(node, TableScan) else []
    return found + [each for child in node.inputs for each in scans(child)]


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a FROM t WHERE c > 1", [("a", "c")]),
        ("SELECT COUNT(*) FROM t", [("a",)]),
        ("SELECT t.b FROM t JOIN s ON t.a = s.a", [("a", "b"), ("a",)]),
        ("SELECT t.b FROM t, s", [("b",), ("a",)]),
        ("SELECT auction FROM bid", [("auction", "ts")]),
        ("SELECT v FROM changing", [("id", "v", "ts")]),
        ("SELECT a FROM t ORDER BY b LIMIT 1", [("a", "b")]),
        (
            "SELECT a FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM t) "
            "WHERE n <= 2",
            [("a", "b")],
        ),
    ],
)
def test_columns_that_are_scanned(query: str, read: list[tuple[str, ...]]) -> None:
    assert scans(optimized(bound(query))) == read


@pytest.mark.parametrize(("columns", "asked"), [("a", False), ("a, n", True)])
def test_a_rank_that_nobody_reads_is_not_given(columns: str, asked: bool) -> None:
    ranked = "SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM t"
    node = optimized(bound(f"SELECT {columns} FROM ({ranked}) WHERE n <= 2"))
    while not isinstance(node, Rank):
        (node,) = node.inputs
    assert (node.rank_name is not None) is asked


@pytest.mark.parametrize(
    ("query", "sides"),
    [
        ("SELECT t.b FROM t JOIN s ON t.a = s.a WHERE t.c > 1", [("a", "b"), ("a",)]),
        (
            "SELECT b.price FROM bid b JOIN bid s ON b.auction = s.auction",
            [("auction", "price"), ("auction",)],
        ),
        ("SELECT t.b FROM t, (SELECT a FROM s WHERE a > 1)", [("b",), ("a",)]),
        ("SELECT a FROM t WHERE c > 1 AND a IN (SELECT a FROM s)", [("a",), ("a",)]),
    ],
)
def test_a_join_is_given_the_columns_that_it_and_those_above_read(
    query: str, sides: list[tuple[str, ...]]
) -> None:
    node = optimized(bound(query))
    while not isinstance(node, Join):
        (node,) = node.inputs
    assert [each.row_type.names for each in node.inputs] == sides
