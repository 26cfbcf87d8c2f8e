"""`accumulator`: the accumulator of an aggregate function, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import ColumnAccumulator
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
from millrace.expressions.function_definition import FunctionDefinition, FunctionResolutionError

__all__ = ["accumulator"]

_ACCUMULATORS: dict[str, Callable[[tuple[LogicalType, ...], LogicalType], ColumnAccumulator]] = {
    "COUNT": CountAccumulator,
    "SUM": SumAccumulator,
    "SUM0": lambda types, result: SumAccumulator(types, result, empty=0),
    "AVG": AvgAccumulator,
    "MIN": lambda types, result: ExtremeAccumulator(types, result, greatest=False),
    "MAX": lambda types, result: ExtremeAccumulator(types, result, greatest=True),
    "FIRST_VALUE": lambda types, result: FirstLastAccumulator(types, result, last=False),
    "LAST_VALUE": lambda types, result: FirstLastAccumulator(types, result, last=True),
    "SINGLE_VALUE": SingleValueAccumulator,
    "COLLECT": CollectAccumulator,
    "LISTAGG": ListAggAccumulator,
    "PERCENTILE": PercentileAccumulator,
    "VAR_POP": lambda types, result: VarianceAccumulator(types, result, False, False),
    "VAR_SAMP": lambda types, result: VarianceAccumulator(types, result, True, False),
    "STDDEV_POP": lambda types, result: VarianceAccumulator(types, result, False, True),
    "STDDEV_SAMP": lambda types, result: VarianceAccumulator(types, result, True, True),
}


_RETRACTING: dict[str, Callable[[tuple[LogicalType, ...], LogicalType], ColumnAccumulator]] = {
    "FIRST_VALUE": lambda types, result: FirstLastOfAll(types, result, last=False),
    "LAST_VALUE": lambda types, result: FirstLastOfAll(types, result, last=True),
}
"""Those that keep more where rows may be taken back."""
_WITH_PAYLOAD: dict[
    str, Callable[[tuple[LogicalType, ...], LogicalType, Any], ColumnAccumulator]
] = {
    "ARRAY_AGG": lambda types, result, nulls: ArrayAggAccumulator(types, result, nulls == "IGNORE"),
    "JSON_ARRAYAGG": lambda types, result, clauses: JsonAggAccumulator(
        types, result, clauses or ()
    ),
    "JSON_OBJECTAGG": lambda types, result, clauses: JsonAggAccumulator(
        types, result, clauses or ()
    ),
}


def accumulator(
    name: str,
    argument_types: tuple[LogicalType, ...],
    result_type: LogicalType,
    payload: Any = None,
    retracts: bool = False,
) -> ColumnAccumulator:
    """The accumulator of a function for arguments of these types.

    Args:
        name: of the function.
        argument_types: of its arguments.
        result_type: of its value.
        payload: of the call: IGNORE of IGNORE NULLS, the clauses of JSON functions, or the
            definition of a function of the user.
        retracts: whether rows may be taken back.

    Raises:
        FunctionResolutionError: the function has no accumulator of its own, or cannot take rows
            back.
    """
    if isinstance(payload, FunctionDefinition):
        assert payload.kernel is not None
        of_user: ColumnAccumulator = payload.kernel(argument_types, result_type, retracts)
        return of_user
    if name in _WITH_PAYLOAD:
        return _WITH_PAYLOAD[name](argument_types, result_type, payload)
    make = (_RETRACTING.get(name) if retracts else None) or _ACCUMULATORS.get(name)
    if make is None:
        known = ", ".join([*_ACCUMULATORS, *_WITH_PAYLOAD])
        raise FunctionResolutionError(
            f"{name} cannot run here yet; aggregates that can are {known}"
        )
    return make(argument_types, result_type)
