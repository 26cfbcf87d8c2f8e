"""OVER aggregates: over the rows around each row. Flink: ``OverAggregate``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import groupby

from millrace.common.types.logical import logical_type as logical
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import AggregateCall, Cast, ValueLiteral
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.inference.time_attributes import ordered_by_time, time_attributes
from millrace.planner.relational.rel_node import Project
from millrace.planner.relational.stream_rel_nodes import OverAggregate, OverGroup, TimeAttribute
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.runtime.operator import Operator
from millrace.table_runtime.batch_over_aggregate import BatchOverAggregateOperator
from millrace.table_runtime.non_time_over_aggregate import NonTimeOverAggregateOperator
from millrace.table_runtime.over_aggregate import OverAggregateOperator, OverAggregateSpec
from millrace.table_runtime.over_frames import FrameBounds
from millrace.table_runtime.over_values import OverSpec

__all__ = ["translate_over_aggregate"]

_IN_STREAMS = (
    *(built_in.COUNT, built_in.SUM, built_in.AVG, built_in.MIN, built_in.MAX),
    *(built_in.FIRST_VALUE, built_in.LAST_VALUE, built_in.LISTAGG),
    *(built_in.VAR_POP, built_in.VAR_SAMP, built_in.STDDEV_POP, built_in.STDDEV_SAMP),
    *(built_in.COLLECT, built_in.ARRAY_AGG),
)
"""Aggregates over frames."""
_NUMBERING = (built_in.ROW_NUMBER, built_in.RANK, built_in.DENSE_RANK)
_IN_NUMBERS = (
    *(logical.IntegralType, logical.FloatType, logical.DoubleType, logical.DecimalType),
    *(logical.DateType, logical.TimeType, logical.TimestampType, logical.LocalZonedTimestampType),
)
"""Types of columns whose values have distances."""


@translates(OverAggregate)
def translate_over_aggregate(node: OverAggregate, translator: Translator) -> Transformation:
    """One operator per frame; each appends its aggregates to the columns of the one before.

    Raises:
        UnsupportedQueryError: a function or a frame is not supported.
    """
    if len(node.over) > 1:
        before = replace(node, over=node.over[:-1])
        return translator.translate(OverAggregate(before, node.over[-1:]))
    if translator.settings.batch:
        return _in_batch(node, translator)
    if not ordered_by_time(node):
        return _in_any_order(node, translator)
    runs = [tuple(run) for _, run in groupby(node.over[0].calls, _operator_of)]
    if len(runs) > 1:
        groups = tuple(replace(node.over[0], calls=run) for run in runs)
        return translator.translate(replace(node, over=groups))
    group, lags = node.over[0], _lags(node)
    number = _operator_of(group.calls[0])
    group = replace(group, rows=True, preceding=max(lags)) if lags else _numbered(group, number)
    time = time_attributes(node.input).get(group.order[0].index) if group.order else None
    rowtime = time is TimeAttribute.ROWTIME
    spec = OverAggregateSpec(
        node.input.row_type,
        group.partition,
        # in the order of processing time rows are as they come
        group.order if rowtime else group.order[1:],
        group.rows,
        group.preceding,
        group.calls,
        node.row_type,
        rowtime,
        lags,
        number is built_in.RANK,
        translator.state_ttl(),
    )
    names = node.input.row_type.names
    keys = ", ".join(names[index] for index in group.partition)
    calls = ", ".join(map(str, group.calls))
    return translator.stateful(
        "OverAggregate",
        partial(OverAggregateOperator, spec),
        [translator.keyed(node.input, group.partition)],
        state_signature(node, group, translator, by=(rowtime, lags, number.name if number else "")),
        f"OverAggregate(partitionBy=[{keys}], select=[{calls}])",
    )


def _in_batch(node: OverAggregate, translator: Translator) -> Transformation:
    group = node.over[0]
    valued = not group.rows and any((group.preceding, group.following))
    if valued and (len(group.order) != 1 or not _is_number(node, group.order[0].index)):
        raise node.refusal(
            "RANGE with a bound needs one column of numbers, dates or times to order by",
            group.calls[0].place,
        )
    return _of_all_rows(node, translator, partial(BatchOverAggregateOperator, _spec(node)))


def _in_any_order(node: OverAggregate, translator: Translator) -> Transformation:
    for call in node.over[0].calls:
        _require_streaming(call)
    before = translator.emits_update_before(node)
    operator = partial(NonTimeOverAggregateOperator, _spec(node), before, translator.state_ttl())
    return _of_all_rows(node, translator, operator)


def _spec(node: OverAggregate) -> OverSpec:
    group = node.over[0]
    bounds = FrameBounds(group.rows, group.preceding, group.following)
    return OverSpec(
        node.input.row_type, group.partition, group.order, bounds, group.calls, node.row_type
    )


def _of_all_rows(
    node: OverAggregate, translator: Translator, operator: Callable[[], Operator]
) -> Transformation:
    group = node.over[0]
    names = node.input.row_type.names
    keys = ", ".join(names[index] for index in group.partition)
    calls = ", ".join(map(str, group.calls))
    return translator.stateful(
        "OverAggregate",
        operator,
        [translator.keyed(node.input, group.partition)],
        state_signature(node, group, translator),
        f"OverAggregate(partitionBy=[{keys}], select=[{calls}])",
    )


def state_signature(
    node: OverAggregate, group: OverGroup, translator: Translator, by: tuple[object, ...] = ()
) -> StateSignature:
    """Signature of the state: rows of frames and waiting rows, with accumulators, per partition.

    Args:
        group: the frame.
        by: the time column, the distances of LAG and the numbering function, for operators that
            emit rows as time passes.
    """
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(
        rows,
        kept=rows.columns,
        partition=rows.at(group.partition),
        order=rows.order(group.order),
        frame=(group.rows, group.preceding, group.following),
        calls=rows.calls(group.calls),
        by=by,
    )


def _is_number(node: OverAggregate, index: int) -> bool:
    kind = node.input.row_type.fields[index].type
    return isinstance(kind, _IN_NUMBERS)


def _lags(node: OverAggregate) -> tuple[int, ...]:
    """Number of rows that each LAG looks back; empty if the calls are aggregates."""
    calls = node.over[0].calls
    if calls[0].function is not built_in.LAG:
        return ()
    return tuple(_lag(node, call) for call in calls)


def _lag(node: OverAggregate, call: AggregateCall) -> int:
    if len(call.arguments) == 1:
        return 1
    rows = node.input
    while isinstance(rows, OverAggregate):
        rows = rows.input
    given = rows.expressions[call.arguments[1]] if isinstance(rows, Project) else None
    while isinstance(given, Cast):
        given = given.operand
    value = given.value if isinstance(given, ValueLiteral) else None
    if isinstance(value, int) and value >= 0:
        return value
    raise node.refusal("LAG in stream mode takes a literal number of rows, from 0", call.place)


def _operator_of(call: AggregateCall) -> FunctionDefinition | None:
    """The function of a call if it has an operator of its own; None if it shares the common one."""
    return call.function if call.function in (built_in.LAG, *_NUMBERING) else None


def _numbered(group: OverGroup, number: FunctionDefinition | None) -> OverGroup:
    """The group with its numbering frame: ROW_NUMBER and RANK count rows, DENSE_RANK distinct
    values of the order."""
    if group.following != 0 or (group.preceding or 0) < 0:
        raise UnsupportedQueryError(
            "OVER RANGE FOLLOWING windows are not supported yet: in stream mode a frame ends with "
            "the current row",
            group.calls[0].place,
        )
    for call in group.calls:
        _require_streaming(call)
    if number is None:
        return group
    if number is built_in.DENSE_RANK and len(group.order) > 1:
        raise UnsupportedQueryError(
            "DENSE_RANK in stream mode must be ordered by a single time column",
            group.order[1].place,
        )
    counted = (group.order[0].index,) if number is built_in.DENSE_RANK else ()
    calls = tuple(
        replace(call, function=built_in.COUNT, arguments=counted, distinct=bool(counted))
        for call in group.calls
    )
    return replace(group, calls=calls, rows=not counted)


def _require_streaming(call: AggregateCall) -> None:
    known = (*_IN_STREAMS, *_NUMBERING, built_in.LAG)
    if call.function.built_in and call.function not in known:
        raise UnsupportedQueryError(
            f"{call.function} OVER cannot run in stream mode; {', '.join(map(str, known[:-1]))} "
            f"and {known[-1]} can; in batch mode every function of OVER does",
            call.place,
        )
