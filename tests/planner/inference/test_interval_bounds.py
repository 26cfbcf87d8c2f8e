"""Which conditions bound the times of two rows, and by how much."""

import pytest
from query_tables import bound

from millrace.planner.inference.interval_bounds import IntervalBounds
from millrace.planner.inference.time_attributes import interval_of
from millrace.planner.relational.rel_node import Join, RelNode
from millrace.planner.rules.optimizer import optimized

HOUR = 3_600_000


def bounds_of(condition: str) -> IntervalBounds | None:
    query = f"SELECT o.id FROM orders o JOIN shipments s ON o.id = s.order_id AND {condition}"
    node: RelNode = optimized(bound(query))
    while not isinstance(node, Join):
        (node,) = node.inputs
    return interval_of(node)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("o.ts BETWEEN s.ts - INTERVAL '4' HOUR AND s.ts", (-4 * HOUR, 0)),
        ("s.ts BETWEEN o.ts AND o.ts + INTERVAL '4' HOUR", (-4 * HOUR, 0)),
        ("o.ts = s.ts", (0, 0)),
        ("o.ts > s.ts AND o.ts < s.ts + INTERVAL '1' SECOND", (1, 999)),
        ("s.ts + INTERVAL '1' MINUTE * 2 < INTERVAL '1' HOUR + o.ts AND o.ts = s.ts", (0, 0)),
        ("o.ts > s.ts", None),
        ("o.ts > s.ts AND o.ts > s.ts + INTERVAL '1' HOUR", None),
        ("o.ts > s.ts AND o.ts < s.ts + INTERVAL '1' MONTH", None),
        ("o.ts > s.ts AND o.ts < CAST(s.ts AS TIMESTAMP(6)) + INTERVAL '1' HOUR", (1, HOUR - 1)),
        ("o.ts > s.ts OR o.ts = s.ts", None),
    ],
)
def test_bounds_of_conditions(condition: str, expected: tuple[int, int] | None) -> None:
    found = bounds_of(condition)
    assert (None if found is None else (found.lower, found.upper)) == expected
    assert found is None or found.rowtime


def test_processing_times_are_bounds_too() -> None:
    query = (
        "SELECT o.id FROM orders o JOIN bid b ON o.id = b.auction "
        "AND o.proc BETWEEN b.proc AND b.proc + INTERVAL '1' SECOND"
    )
    node: RelNode = optimized(bound(query))
    while not isinstance(node, Join):
        (node,) = node.inputs
    found = interval_of(node)
    assert found is not None
    assert (found.lower, found.upper, found.rowtime) == (0, 1000, False)
