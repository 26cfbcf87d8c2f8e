"""Relational nodes: their row types."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import BigIntType, BooleanType, RowType, VarCharType
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall, ValueLiteral
from millrace.planner.relational.rel_node import Aggregate, Join, JoinKind, TableScan

LONG, TEXT = BigIntType(nullable=False), VarCharType(nullable=False)
ORDERS = TableScan(("c", "d", "orders"), None, RowType.of(("id", LONG), ("item", TEXT)))
TRUE = ValueLiteral(True, BooleanType(nullable=False))


def test_columns_of_the_outer_side_may_be_null() -> None:
    def nullable(kind: JoinKind) -> list[bool]:
        names = ("id", "item", "id0", "item0")[: 2 if kind in (JoinKind.SEMI, JoinKind.ANTI) else 4]
        join = Join(ORDERS, ORDERS, kind, TRUE, names)
        return [field.type.is_nullable for field in join.row_type.fields]

    assert nullable(JoinKind.INNER) == [False] * 4
    assert nullable(JoinKind.LEFT) == [False, False, True, True]
    assert nullable(JoinKind.RIGHT) == [True, True, False, False]
    assert nullable(JoinKind.FULL) == [True] * 4
    assert nullable(JoinKind.ANTI) == [False] * 2


def test_a_column_that_a_grouping_set_lacks_may_be_null() -> None:
    calls = (AggregateCall(registry.function("COUNT"), (), LONG, name="n"),)
    plain = Aggregate(ORDERS, (1,), calls)
    assert str(plain.row_type) == "ROW<`item` STRING NOT NULL, `n` BIGINT NOT NULL>"
    sets = Aggregate(ORDERS, (0, 1), calls, ((0, 1), (1,)))
    assert [field.type.is_nullable for field in sets.row_type.fields] == [True, False, False]


def test_inputs_are_replaced() -> None:
    join = Join(ORDERS, ORDERS, JoinKind.SEMI, TRUE, ("id", "item"))
    other = TableScan(("c", "d", "other"), None, ORDERS.row_type)
    assert join.with_inputs((ORDERS, other)).inputs == (ORDERS, other)
