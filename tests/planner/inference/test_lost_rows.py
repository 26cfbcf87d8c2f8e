"""Queries whose rows could stay in a table, after an epoch that wrote them was lost."""

from __future__ import annotations

import pytest
from query_tables import PATH, bound

from millrace.common.types.row import UPSERTS
from millrace.planner.catalog_reader import ResolvedColumn, ResolvedTable
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.inference.lost_rows import leaves_lost_rows
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.rules.optimizer import optimized
from millrace.planner.rules.upsert_materialization import with_upsert_materialization

WINDOWED = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
SESSIONS = "TABLE(SESSION(TABLE bid PARTITION BY item, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
COUNTED = (
    f"SELECT item, window_start, window_end, COUNT(*) AS n FROM {WINDOWED} GROUP BY item, "
    "window_start, window_end"
)


def leaves(query: str) -> bool:
    """Whether rows of the query could stay in a table whose key is the query's first column."""
    root = optimized(bound(query))
    columns = tuple(ResolvedColumn(field.name, field.type) for field in root.row_type.fields)
    key = (columns[0].name,)
    table = ResolvedTable((*PATH, "sink"), columns, accepts=UPSERTS, primary_key=key)
    sink = with_upsert_materialization(LogicalSink(root, table), "AUTO")
    assert isinstance(sink, LogicalSink)
    return leaves_lost_rows(sink, ChangelogModes([sink], repeated=[sink]))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a + 1 AS a FROM t WHERE b = 'x'",
        "SELECT id, v FROM changing WHERE v > 1",
        "SELECT b, COUNT(*) AS n FROM t GROUP BY b",
        "SELECT UPPER(b) AS b, n FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) WHERE b <> ''",
        "SELECT v, COUNT(*) AS n FROM changing GROUP BY v",
        "SELECT b, SUM(n) AS n FROM (SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b) GROUP BY b",
        "SELECT 'all' AS a, COUNT(*) AS n FROM t",
        "SELECT DISTINCT b FROM t",
        "SELECT t.a, s.d FROM t JOIN s ON t.a = s.a",
        "SELECT t.a, s.d FROM t LEFT JOIN s ON t.a = s.a",
        "SELECT s.a, t.b FROM t RIGHT JOIN s ON t.a = s.a",
        "SELECT a FROM t WHERE a IN (SELECT a FROM s)",
        "SELECT a FROM t UNION SELECT a FROM s",
        "SELECT a FROM t UNION ALL SELECT a FROM s",
        f"SELECT item, window_start, COUNT(*) AS n FROM {WINDOWED} GROUP BY item, window_start, "
        "window_end",
        "SELECT item, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) "
        "AS n FROM bid) WHERE n = 1",
        "SELECT auction, COUNT(*) OVER (PARTITION BY item ORDER BY ts) AS n FROM bid",
        "SELECT window_start, order_id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
        "window_start, window_end ORDER BY id) AS n FROM TABLE(TUMBLE(TABLE shipments, "
        "DESCRIPTOR(ts), INTERVAL '1' HOUR))) WHERE n <= 3",
        f"SELECT item, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY n, item) AS r FROM ({COUNTED})) WHERE r <= 3",
        f"SELECT n, COUNT(*) AS m FROM ({COUNTED}) GROUP BY n",
        "SELECT a, tag FROM t CROSS JOIN UNNEST(tags) AS u (tag)",
        "SELECT a, c.name FROM (SELECT a, PROCTIME() AS p FROM t) LEFT JOIN customers FOR "
        "SYSTEM_TIME AS OF p AS c ON a = c.id",
    ],
)
def test_a_key_of_source_rows_is_written_again(query: str) -> None:
    assert not leaves(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT UUID() AS a FROM t",
        "SELECT a FROM t WHERE RAND() < 0.5",
        "SELECT n, b FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b)",
        "SELECT b, n FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) WHERE n < 3",
        "SELECT n, COUNT(*) AS m FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) GROUP BY n",
        "SELECT DISTINCT v FROM changing",
        "SELECT a FROM t ORDER BY a LIMIT 3",
        "SELECT auction FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS n "
        "FROM bid) WHERE n <= 3",
        "SELECT t.a FROM t JOIN changing ON t.a = changing.id",
        "SELECT a FROM t WHERE a IN (SELECT v FROM changing)",
        "SELECT a FROM t WHERE a NOT IN (SELECT a FROM s)",
        "SELECT a FROM t EXCEPT SELECT a FROM s",
        "SELECT v FROM changing INTERSECT SELECT a FROM s",
        f"SELECT item, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        f"ORDER BY n) AS r FROM ({COUNTED})) WHERE r <= 3",
        f"SELECT SUM(x) AS x, item FROM (SELECT *, RAND() AS x FROM {WINDOWED}) GROUP BY item, "
        "window_start, window_end",
        "SELECT a, x FROM t CROSS JOIN UNNEST(ARRAY[RAND()]) AS u (x)",
        "SELECT x, item FROM bid MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES UUID() AS "
        "x PATTERN (a b) DEFINE b AS b.price > a.price)",
        f"SELECT window_end, COUNT(*) AS n FROM {SESSIONS} GROUP BY window_start, window_end",
        "SELECT a, c.name FROM (SELECT a, PROCTIME() AS p FROM t) JOIN customers FOR "
        "SYSTEM_TIME AS OF p AS c ON a = c.id",
    ],
)
def test_a_key_that_depends_on_other_rows_may_stay(query: str) -> None:
    assert leaves(query)
