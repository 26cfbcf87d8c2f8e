"""Where a sink by key needs the last row of each key."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.planner.query_tables import bound, table

from millrace.common.types.row import UPSERTS
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.planner.relational.stream_rel_nodes import UpsertMaterialize
from millrace.planner.rules.optimizer import optimized
from millrace.planner.rules.upsert_materialization import with_upsert_materialization

SINK = table("k", "b STRING NOT NULL, n BIGINT", primary_key=("b",), accepts=UPSERTS)


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        ("SELECT b, COUNT(*) FROM t GROUP BY b", False),
        (
            "SELECT b, MAX(n) FROM (SELECT b, c, COUNT(*) AS n FROM t GROUP BY b, c) GROUP BY b",
            False,
        ),
        ("SELECT b, c FROM t", False),
        ("SELECT MAX(b), COUNT(*) FROM t GROUP BY c", True),
        ("SELECT b, n FROM (SELECT b, c, COUNT(*) AS n FROM t GROUP BY b, c)", True),
        (
            "SELECT l.b, r.n FROM (SELECT b, COUNT(*) AS n FROM t GROUP BY b) l JOIN "
            "(SELECT b, COUNT(*) AS n FROM t GROUP BY b) r ON l.n = r.n",
            True,
        ),
    ],
)
def test_where_rows_of_a_key_may_come_out_of_order(query: str, needed: bool) -> None:
    sink = LogicalSink(optimized(bound(query)), SINK)
    found = with_upsert_materialization(sink, "AUTO")
    assert isinstance(found.inputs[0], UpsertMaterialize) is needed
    forced = with_upsert_materialization(sink, "FORCE").inputs[0]
    assert isinstance(forced, UpsertMaterialize) is (query != "SELECT b, c FROM t")
    assert with_upsert_materialization(sink, "NONE") is sink


def test_sinks_of_all_changes_take_them_as_they_are() -> None:
    query = optimized(bound("SELECT MAX(b), COUNT(*) FROM t GROUP BY c"))
    for each in (replace(SINK, accepts=frozenset()), replace(SINK, primary_key=())):
        sink = LogicalSink(query, each)
        assert with_upsert_materialization(sink, "AUTO") is sink
