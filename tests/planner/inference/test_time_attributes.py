"""Which columns of a query are time attributes."""

import pytest
from query_tables import bound

from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.rules.optimizer import optimized

WINDOWED = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR))"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ts, proc, auction FROM bid", "ts ROWTIME, proc PROCTIME"),
        ("SELECT ts + INTERVAL '1' SECOND AS later FROM bid", ""),
        ("SELECT MAX(ts) AS ts FROM bid", ""),
        (f"SELECT window_time, window_start FROM {WINDOWED}", "window_time ROWTIME"),
        (
            "SELECT window_time, COUNT(*) AS n "
            f"FROM {WINDOWED} GROUP BY window_start, window_end, window_time",
            "window_time ROWTIME",
        ),
        ("SELECT ts FROM bid UNION ALL SELECT ts FROM orders", "ts ROWTIME"),
        ("SELECT o.ts FROM orders o JOIN shipments s ON o.id = s.order_id", ""),
        (
            "SELECT o.ts, s.ts AS sent FROM orders o JOIN shipments s "
            "ON o.id = s.order_id AND o.ts BETWEEN s.ts - INTERVAL '4' HOUR AND s.ts",
            "ts ROWTIME, sent ROWTIME",
        ),
        (  # bounded on one end: a regular join
            "SELECT o.ts, s.ts AS sent FROM orders o JOIN shipments s "
            "ON o.id = s.order_id AND o.ts < s.ts",
            "",
        ),
        (
            "SELECT o.ts, o.proc, b.proc AS p FROM orders o JOIN bid b ON o.id = b.auction "
            "AND o.proc BETWEEN b.proc AND b.proc + INTERVAL '1' SECOND",
            "proc PROCTIME, p PROCTIME",
        ),
        (
            f"SELECT a.ts, a.window_time AS t, b.window_time AS u FROM {WINDOWED} a JOIN "
            f"{WINDOWED} b ON a.window_start = b.window_start AND a.window_end = b.window_end",
            "t ROWTIME, u ROWTIME",
        ),
        (
            "SELECT o.ts, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r "
            "ON o.currency = r.currency",
            "ts ROWTIME",
        ),
    ],
)
def test_time_attributes_of_a_query(query: str, expected: str) -> None:
    rows = optimized(bound(query))
    names = rows.row_type.names
    found = sorted(time_attributes(rows).items())
    assert ", ".join(f"{names[index]} {kind.value}" for index, kind in found) == expected
