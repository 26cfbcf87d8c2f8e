"""Keys of joins that are computed: columns below the join, gone above it."""

from __future__ import annotations

import pytest
from query_tables import bound

from millrace.planner.relational.explain import explained
from millrace.planner.relational.rel_node import Join, RelNode
from millrace.planner.rules.join_keys import with_join_keys
from millrace.planner.rules.optimizer import optimized


def joins(node: RelNode) -> list[Join]:
    return [
        *([node] if isinstance(node, Join) else []),
        *(join for each in node.inputs for join in joins(each)),
    ]


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN", "FULL JOIN"])
def test_an_equality_of_expressions_is_one_of_columns(kind: str) -> None:
    before = bound(f"SELECT t.a, s.d FROM t {kind} s ON t.a + 1 = s.a * 2 AND t.c < s.d")
    after = optimized(before)
    [join] = joins(after)
    assert "$key_left_0" in join.left.row_type.names
    assert "$key_right_0" in join.right.row_type.names
    assert str(join.condition).count("$key") == 2
    assert [field.type for field in after.row_type.fields] == [
        field.type for field in before.row_type.fields
    ]
    assert after.row_type.names == ("a", "d")


@pytest.mark.parametrize(
    "condition",
    [
        "t.a = s.a",
        "t.a < s.a + 1",
        "t.a + s.a = s.a",
        "t.a + RAND_INTEGER(5) = s.a",
    ],
)
def test_what_is_no_key_stays_as_it_is(condition: str) -> None:
    before = bound(f"SELECT t.a FROM t JOIN s ON {condition}")
    assert explained(with_join_keys(before)) == explained(before)
