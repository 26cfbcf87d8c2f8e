"""Sources are asked for the columns that a query reads."""

import pytest
from query_tables import bound

from millrace.planner.relational.rel_node import RelNode, TableScan
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
    ],
)
def test_columns_that_are_scanned(query: str, read: list[tuple[str, ...]]) -> None:
    assert scans(optimized(bound(query))) == read
