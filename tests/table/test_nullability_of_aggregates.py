"""Aggregates of a group are NOT NULL where Flink says so: a group always has a row."""

from __future__ import annotations

import pytest

from millrace.table import TableEnvironment

CASES = [
    ("SELECT x, MAX(y), MIN(y), SUM(y), AVG(y) FROM t GROUP BY x", ["INT NOT NULL"] * 5),
    ("SELECT x, COLLECT(y) FROM t GROUP BY x", ["INT NOT NULL", "MULTISET<INT NOT NULL> NOT NULL"]),
    ("SELECT x, COLLECT(z) FROM t GROUP BY x", ["INT NOT NULL", "MULTISET<INT> NOT NULL"]),
    ("SELECT x, MAX(z) FROM t GROUP BY x", ["INT NOT NULL", "INT"]),
    ("SELECT x, SUM(y) FILTER (WHERE y > 2) FROM t GROUP BY x", ["INT NOT NULL", "INT"]),
    ("SELECT x, VAR_SAMP(y) FROM t GROUP BY x", ["INT NOT NULL", "INT"]),
    ("SELECT MAX(y), COUNT(y) FROM t", ["INT", "BIGINT NOT NULL"]),
    ("SELECT x, MAX(y) FROM t GROUP BY ROLLUP(x)", ["INT", "INT"]),
]
ROWS = "(SELECT * FROM (VALUES (1, 2, CAST(NULL AS INT))) AS v(x, y, z))"


@pytest.mark.parametrize(("query", "kinds"), CASES, ids=[query for query, _ in CASES])
def test_types_of_aggregates(query: str, kinds: list[str], batch_env: TableEnvironment) -> None:
    schema = batch_env.sql_query(query.replace("FROM t", f"FROM {ROWS} AS t")).get_schema()
    assert [str(kind) for kind in schema.get_field_data_types()] == kinds
