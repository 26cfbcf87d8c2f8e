"""Trees become transformations that run, under uids that stay."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.datastream import StreamExecutionEnvironment
from millrace.expressions.resolved import ValueLiteral
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import TranslationSettings, Translator
from millrace.planner.relational.rel_node import (
    RelNode,
    SetKind,
    SetOperation,
    TableFunctionKind,
    TableFunctionScan,
    Values,
)
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
    """The rows of a tree, run in this process."""
    rows: list[tuple[Any, ...]] = []
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        end = Translator(TranslationSettings()).translate(CollectSink(node))

        def take(payloads: list[bytes], subtask: int, subtasks: int) -> None:
            for payload in payloads:
                data, _ = collected_batch(payload)
                rows.extend(zip(*(column.to_pylist() for column in data.columns), strict=True))

        env.add_result_handler(end, take)
        env.add_sink_transformation(end)
        env.execute()
    return rows


def test_values_keep_their_order() -> None:
    assert collected(values((1, "a"), (2, None), (3, "c"))) == [(1, "a"), (2, None), (3, "c")]


def test_union_has_the_rows_of_all_inputs() -> None:
    union = SetOperation(SetKind.UNION, True, (values((1, "a")), values((2, "b"), (1, "a"))), TYPE)
    assert sorted(collected(union)) == [(1, "a"), (1, "a"), (2, "b")]


def test_a_node_that_occurs_twice_is_translated_once() -> None:
    shared = values((1, "a"))
    translator = Translator(TranslationSettings())
    union = SetOperation(SetKind.UNION, True, (shared, shared), TYPE)
    made = translator.translate(union)
    assert made.inputs[0].transformation is made.inputs[1].transformation
    assert collected(union) == [(1, "a"), (1, "a")]


def test_uids_are_the_same_in_every_translation_and_differ_within_one() -> None:
    def uids() -> list[str | None]:
        union = SetOperation(
            SetKind.UNION, True, (values((1, "a")), values((1, "a")), values((2, "b"))), TYPE
        )
        made = Translator(TranslationSettings()).translate(union)
        return [made.uid, *(each.transformation.uid for each in made.inputs)]

    first = uids()
    assert first == uids()
    assert len(set(first)) == 4


def test_the_input_of_an_operator_decides_its_uid() -> None:
    def uid(node: RelNode) -> str | None:
        translator = Translator(TranslationSettings())
        rows = translator.input(node)
        signature = StateSignature.of(translator.provenance(rows), same=True)
        return translator.stateful("Keep", lambda: None, [rows], signature).uid  # type: ignore[arg-type,return-value]

    assert uid(values((1, "a"))) == uid(values((1, "a"))) != uid(values((2, "b")))


def test_what_has_no_translation_is_refused_by_name() -> None:
    node = TableFunctionScan(TableFunctionKind.UNNEST, (), TYPE)
    with pytest.raises(JobDefinitionError, match="a TableFunctionScan cannot run here yet"):
        Translator(TranslationSettings()).translate(node)
