"""Evaluation over batches: three-valued logic, lazy branches, calcs and their transport."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.logical.logical_type import (
    BooleanType,
    DecimalType,
    DoubleType,
    IntType,
    LogicalType,
    RowType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.evaluation import CompiledCalc, compiled
from millrace.expressions.evaluation_error import EvaluationError, ValueCountError
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.registry import resolve_call, resolve_cast
from millrace.expressions.resolved import FieldReference, ResolvedExpression, ValueLiteral
from millrace.expressions.result_types import always

Read = Callable[[str], ResolvedExpression]


def field(index: int, kind: LogicalType) -> FieldReference:
    return FieldReference(index, kind, f"f{index}")


def number(value: int) -> ValueLiteral:
    return ValueLiteral(value, IntType(nullable=False))


def columns(kind: LogicalType, *values: list[Any]) -> tuple[RowType, pa.RecordBatch]:
    row = RowType.of(*((f"f{i}", kind) for i in range(len(values))))
    schema = arrow_schema(row)
    arrays = [pa.array(v, s.type) for v, s in zip(values, schema, strict=True)]
    return row, pa.record_batch(arrays, schema=schema)


def computed(expression: ResolvedExpression, kind: LogicalType, *values: list[Any]) -> list[Any]:
    row, batch = columns(kind, *values)
    made = compiled(expression, row)(batch)
    assert len(made) == batch.num_rows
    found: list[Any] = made.to_pylist()
    return found


TRUTH = st.sampled_from([True, False, None])


def conjunction(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


@given(st.lists(st.tuples(TRUTH, TRUTH), max_size=12))
def test_logic_has_three_values(pairs: list[tuple[bool | None, bool | None]]) -> None:
    left, right = [p[0] for p in pairs], [p[1] for p in pairs]
    fields = field(0, BooleanType()), field(1, BooleanType())
    flipped = [(None if a is None else not a, None if b is None else not b) for a, b in pairs]
    either = [None if (c := conjunction(*p)) is None else not c for p in flipped]
    assert computed(resolve_call(registry.function("AND"), fields), BooleanType(), left, right) == [
        conjunction(*pair) for pair in pairs
    ]
    assert (
        computed(resolve_call(registry.function("OR"), fields), BooleanType(), left, right)
        == either
    )
    distinct = resolve_call(registry.function("IS DISTINCT FROM"), fields)
    assert computed(distinct, BooleanType(), left, right) == [a is not b for a, b in pairs]


INTS = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1), st.integers(-3, 3))


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


@given(st.lists(st.tuples(INTS, INTS), max_size=12))
def test_integers_are_javas(pairs: list[tuple[int | None, int | None]]) -> None:
    fields = field(0, IntType()), field(1, IntType())
    guarded = (fields[0], resolve_call(registry.function("NULLIF"), (fields[1], number(0))))

    def quotient(a: int, b: int) -> int:
        return wrapped(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))

    def expected(operation: Callable[[int, int], int], zero: bool = True) -> list[int | None]:
        return [
            None if a is None or b is None or (b == 0 and not zero) else operation(a, b)
            for a, b in pairs
        ]

    left, right = [p[0] for p in pairs], [p[1] for p in pairs]
    for name, operation in (
        ("+", lambda a, b: wrapped(a + b)),
        ("-", lambda a, b: wrapped(a - b)),
        ("*", lambda a, b: wrapped(a * b)),
    ):
        assert computed(
            resolve_call(registry.function(name), fields), IntType(), left, right
        ) == expected(operation)
    for name, operation in (("/", quotient), ("%", lambda a, b: wrapped(a - quotient(a, b) * b))):
        made = computed(resolve_call(registry.function(name), guarded), IntType(), left, right)
        assert made == expected(operation, zero=False)


DECIMALS = st.one_of(st.none(), st.decimals(-(10**6), 10**6, places=3))


@settings(max_examples=60)
@given(st.lists(st.tuples(DECIMALS, DECIMALS), max_size=8))
def test_decimals_are_exact_then_rounded_half_up(
    pairs: list[tuple[Decimal | None, Decimal | None]],
) -> None:
    kind = DecimalType(20, 3)
    fields = field(0, kind), field(1, kind)
    guarded = (fields[0], resolve_call(registry.function("NULLIF"), (fields[1], number(0))))
    left, right = [p[0] for p in pairs], [p[1] for p in pairs]
    for name, arguments in (("+", fields), ("-", fields), ("*", fields), ("/", guarded)):
        call = resolve_call(registry.function(name), arguments)
        assert isinstance(call.type, DecimalType)
        step = Decimal(1).scaleb(-call.type.scale)
        expected = []
        for a, b in pairs:
            if a is None or b is None or (name == "/" and not b):
                expected.append(None)
                continue
            exact = {"+": a + b, "-": a - b, "*": a * b}.get(name)
            value = a / b if exact is None else exact
            expected.append(value.quantize(step, ROUND_HALF_UP))
        assert computed(call, kind, left, right) == expected


@given(st.lists(INTS, max_size=12))
def test_integers_survive_text(values: list[int | None]) -> None:
    text = resolve_cast(field(0, IntType()), VarCharType())
    back = resolve_cast(text, IntType())
    assert computed(back, IntType(), values) == values


def test_a_branch_is_computed_only_for_its_rows() -> None:
    one, two = field(0, IntType()), field(1, IntType())
    ratio = resolve_call(registry.function("/"), (one, two))
    nothing = resolve_call(registry.function("="), (two, number(0)))
    case = resolve_call(registry.function("CASE"), (nothing, number(-1), ratio))
    assert computed(case, IntType(), [6, 6, None], [0, 2, 3]) == [-1, 3, None]
    some = resolve_call(registry.function("<>"), (two, number(0)))
    both = resolve_call(
        registry.function("AND"), (some, resolve_call(registry.function(">"), (ratio, number(2))))
    )
    assert computed(both, IntType(), [6, 6, 2], [0, 2, 1]) == [False, True, False]
    first = resolve_call(registry.function("COALESCE"), (one, ratio))
    assert computed(first, IntType(), [6, None], [0, 2]) == [6, None]


def test_division_by_zero_says_what_to_do() -> None:
    with pytest.raises(EvaluationError, match="by zero: guard it with NULLIF"):
        computed(
            resolve_call(registry.function("/"), (field(0, IntType()), number(0))), IntType(), [1]
        )


def test_a_calc_filters_before_it_projects() -> None:
    row, batch = columns(IntType(), [1, 2, 3, None], [0, 1, 0, 1])
    ratio = resolve_call(registry.function("/"), (field(0, IntType()), field(1, IntType())))
    condition = resolve_call(registry.function("="), (field(1, IntType()), number(1)))
    calc = pickle.loads(pickle.dumps(CompiledCalc((ratio, field(0, IntType())), condition, row)))
    arrays, rows = calc(batch)
    assert [each.to_pylist() for each in arrays] == [[2, None], [2, None]]
    assert rows.tolist() == [1, 3]
    arrays, rows = calc(batch.slice(0, 0))
    assert [len(each) for each in arrays] == [0, 0]


def test_a_constant_is_a_column_of_the_batchs_length(read: Read) -> None:
    row, batch = columns(IntType(), [1, 2])
    evaluator = pickle.loads(pickle.dumps(compiled(read("1 + 2 * 3"), row)))
    assert evaluator(batch).to_pylist() == [7, 7]
    assert evaluator(batch).type == pa.int32()


def test_a_kernel_that_gives_another_length_is_named() -> None:
    kernel = FunctionDefinition(
        "HALVED",
        (("INT",),),
        always("INT"),
        lambda site, datum: datum[: len(datum) // 2],
        built_in=False,
    )
    call = resolve_call(kernel, (field(0, IntType()),))
    with pytest.raises(ValueCountError, match="HALVED gave 1 values for 2 rows"):
        computed(call, IntType(), [1, 2])


TEXTS = st.sampled_from([None, "", "a", "b"])


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=6))
def test_concat_ws_has_a_value_for_each_row(rows: list[tuple[str | None, ...]]) -> None:
    fields = tuple(field(index, VarCharType()) for index in range(3))
    made = computed(
        resolve_call(registry.function("CONCAT_WS"), fields),
        VarCharType(),
        *([row[index] for row in rows] for index in range(3)),
    )
    assert made == [
        None if by is None else by.join(text for text in texts if text is not None)
        for by, *texts in rows
    ]


def test_zeros_with_another_sign_are_other_arguments() -> None:
    """Calls of several columns are made once for equal arguments; these are not equal."""
    kind = DoubleType()
    call = resolve_call(registry.function("JSON_ARRAY"), (field(0, kind), field(1, kind)))
    assert computed(call, kind, [0.0, -0.0, 0.0], [1.0, 1.0, 1.0]) == [
        "[0.0,1.0]",
        "[-0.0,1.0]",
        "[0.0,1.0]",
    ]
