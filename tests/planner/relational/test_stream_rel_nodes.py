"""Nodes that only streams have: their row types."""

from __future__ import annotations

from millrace.common.types.logical.logical_type import BigIntType, RowType
from millrace.expressions.resolved import SortKey
from millrace.planner.relational.rel_node import TableScan
from millrace.planner.relational.stream_rel_nodes import Rank, RankKind

SCAN = TableScan(("t",), None, RowType.of(("id", BigIntType())))


def test_the_rank_is_a_column_if_asked_for() -> None:
    top = Rank(SCAN, RankKind.ROW_NUMBER, (), (SortKey(0),), 1, 3)
    assert top.row_type.names == ("id",)
    numbered = Rank(SCAN, RankKind.ROW_NUMBER, (), (SortKey(0),), 1, 3, rank_name="n")
    assert numbered.row_type.names == ("id", "n")
