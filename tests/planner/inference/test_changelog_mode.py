"""Which changes queries emit, and who needs -U rows."""

from dataclasses import replace

import pytest
from query_tables import TABLES, bound

from millrace.common.types.row import UPSERTS
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.rules.optimizer import optimized

WINDOWED = "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR))"


@pytest.mark.parametrize(
    ("query", "changes"),
    [
        ("SELECT a FROM t WHERE a > 1", "I"),
        ("SELECT id FROM changing", "I,UB,UA,D"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b", "I,UB,UA"),
        ("SELECT v, COUNT(*) FROM changing GROUP BY v", "I,UB,UA,D"),
        ("SELECT COUNT(*) FROM changing", "I,UB,UA"),
        ("SELECT DISTINCT b FROM t", "I"),
        ("SELECT DISTINCT v FROM changing", "I,D"),
        (f"SELECT window_start, COUNT(*) FROM {WINDOWED} GROUP BY window_start, window_end", "I"),
        (f"SELECT window_start, COUNT(*) FROM {WINDOWED} GROUP BY window_start", "I,UB,UA"),
        ("SELECT t.a FROM t JOIN s ON t.a = s.a", "I"),
        ("SELECT t.a FROM t LEFT JOIN s ON t.a = s.a", "I,D"),
        ("SELECT a FROM t WHERE a IN (SELECT a FROM s)", "I"),
        ("SELECT a FROM t WHERE a NOT IN (SELECT a FROM s)", "I,D"),
        (
            "SELECT o.id FROM orders o LEFT JOIN shipments s "
            "ON o.id = s.order_id AND o.ts BETWEEN s.ts - INTERVAL '4' HOUR AND s.ts",
            "I",
        ),
        (
            "SELECT o.id, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r "
            "ON o.currency = r.currency",
            "I",
        ),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS n "
            "FROM bid) WHERE n <= 3",
            "I,UB,UA,D",
        ),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts DESC) AS n "
            "FROM bid) WHERE n = 1",
            "I,UB,UA",
        ),
        (
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY proc) AS n "
            "FROM bid) WHERE n = 1",
            "I",
        ),
        (
            f"SELECT l.item FROM (SELECT * FROM {WINDOWED}) l JOIN (SELECT * FROM {WINDOWED}) r "
            "ON l.item = r.item AND l.window_start = r.window_start "
            "AND l.window_end = r.window_end",
            "I",
        ),
        ("SELECT a FROM t UNION SELECT a FROM s", "I"),
        ("SELECT a FROM t EXCEPT SELECT a FROM s", "I,UB,UA"),
        ("SELECT a FROM t ORDER BY a LIMIT 3", "I,UB,UA,D"),
    ],
)
def test_the_changes_of_a_query(query: str, changes: str) -> None:
    root = optimized(bound(query))
    assert str(ChangelogModes([root]).changes(root)) == changes


def test_an_upsert_sink_needs_no_rows_before_updates() -> None:
    query = optimized(bound("SELECT b, n FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b)"))
    upserts = replace(TABLES["s"], accepts=UPSERTS)
    everything = replace(TABLES["s"], accepts=frozenset())
    for table, needed in ((upserts, False), (everything, True)):
        sink = LogicalSink(query, table)
        modes = ChangelogModes([sink])
        assert modes.emits_update_before(query.inputs[0]) is needed
        assert modes.emits_update_before(query) is needed


def test_what_is_read_by_two_needs_what_one_of_them_needs() -> None:
    query = optimized(bound("SELECT b, COUNT(*) AS n FROM t GROUP BY b"))
    upserts = replace(TABLES["s"], accepts=UPSERTS)
    sinks = [LogicalSink(query, upserts), LogicalSink(query, TABLES["s"])]
    for order in (sinks, sinks[::-1]):
        assert ChangelogModes(order).emits_update_before(query)


def test_what_goes_to_a_sink_that_repeats_writes_is_repeatable() -> None:
    query = optimized(bound("SELECT b, COUNT(*) AS n FROM t GROUP BY b"))
    other = optimized(bound("SELECT b, COUNT(*) AS n FROM t GROUP BY b"))
    sinks = [LogicalSink(query, TABLES["s"]), LogicalSink(other, TABLES["s"])]
    modes = ChangelogModes(sinks, repeated=sinks[:1])
    assert modes.repeatable(query)
    assert modes.repeatable(query.inputs[0])
    assert not modes.repeatable(other)
    # two sinks read it, one of which repeats its writes
    sinks = [LogicalSink(query, TABLES["s"]), LogicalSink(query, TABLES["s"])]
    assert ChangelogModes(sinks, repeated=sinks[1:]).repeatable(query)
    assert not ChangelogModes(sinks, streaming=False, repeated=sinks).repeatable(query)
