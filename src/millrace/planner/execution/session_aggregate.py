"""Aggregates over sessions of their groups. Flink: ``WindowAggregate`` over SESSION."""

from __future__ import annotations

from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_signature import StateSignature, clock_identity
from millrace.planner.execution.translation import Translator
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.relational.stream_rel_nodes import WindowAggregate
from millrace.table_runtime.session_aggregate import (
    SessionAggregateOperator,
    SessionAggregateSpec,
)

__all__ = ["translate_session_aggregate"]


def translate_session_aggregate(
    node: WindowAggregate, time: int, translator: Translator
) -> Transformation:
    """The operator of an aggregate over sessions; rows go to the subtask of their group, which
    keeps its sessions."""
    fields, gap = node.input.row_type.fields, node.window.size
    spec = SessionAggregateSpec(
        node.input.row_type,
        node.groups,
        node.calls,
        gap,
        time,
        node.property_kinds,
        node.row_type,
        clock_of(node.window, translator),
    )
    groups = ", ".join(fields[index].name for index in node.groups)
    calls = ", ".join(map(str, node.calls))
    return translator.stateful(
        "WindowAggregate",
        partial(SessionAggregateOperator, spec),
        [translator.keyed(node.input, node.groups)],
        signature=state_signature(node, spec, translator),
        description=(
            f"WindowAggregate(groupBy=[{groups}], window=[SESSION(gap=[{gap} ms])], "
            f"select=[{calls}])"
        ),
    )


def state_signature(
    node: WindowAggregate, spec: SessionAggregateSpec, translator: Translator
) -> StateSignature:
    """Signature of the state: accumulators of the calls by group and session."""
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(
        rows,
        groups=rows.at(node.groups),
        calls=rows.calls(node.calls),
        gap=spec.gap,
        time=rows.columns[spec.time],
        clock=clock_identity(spec.clock),
    )
