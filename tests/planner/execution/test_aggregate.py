"""GROUP BY of a relational tree, run in this process."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.datastream import StreamExecutionEnvironment
from millrace.expressions import built_in, registry
from millrace.expressions.resolved import AggregateCall, ValueLiteral
from millrace.planner.execution.translation import TranslationSettings, Translator
from millrace.planner.relational.rel_node import Aggregate, RelNode, Values
from millrace.planner.relational.sink_nodes import CollectSink
from millrace.table_runtime.collect import collected_batch
from millrace.testing import run_local

TYPE = RowType.of(("id", BigIntType()), ("name", VarCharType()))


def values(*rows: tuple[Any, Any]) -> Values:
    literals = tuple(
        (ValueLiteral(number, BigIntType()), ValueLiteral(name, VarCharType()))
        for number, name in rows
    )
    return Values(literals, TYPE)


def collected(node: RelNode) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        end = Translator(TranslationSettings(parallelism=2)).translate(CollectSink(node))

        def take(payloads: list[bytes], subtask: int, subtasks: int) -> None:
            for payload in payloads:
                data, _ = collected_batch(payload)
                rows.extend(zip(*(column.to_pylist() for column in data.columns), strict=True))

        env.add_result_handler(end, take)
        env.add_sink_transformation(end)
        env.execute()
    return rows


CALLS = (
    AggregateCall(registry.function("COUNT"), (), BigIntType(nullable=False), name="n"),
    AggregateCall(registry.function("SUM"), (0,), BigIntType(), name="total"),
)
ROWS = values((1, "a"), (2, None), (3, "a"), (None, None))


def test_a_row_per_group() -> None:
    found = collected(Aggregate(ROWS, (1,), CALLS))
    assert sorted(found, key=str) == [("a", 2, 4), (None, 2, 2)]


def test_an_aggregate_without_accumulator_is_refused_before_the_job_starts() -> None:
    calls = (AggregateCall(registry.function("RANK"), (), BigIntType()),)
    with pytest.raises(JobDefinitionError, match="RANK cannot run here yet"):
        Translator(TranslationSettings()).translate(CollectSink(Aggregate(ROWS, (1,), calls)))


def test_one_group_of_all_rows() -> None:
    assert collected(Aggregate(ROWS, (), CALLS)) == [(4, 6)]


def test_distinct_rows_are_groups_without_aggregates() -> None:
    assert sorted(collected(Aggregate(ROWS, (1,), ())), key=str) == [("a",), (None,)]


def test_grouping_sets_keep_apart_what_is_null_and_what_a_set_lacks() -> None:
    grouping = AggregateCall(built_in.GROUPING, (0, 1), BigIntType(nullable=False), name="g")
    calls = (*CALLS, grouping)
    node = Aggregate(ROWS, (0, 1), calls, ((0, 1), (1,), ()))
    found = collected(node)
    expected = [(1, "a", 1, 1, 0), (2, None, 1, 2, 0), (3, "a", 1, 3, 0)]
    expected += [(None, None, 1, None, 0)]
    expected += [(None, "a", 2, 4, 2), (None, None, 2, 2, 2), (None, None, 4, 6, 3)]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_grouping_without_grouping_sets_is_zero() -> None:
    grouping = AggregateCall(built_in.GROUPING, (1,), BigIntType(nullable=False), name="g")
    found = collected(Aggregate(ROWS, (1,), (grouping,)))
    assert sorted(found, key=str) == [("a", 0), (None, 0)]
