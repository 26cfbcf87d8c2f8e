"""Queries after all rules: joins for subqueries, windows, Top-N, deduplication, filters below."""

from pathlib import Path

import pytest
from query_tables import bound, optimized_plan, snapshots

from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.planner.rules.optimizer import optimized

PLANS = snapshots(Path(__file__).parent / "optimized_plans.txt")


@pytest.mark.parametrize(("query", "expected"), PLANS, ids=[query[:60] for query, _ in PLANS])
def test_the_optimized_tree(query: str, expected: str) -> None:
    assert optimized_plan(query) == expected


@pytest.mark.parametrize("query", [query for query, _ in PLANS])
def test_rules_keep_the_row_type(query: str) -> None:
    before, after = bound(query).row_type, optimized(bound(query)).row_type
    assert before.names == after.names
    kinds = zip(before.children(), after.children(), strict=True)
    assert all(one.with_nullable(True) == two.with_nullable(True) for one, two in kinds)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t WHERE a = 1 OR (SELECT MAX(a) FROM s) IN (SELECT a FROM s)",
        # the rows around are read twice, and would not be the same
        "SELECT a FROM (SELECT a + RAND_INTEGER(9) AS a FROM t) t WHERE 1 = (SELECT COUNT(*) FROM "
        "s WHERE s.a < t.a)",
    ],
)
def test_what_no_join_can_stand_for_is_refused(query: str) -> None:
    with pytest.raises(UnsupportedQueryError):
        optimized(bound(query))


def test_a_filter_over_sessions_stays_above_them() -> None:
    plan = optimized_plan(
        "SELECT * FROM SESSION(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' HOUR) WHERE auction = 1"
    )
    assert plan.index("LogicalFilter") < plan.index("LogicalWindowTableFunction")
