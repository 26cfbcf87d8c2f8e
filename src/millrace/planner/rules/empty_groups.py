"""Results of aggregate queries over no rows."""

from __future__ import annotations

import pyarrow as pa

from millrace.common.types.logical.logical_type import IntType, RowType
from millrace.expressions import built_in
from millrace.expressions.evaluation import calls_users, compiled, is_deterministic
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import (
    AggregateCall,
    FieldReference,
    OuterReference,
    ResolvedExpression,
    ValueLiteral,
)

__all__ = ["is_always_null", "value_of_nothing"]

_OF_NOTHING: dict[FunctionDefinition, int | str | None] = {
    **dict.fromkeys(
        (
            *(built_in.SUM, built_in.AVG, built_in.MIN, built_in.MAX),
            *(built_in.STDDEV_POP, built_in.STDDEV_SAMP, built_in.VAR_POP, built_in.VAR_SAMP),
            *(built_in.FIRST_VALUE, built_in.LAST_VALUE, built_in.SINGLE_VALUE),
            *(built_in.ARRAY_AGG, built_in.LISTAGG, built_in.PERCENTILE),
        )
    ),
    built_in.COUNT: 0,
    built_in.SUM0: 0,
    built_in.JSON_OBJECTAGG: "{}",
    built_in.JSON_ARRAYAGG: "[]",
}
_ONE_ROW = pa.record_batch({"x": pa.array([0], pa.int32())})
_ROW_TYPE = RowType.of(("x", IntType()))


def value_of_nothing(call: AggregateCall) -> ValueLiteral | None:
    """Value of an aggregate over no rows; None if only the aggregate's accumulator can compute it,
    as with user functions.
    """
    if call.function not in _OF_NOTHING:
        return None
    value = _OF_NOTHING[call.function]
    return ValueLiteral(value, call.type if value is not None else call.type.with_nullable(True))


def is_always_null(expression: ResolvedExpression) -> bool:
    """Whether an expression is known to be NULL for every row."""
    if isinstance(expression, ValueLiteral):
        return expression.value is None
    if _reads(expression) or calls_users(expression) or not is_deterministic(expression):
        return False
    try:
        return not compiled(expression, _ROW_TYPE)(_ONE_ROW)[0].is_valid
    except Exception:
        return False  # it fails for the first row that asks for it


def _reads(expression: ResolvedExpression) -> bool:
    own = isinstance(expression, FieldReference | OuterReference)
    return own or any(map(_reads, expression.children()))
