"""GROUP BY: an operator that keeps the accumulators of each group. Flink: ``GroupAggregate``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions import built_in
from millrace.expressions.aggregates.accumulators import accumulator
from millrace.expressions.function_definition import FunctionResolutionError
from millrace.expressions.resolved import AggregateCall
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.rel_node import Aggregate
from millrace.planner.relational.unsupported_query import UnsupportedQueryError
from millrace.table_runtime.expand import ExpandOperator, expanded_type
from millrace.table_runtime.group_aggregate import GroupAggregateOperator, GroupAggregateSpec

__all__ = ["refuse_missing", "translate_aggregate"]


@translates(Aggregate)
def translate_aggregate(node: Aggregate, translator: Translator) -> Transformation:
    """The operator of a GROUP BY; rows go to the subtask of their group."""
    repeatable = translator.repeatable(node)
    if node.grouping_sets is None and _flags(node):
        node = replace(node, grouping_sets=(node.groups,))
    fields = node.input.row_type.fields
    input_type, positions, used = node.input.row_type, node.groups, node.calls
    if node.grouping_sets is not None:
        input_type = expanded_type(node.input.row_type, node.groups, _flags(node))
        behind = len(fields) + len(node.groups) + 1
        positions = tuple(range(len(fields), behind))
        # a group has one value of GROUPING
        places = iter(range(behind, len(input_type.fields)))
        used = tuple(
            replace(call, function=built_in.MAX, arguments=(next(places),))
            if _is_flag(call)
            else call
            for call in node.calls
        )
    rows = translator.keyed(node.input, positions)
    if node.grouping_sets is not None:
        rows = replace(rows, transformation=_expanded(node, translator))
    refuse_missing(used, input_type, not translator.insert_only(node.input))
    spec = GroupAggregateSpec(
        input_type,
        positions,
        used,
        node.row_type,
        retracts=not translator.insert_only(node.input),
        emits_update_before=translator.emits_update_before(node),
        state_ttl=translator.state_ttl(node.state_ttl),
        batch=translator.settings.batch,
        hidden=int(node.grouping_sets is not None),
        repeatable=repeatable,
    )
    groups = ", ".join(fields[index].name for index in node.groups)
    calls = ", ".join(map(str, node.calls))
    return translator.stateful(
        "GroupAggregate",
        partial(GroupAggregateOperator, spec),
        [rows],
        signature=state_signature(node, spec.retracts, translator),
        description=f"GroupAggregate(groupBy=[{groups}], select=[{calls}])",
    )


def state_signature(node: Aggregate, retracts: bool, translator: Translator) -> StateSignature:
    """Signature of the state: accumulators of the calls by group."""
    rows = translator.provenance(translator.input(node.input))
    sets = (
        None
        if node.grouping_sets is None
        else [rows.at(grouping) for grouping in node.grouping_sets]
    )
    return StateSignature.of(
        rows,
        groups=rows.at(node.groups),
        calls=rows.calls(node.calls),
        sets=sets,
        retracts=retracts,
    )


def refuse_missing(
    calls: tuple[AggregateCall, ...], input_type: RowType, retracts: bool = False
) -> None:
    """Refuse aggregates that no operator can compute, before the job starts.

    Raises:
        UnsupportedQueryError: there is one.
    """
    for call in calls:
        types = tuple(input_type.fields[index].type for index in call.arguments)
        try:
            accumulator(call.function, types, call.type, call.options, retracts)
        except FunctionResolutionError as error:
            raise UnsupportedQueryError(str(error), call.place) from None


def _expanded(node: Aggregate, translator: Translator) -> Transformation:
    """The rows, repeated once per grouping set."""
    assert node.grouping_sets is not None
    sets = [
        [node.input.row_type.fields[i].name for i in grouping] for grouping in node.grouping_sets
    ]
    rows = translator.input(node.input)
    return translator.stateless(
        "Expand",
        partial(ExpandOperator, node.input.row_type, node.groups, node.grouping_sets, _flags(node)),
        [rows],
        # only the aggregate above reads it, which knows the sets
        translator.provenance(rows),
        f"Expand(sets=[{sets}])",
    )


def _is_flag(call: AggregateCall) -> bool:
    return call.function is built_in.GROUPING


def _flags(node: Aggregate) -> tuple[tuple[int, ...], ...]:
    """The columns that each GROUPING call asks about."""
    return tuple(call.arguments for call in node.calls if _is_flag(call))
