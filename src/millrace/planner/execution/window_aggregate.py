"""Aggregates over windows. Flink: ``WindowAggregate``."""

from __future__ import annotations

from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.aggregate import refuse_missing
from millrace.planner.execution.session_aggregate import translate_session_aggregate
from millrace.planner.execution.state_signature import (
    StateSignature,
    clock_identity,
)
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.relational.stream_rel_nodes import (
    WindowAggregate,
    WindowingStrategy,
    WindowKind,
)
from millrace.table_runtime.window_aggregate import WindowAggregateOperator, WindowAggregateSpec
from millrace.table_runtime.window_slices import WindowSlices

__all__ = ["slices_of", "translate_window_aggregate"]


def slices_of(window: WindowingStrategy) -> WindowSlices:
    """The slices of TUMBLE, HOP and CUMULATE. A session window gets slices that are not used,
    because its rows already have windows.
    """
    whole = window.kind in (WindowKind.TUMBLE, WindowKind.SESSION)
    slide = window.size if whole else window.slide
    cumulates = window.kind is WindowKind.CUMULATE
    # windows begin at multiples of the slide, slices are counted by the ends
    shift = 0 if cumulates else window.size % slide
    return WindowSlices(window.size, slide, window.offset + shift, cumulates)


@translates(WindowAggregate)
def translate_window_aggregate(node: WindowAggregate, translator: Translator) -> Transformation:
    """The operator of a window aggregate; rows go to the subtask of their group."""
    fields = node.input.row_type.fields
    time = node.time if node.attached is None else node.attached[1]
    if time is None:
        raise node.refusal("a window aggregate needs the time of its rows, or their windows")
    refuse_missing(node.calls, node.input.row_type, not translator.insert_only(node.input))
    if node.window.kind is WindowKind.SESSION and node.attached is None:
        return translate_session_aggregate(node, time, translator)
    spec = WindowAggregateSpec(
        node.input.row_type,
        node.groups,
        node.calls,
        slices_of(node.window),
        time,
        node.attached is not None,
        node.property_kinds,
        node.row_type,
        retracts=not translator.insert_only(node.input),
        clock=clock_of(node.window, translator),
    )
    groups = ", ".join(fields[index].name for index in node.groups)
    window = f"{node.window.kind.value}(size=[{node.window.size} ms])"
    calls = ", ".join(map(str, node.calls))
    return translator.stateful(
        "WindowAggregate",
        partial(WindowAggregateOperator, spec),
        [translator.keyed(node.input, node.groups)],
        signature=state_signature(node, spec, translator),
        description=f"WindowAggregate(groupBy=[{groups}], window=[{window}], select=[{calls}])",
    )


def state_signature(
    node: WindowAggregate, spec: WindowAggregateSpec, translator: Translator
) -> StateSignature:
    """Signature of the state: accumulators of the calls by group and slice. The selected window
    properties are left out."""
    rows = translator.provenance(translator.input(node.input))
    window = node.window
    return StateSignature.of(
        rows,
        groups=rows.at(node.groups),
        calls=rows.calls(node.calls),
        window=(window.kind, window.size, window.slide, window.offset),
        time=rows.columns[spec.time],
        attached=spec.attached,
        clock=clock_identity(spec.clock),
        retracts=spec.retracts,
    )
