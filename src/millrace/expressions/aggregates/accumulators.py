"""`accumulator`: the accumulator of an aggregate function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions import built_in
from millrace.expressions.aggregates.accumulator import ColumnAccumulator
from millrace.expressions.aggregates.bitmaps import (
    BitmapAccumulator,
    CountedBitmapAccumulator,
    XorBitmapAccumulator,
)
from millrace.expressions.aggregates.collecting import FirstLastOfAll
from millrace.expressions.aggregates.collections import (
    ArrayAggAccumulator,
    CollectAccumulator,
    JsonAggAccumulator,
    ListAggAccumulator,
)
from millrace.expressions.aggregates.extremes import ExtremeAccumulator
from millrace.expressions.aggregates.first_last import (
    FirstLastAccumulator,
    SingleValueAccumulator,
)
from millrace.expressions.aggregates.percentile import PercentileAccumulator
from millrace.expressions.aggregates.sums import (
    AvgAccumulator,
    CountAccumulator,
    SumAccumulator,
)
from millrace.expressions.aggregates.variance import VarianceAccumulator
from millrace.expressions.call_options import CallOptions, JsonClauses, NullTreatment, option
from millrace.expressions.function_definition import FunctionDefinition, FunctionResolutionError

__all__ = ["accumulator"]

_Make = Callable[[tuple[LogicalType, ...], LogicalType], ColumnAccumulator]
_UNIONS = (
    built_in.BITMAP_BUILD_AGG,
    built_in.BITMAP_BUILD_CARDINALITY_AGG,
    built_in.BITMAP_OR_AGG,
    built_in.BITMAP_OR_CARDINALITY_AGG,
)
_INTERSECTIONS = built_in.BITMAP_AND_AGG, built_in.BITMAP_AND_CARDINALITY_AGG
_ACCUMULATORS: dict[FunctionDefinition, _Make] = {
    built_in.COUNT: CountAccumulator,
    built_in.SUM: SumAccumulator,
    built_in.SUM0: lambda types, result: SumAccumulator(types, result, empty=0),
    built_in.AVG: AvgAccumulator,
    built_in.MIN: lambda types, result: ExtremeAccumulator(types, result, greatest=False),
    built_in.MAX: lambda types, result: ExtremeAccumulator(types, result, greatest=True),
    built_in.FIRST_VALUE: lambda types, result: FirstLastAccumulator(types, result, last=False),
    built_in.LAST_VALUE: lambda types, result: FirstLastAccumulator(types, result, last=True),
    built_in.SINGLE_VALUE: SingleValueAccumulator,
    built_in.COLLECT: CollectAccumulator,
    built_in.LISTAGG: ListAggAccumulator,
    built_in.PERCENTILE: PercentileAccumulator,
    **dict.fromkeys(_UNIONS, partial(BitmapAccumulator, intersection=False)),
    **dict.fromkeys(_INTERSECTIONS, partial(BitmapAccumulator, intersection=True)),
    built_in.BITMAP_XOR_AGG: XorBitmapAccumulator,
    built_in.BITMAP_XOR_CARDINALITY_AGG: XorBitmapAccumulator,
    built_in.VAR_POP: lambda types, result: VarianceAccumulator(types, result, False, False),
    built_in.VAR_SAMP: lambda types, result: VarianceAccumulator(types, result, True, False),
    built_in.STDDEV_POP: lambda types, result: VarianceAccumulator(types, result, False, True),
    built_in.STDDEV_SAMP: lambda types, result: VarianceAccumulator(types, result, True, True),
}


_RETRACTING: dict[FunctionDefinition, _Make] = {
    built_in.FIRST_VALUE: lambda types, result: FirstLastOfAll(types, result, last=False),
    built_in.LAST_VALUE: lambda types, result: FirstLastOfAll(types, result, last=True),
    **dict.fromkeys(_UNIONS, partial(CountedBitmapAccumulator, intersection=False)),
    **dict.fromkeys(_INTERSECTIONS, partial(CountedBitmapAccumulator, intersection=True)),
}
"""Accumulators that keep more if rows may be taken back."""
_WITH_OPTIONS: dict[
    FunctionDefinition,
    Callable[[tuple[LogicalType, ...], LogicalType, CallOptions | None], ColumnAccumulator],
] = {
    built_in.ARRAY_AGG: lambda types, result, options: ArrayAggAccumulator(
        types, result, options is NullTreatment.IGNORE
    ),
    built_in.JSON_ARRAYAGG: lambda types, result, options: JsonAggAccumulator(
        types, result, option(JsonClauses, options) or JsonClauses()
    ),
    built_in.JSON_OBJECTAGG: lambda types, result, options: JsonAggAccumulator(
        types, result, option(JsonClauses, options) or JsonClauses()
    ),
}


def accumulator(
    definition: FunctionDefinition,
    argument_types: tuple[LogicalType, ...],
    result_type: LogicalType,
    options: CallOptions | None = None,
    retracts: bool = False,
) -> ColumnAccumulator:
    """The accumulator of an aggregate function for arguments of the given types.

    Args:
        definition: the function.
        argument_types: types of the arguments.
        result_type: type of the value.
        options: options of the call: IGNORE for IGNORE NULLS, or the clauses of JSON functions.
        retracts: whether rows may be taken back.

    Raises:
        FunctionResolutionError: the function has no accumulator of its own, or cannot take rows
            back.
    """
    if not definition.built_in:
        assert definition.kernel is not None
        of_user: ColumnAccumulator = definition.kernel(argument_types, result_type, retracts)
        return of_user
    if definition in _WITH_OPTIONS:
        return _WITH_OPTIONS[definition](argument_types, result_type, options)
    make = (_RETRACTING.get(definition) if retracts else None) or _ACCUMULATORS.get(definition)
    if make is None:
        known = ", ".join(map(str, [*_ACCUMULATORS, *_WITH_OPTIONS]))
        raise FunctionResolutionError(
            f"{definition} cannot run here yet; aggregates that can are {known}"
        )
    return make(argument_types, result_type)
