"""Aggregates over windows of a fixed number of rows. Flink: ``GroupWindowAggregate``."""

from __future__ import annotations

from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.aggregate import refuse_missing
from millrace.planner.execution.state_signature import StateSignature
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.relational.stream_rel_nodes import CountWindowAggregate
from millrace.table_runtime.count_window_aggregate import (
    CountWindowAggregateOperator,
    CountWindowAggregateSpec,
)

__all__ = ["translate_count_window_aggregate"]


@translates(CountWindowAggregate)
def translate_count_window_aggregate(
    node: CountWindowAggregate, translator: Translator
) -> Transformation:
    """The operator of a `CountWindowAggregate`; rows go to the subtask of their group."""
    fields = node.input.row_type.fields
    refuse_missing(node.calls, node.input.row_type)
    spec = CountWindowAggregateSpec(
        node.input.row_type, node.groups, node.calls, node.size, node.slide, node.row_type
    )
    groups = ", ".join(fields[index].name for index in node.groups)
    calls = ", ".join(map(str, node.calls))
    return translator.stateful(
        "GroupWindowAggregate",
        partial(CountWindowAggregateOperator, spec),
        [translator.keyed(node.input, node.groups)],
        signature=state_signature(node, translator),
        description=(
            f"GroupWindowAggregate(groupBy=[{groups}], window=[rows(size={node.size}, "
            f"slide={node.slide})], select=[{calls}])"
        ),
    )


def state_signature(node: CountWindowAggregate, translator: Translator) -> StateSignature:
    """Signature of the state: accumulators of the calls by group and window."""
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(
        rows,
        groups=rows.at(node.groups),
        calls=rows.calls(node.calls),
        size=node.size,
        slide=node.slide,
    )
