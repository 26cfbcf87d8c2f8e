"""What streams cannot do is refused with a reason."""

from dataclasses import replace

import pytest
from query_tables import TABLES, bound

from millrace.common.types.row import INSERT_ONLY
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.inference.refusals import require_supported
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.planner.rules.optimizer import optimized

NEXMARK_Q6 = """
SELECT Q.bidder, AVG(Q.price) OVER (
  PARTITION BY Q.bidder ORDER BY Q.ts ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS n FROM bid) AS Q
WHERE Q.n <= 1"""


def checked(node: RelNode) -> None:
    require_supported(node, ChangelogModes([node]))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (NEXMARK_Q6, "OverAggregate doesn't support consuming update and delete changes"),
        ("SELECT a FROM t ORDER BY a", "Sort on a non-time-attribute field is not supported"),
        ("SELECT ts FROM bid ORDER BY ts DESC", "Sort on a non-time-attribute field"),
        ("SELECT SUM(a) OVER (ORDER BY c DESC) FROM t", "can only be ordered in ASCENDING mode"),
        ("SELECT COUNT(*) OVER (ORDER BY ts DESC) FROM bid", "'ts' is DESC"),
        (
            "SELECT * FROM TUMBLE(TABLE changing, DESCRIPTOR(ts), INTERVAL '1' HOUR)",
            "WindowTableFunction doesn't support consuming update and delete changes",
        ),
        (
            "SELECT o.id FROM orders o JOIN changing c ON o.id = c.id AND o.ts = c.ts",
            "IntervalJoin doesn't support consuming update and delete changes",
        ),
        (
            "SELECT a.id FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR) a JOIN "
            "TUMBLE(TABLE shipments, DESCRIPTOR(ts), INTERVAL '2' HOUR) b ON a.id = b.id "
            "AND a.window_start = b.window_start AND a.window_end = b.window_end",
            "the left one is TUMBLE (size 3600000 ms), the right one TUMBLE (size 7200000 ms)",
        ),
        (
            "SELECT * FROM (SELECT CAST(ts AS TIMESTAMP(3)) AS x, ts + INTERVAL '1' HOUR AS y "
            "FROM bid) AS b, LATERAL (SELECT MAX(window_end) FROM "
            "TUMBLE(TABLE late, DESCRIPTOR(ts), INTERVAL '1' HOUR)) AS w",
            "The window function requires the timecol is a time attribute type",
        ),
        (
            "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE late, DESCRIPTOR(ts), "
            "INTERVAL '1' HOUR) GROUP BY window_start, window_end",
            "The window function requires the timecol is a time attribute type",
        ),
        (
            "SELECT COUNT(*) FROM late GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
            "a time attribute",
        ),
        ("SELECT CURRENT_WATERMARK(ts) FROM late", "must be a rowtime attribute, but ts is TIMES"),
        ("SELECT CURRENT_WATERMARK(ts + INTERVAL '1' HOUR) FROM bid", "but +(ts, 1:00:00) is"),
        ("SELECT price FROM bid WHERE CURRENT_WATERMARK(PROCTIME()) IS NULL", "but PROCTIME() is"),
        (
            "SELECT CASE WHEN CURRENT_WATERMARK(ts) < ts THEN 1 END FROM (SELECT MAX(ts) AS ts "
            "FROM bid GROUP BY price)",
            "must be a rowtime attribute",
        ),
    ],
)
def test_refused_queries(query: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "late", replace(TABLES["bid"], watermark=None))
    with pytest.raises(UnsupportedQueryError) as refusal:
        checked(optimized(bound(query)))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ts, auction FROM bid ORDER BY ts, auction DESC",
        "SELECT a FROM t ORDER BY a LIMIT 3",
        "SELECT COUNT(*) OVER (PARTITION BY item ORDER BY ts) FROM bid",
        "SELECT price FROM bid WHERE CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts)",
        "SELECT CURRENT_WATERMARK(w) FROM (SELECT window_time AS w FROM TUMBLE(TABLE bid, "
        "DESCRIPTOR(ts), INTERVAL '1' HOUR))",
    ],
)
def test_what_is_taken(query: str) -> None:
    checked(optimized(bound(query)))


def test_a_sink_of_inserts_takes_no_updates() -> None:
    query = optimized(bound("SELECT b, COUNT(*) AS n FROM t GROUP BY b"))
    sink = LogicalSink(query, replace(TABLES["s"], accepts=INSERT_ONLY))
    with pytest.raises(UnsupportedQueryError) as refusal:
        checked(sink)
    assert "Table sink 'default_catalog.default_database.s' doesn't support" in str(refusal.value)
