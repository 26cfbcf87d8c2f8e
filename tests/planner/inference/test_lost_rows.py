"""Queries whose rows could stay in a table, after an epoch that wrote them was lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from query_tables import PATH, TABLES, bound, table

from millrace.common.types.row import ALL_ROW_KINDS, UPSERTS, RowKind
from millrace.planner.catalog_reader import ColumnKind, ResolvedColumn, ResolvedTable
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


def of_metadata(given: ResolvedTable, name: str) -> ResolvedTable:
    """A table with a metadata column."""
    columns = [
        replace(each, kind=ColumnKind.METADATA) if each.name == name else each
        for each in given.columns
    ]
    return replace(given, columns=tuple(columns))


UPDATED = ALL_ROW_KINDS - {RowKind.DELETE}
KEYED = "id INT NOT NULL, v INT, op_ts BIGINT"
MORE = (
    table("visits", "id BIGINT NOT NULL, item STRING, n INT, ts TIMESTAMP(3)", "ts",
          primary_key=("id",)),
    table("updated", KEYED, changes=UPDATED, primary_key=("id",)),
    table("streamed", "a INT, b STRING", repeats=False),
    of_metadata(table("captured", KEYED, changes=ALL_ROW_KINDS), "op_ts"),
    of_metadata(table("added", KEYED), "op_ts"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in MORE:
        monkeypatch.setitem(TABLES, each.path[-1], each)


def aggregated(call: str) -> str:
    """A query whose key is an aggregate of the rows of a window."""
    return (
        f"SELECT x, window_start FROM (SELECT window_start, window_end, {call} AS x "
        f"FROM {WINDOWED} GROUP BY window_start, window_end)"
    )


def matched(source: str, clauses: str) -> str:
    return (
        f"SELECT x FROM {source} MATCH_RECOGNIZE ({clauses} MEASURES b.item AS x PATTERN "
        "(a b) DEFINE b AS b.item <> a.item)"
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
        *map(aggregated, ("COUNT(*)", "SUM(price)", "MAX(item)", "COUNT(DISTINCT item)")),
        aggregated("SUM(auction) FILTER (WHERE price > 1)"),
        matched("visits", "PARTITION BY item ORDER BY ts, id"),
        "SELECT updated.id, s.d FROM updated JOIN s ON updated.id = s.a",
        "SELECT s.a, updated.v FROM s LEFT JOIN updated ON updated.id = s.a",
        "SELECT u.id, s.d FROM (SELECT * FROM updated WHERE id > 1) u JOIN s ON u.id = s.a",
        "SELECT id, op_ts FROM captured",
        "SELECT op_ts, id FROM added",
        "SELECT UNIX_TIMESTAMP(b) AS x, a FROM t",
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
        "SELECT UNIX_TIMESTAMP() AS a FROM t",
        "SELECT CURRENT_TIMESTAMP AS a FROM t",
        "SELECT a FROM t WHERE c < UNIX_TIMESTAMP()",
        "SELECT a, b FROM streamed",
        "SELECT b, COUNT(*) AS n FROM streamed GROUP BY b",
        "SELECT op_ts, id FROM captured",
        *map(aggregated, ("LISTAGG(item)", "FIRST_VALUE(item)", "LAST_VALUE(item)")),
        *map(aggregated, ("SUM(CAST(price AS DOUBLE))", "AVG(CAST(price AS FLOAT))")),
        *map(aggregated, ("STDDEV_POP(price)", "JSON_ARRAYAGG(item)", "MAX(RAND())")),
        matched("bid", "PARTITION BY auction ORDER BY ts"),
        matched("visits", "PARTITION BY item ORDER BY ts"),
        "SELECT s.a, updated.v FROM s JOIN updated ON updated.v = s.a",
        "SELECT updated.v, s.d FROM updated JOIN s ON updated.id = s.a",
        "SELECT u.id, s.d FROM (SELECT * FROM updated WHERE v > 1) u JOIN s ON u.id = s.a",
        "SELECT updated.id, s.d FROM updated LEFT JOIN s ON updated.v = s.a",
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
        "SELECT window_end, price FROM TABLE(SESSION(TABLE (SELECT * FROM bid WHERE EXISTS (SELECT "
        "id FROM visits WHERE visits.item = bid.item AND bid.ts BETWEEN visits.ts AND visits.ts + "
        "INTERVAL '1' HOUR)) PARTITION BY item, DESCRIPTOR(ts), INTERVAL '1' HOUR))",
        "SELECT a, c.name FROM (SELECT a, PROCTIME() AS p FROM t) JOIN customers FOR "
        "SYSTEM_TIME AS OF p AS c ON a = c.id",
    ],
)
def test_a_key_that_depends_on_other_rows_may_stay(query: str) -> None:
    assert leaves(query)
