"""Functions of users: per row, per batch of pandas or Arrow, and what is said when they fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millrace.common.types.logical.logical_type import BigIntType, RowType
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionResolutionError
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference
from millrace.expressions.scalar_functions import scalar_function

VALUE = FieldReference(0, BigIntType(), "v")
ROW = RowType.of(("v", BigIntType()))
BATCH = pa.record_batch({"v": pa.array([1, 2, None], pa.int64())})


def computed(function: Callable[..., Any], func_type: str) -> list[Any]:
    definition = scalar_function("PLUS", function, "BIGINT", func_type)
    call = resolve_call(definition, (VALUE,))
    found: list[Any] = compiled(call, ROW)(BATCH).to_pylist()
    return found


def test_a_general_function_sees_each_row() -> None:
    assert computed(lambda v: None if v is None else v + 1, "general") == [2, 3, None]


def test_vectorised_functions_see_the_batch_once() -> None:
    calls = []

    def add(values: Any) -> Any:
        calls.append(len(values))
        return values + 1 if not isinstance(values, pa.Array) else pc.add(values, 1)

    assert computed(add, "arrow") == [2, 3, None]
    assert computed(add, "pandas") == [2, 3, None]
    assert calls == [3, 3]


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(TypeError) as failed:
        computed(lambda v: v + 1, "general")
    assert failed.value.__notes__ == [
        "for the arguments (None)",
        "in the function PLUS, called in a statement",
    ]
    with pytest.raises(EvaluationError, match="1 values for 3 rows"):
        computed(lambda v: v.slice(0, 1), "arrow")
    with pytest.raises(FunctionResolutionError, match="not 'fast'"):
        scalar_function("PLUS", len, "BIGINT", "fast")
