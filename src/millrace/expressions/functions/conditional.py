"""Conditional functions (Flink docs, "System (Built-in) Functions", Conditional).

A branch that may fail is computed only for the rows that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.cast import caster
from millrace.expressions.columns import (
    CallSite,
    Datum,
    ExpressionNode,
    Frame,
    array_of,
    is_scalar,
)
from millrace.expressions.function_definition import CallContext, FunctionDefinition
from millrace.expressions.functions.comparison import comparable, equality
from millrace.expressions.parameters import CHARACTERS
from millrace.expressions.result_types import common, forced_nullable, merged_arguments
from millrace.expressions.type_merging import common_type

__all__ = ["CONDITIONAL"]

CATEGORY = "Conditional"


def _case(site: CallSite, frame: Frame, *arguments: ExpressionNode) -> Datum:
    conditions, values = arguments[:-1:2], (*arguments[1::2], arguments[-1])
    if any(argument.may_fail for argument in arguments[1:]):
        return _by_rows(site, frame, conditions, values)
    tests = [_true(condition(frame)) for condition in conditions]
    made = values[-1](frame)
    for test, value in zip(reversed(tests), reversed(values[:-1]), strict=True):
        if is_scalar(test):
            made = value(frame) if test.as_py() else made
        else:
            made = pc.if_else(test, value(frame), made)
    return made


def _true(condition: Datum) -> Datum:
    if is_scalar(condition):
        return condition if condition.is_valid else pa.scalar(False)
    return condition.fill_null(False) if condition.null_count else condition


def _by_rows(
    site: CallSite,
    frame: Frame,
    conditions: Sequence[ExpressionNode],
    values: Sequence[ExpressionNode],
) -> Datum:
    """Value of each branch, evaluated only for its own rows and put together in the order of the
    rows."""
    pending, left = np.arange(frame.length), frame
    taken: list[np.ndarray] = []
    parts: list[pa.Array] = []
    for condition, value in zip(conditions, values[:-1], strict=True):
        mask = array_of(_true(condition(left)), left.length).to_numpy(zero_copy_only=False)
        chosen = np.flatnonzero(mask)
        if len(chosen):
            parts.append(array_of(value(left.narrowed(chosen)), len(chosen)))
            taken.append(pending[chosen])
            others = np.flatnonzero(~mask)
            pending, left = pending[others], left.narrowed(others)
        if not len(pending):
            break
    if len(pending):
        parts.append(array_of(values[-1](left), len(pending)))
        taken.append(pending)
    if not parts:
        return pa.array([], site.arrow)
    order = np.empty(frame.length, np.int64)
    order[np.concatenate(taken)] = np.arange(frame.length)
    whole = pa.concat_arrays([part.cast(site.arrow) for part in parts])
    return whole.take(pa.array(order))


def _case_types(context: CallContext) -> tuple[LogicalType, ...] | None:
    """Types of CASE's arguments: BOOLEAN for conditions, a common type for values; the last one
    is ELSE."""
    types = context.types
    boolean = (logical.BooleanType, logical.NullType)
    if len(types) % 2 == 0 or not all(isinstance(k, boolean) for k in types[:-1:2]):
        return None
    kind = common_type((*types[1::2], types[-1]))
    if kind is None:
        return None
    cast = [kind.with_nullable(k.is_nullable or isinstance(k, logical.NullType)) for k in types]
    cast[:-1:2] = [logical.BooleanType(nullable=k.is_nullable) for k in types[:-1:2]]
    return tuple(cast)


def _case_result(context: CallContext) -> LogicalType:
    kind = common_type((*context.types[1::2], context.types[-1]))
    assert kind is not None
    return kind


def _coalesce(site: CallSite, frame: Frame, *arguments: ExpressionNode) -> Datum:
    if not any(argument.may_fail for argument in arguments[1:]):
        values = [argument(frame) for argument in arguments]
        return pc.coalesce(*values) if len(values) > 1 else values[0]
    made = array_of(arguments[0](frame), frame.length)
    for argument in arguments[1:]:
        missing = pc.is_null(made)
        rows = np.flatnonzero(missing.to_numpy(zero_copy_only=False))
        if not len(rows):
            break
        part = array_of(argument(frame.narrowed(rows)), len(rows))
        # Arrow puts values into columns of any type only by taking them
        places = np.arange(frame.length)
        places[rows] = frame.length + np.arange(len(rows))
        made = pa.concat_arrays([made, part.cast(made.type)]).take(pa.array(places))
    return made


def _coalesce_result(context: CallContext) -> LogicalType:
    return common(context).with_nullable(all(kind.is_nullable for kind in context.types))


def _nullif(site: CallSite, value: Datum, other: Datum) -> Datum:
    kind, compared = site.argument_types
    if isinstance(kind, logical.NullType):
        return value
    read = isinstance(kind, CHARACTERS) and not isinstance(compared, CHARACTERS)
    equal = equality(caster(kind, compared, site.session)(value) if read else value, other)
    same = equal.fill_null(False) if not is_scalar(equal) else pa.scalar(bool(equal.as_py()))
    return pc.if_else(same, pa.scalar(None, value.type), value)


def _nullif_types(context: CallContext) -> tuple[LogicalType, ...] | None:
    """Types of NULLIF's arguments: the first keeps its type, the second gets the type that ``=``
    compares it in."""
    compared = comparable(CallContext("=", context.types, context.literals))
    return compared and (context.types[0], compared[1])


def _extreme(compare: Callable[..., Datum], greatest: bool) -> Callable[..., Datum]:
    """Function that returns the greatest or least of its arguments; NULL if one of them is NULL,
    as in Flink."""

    def extreme(site: CallSite, *values: Datum) -> Datum:
        made = values[0]
        if pa.types.is_null(made.type):
            return made
        for value in values[1:]:
            first = compare(made, value)
            if pa.types.is_floating(made.type):  # NaN is the greatest number
                first = pc.if_else(pc.is_nan(made if greatest else value), True, first)
            made = pc.if_else(first, made, value)
        return made

    return extreme


def _ordered_types(context: CallContext) -> tuple[LogicalType, ...] | None:
    """The common type of the arguments, if its values have an order."""
    types = merged_arguments()(context)
    return None if types is None or types[0].children() else types


def _if_types(context: CallContext) -> tuple[LogicalType, ...] | None:
    return merged_arguments(1)(context)


def _if_result(context: CallContext) -> LogicalType:
    kind = common_type(context.types[1:])
    assert kind is not None
    return kind.with_nullable(kind.is_nullable or context.types[0].is_nullable)


CONDITIONAL: tuple[FunctionDefinition, ...] = (
    FunctionDefinition(
        "CASE",
        (("<ANY>", "<ANY>", "<ANY>*"),),
        _case_result,
        _case,
        lazy=True,
        adjust=_case_types,
        category=CATEGORY,
        text="The value behind the first condition that is TRUE, or else the value of ELSE.",
        examples=(("CASE WHEN 1 = 2 THEN 'a' ELSE 'b' END", "b"),),
    ),
    FunctionDefinition(
        "IF",
        (("BOOLEAN", "<ANY>", "<ANY>"),),
        _if_result,
        _case,
        lazy=True,
        adjust=_if_types,
        category=CATEGORY,
        text="The second argument if the first is TRUE, otherwise the third.",
        examples=(("IF(5 > 3, 5, 3)", "5"),),
    ),
    FunctionDefinition(
        "COALESCE",
        (("<ANY>", "<ANY>*"),),
        _coalesce_result,
        _coalesce,
        lazy=True,
        adjust=merged_arguments(),
        category=CATEGORY,
        text="The first argument that is not NULL.",
        examples=(("COALESCE(NULL, 5)", "5"),),
    ),
    FunctionDefinition(
        "IFNULL",
        (("<ANY>", "<ANY>"),),
        _coalesce_result,
        _coalesce,
        lazy=True,
        adjust=merged_arguments(),
        category=CATEGORY,
        text="The first argument, or the second if the first is NULL.",
        examples=(("IFNULL(CAST(NULL AS INT), 5)", "5"),),
    ),
    FunctionDefinition(
        "NULLIF",
        (("<ANY>", "<ANY>"),),
        forced_nullable(lambda context: context.types[0]),
        _nullif,
        adjust=_nullif_types,
        may_fail=True,
        category=CATEGORY,
        text="NULL if both arguments are equal, otherwise the first.",
        examples=(("NULLIF(5, 0)", "5"),),
    ),
    FunctionDefinition(
        "GREATEST",
        (("<ANY>", "<ANY>*"),),
        common,
        _extreme(pc.greater_equal, greatest=True),
        adjust=_ordered_types,
        category=CATEGORY,
        text="The greatest argument; NULL if any argument is NULL.",
        examples=(("GREATEST(1, 3, 2)", "3"),),
    ),
    FunctionDefinition(
        "LEAST",
        (("<ANY>", "<ANY>*"),),
        common,
        _extreme(pc.less_equal, greatest=False),
        adjust=_ordered_types,
        category=CATEGORY,
        text="The least argument; NULL if any argument is NULL.",
        examples=(("LEAST('b', 'a', 'c')", "a"),),
    ),
)
