"""Assignment of rows to windows. Flink: ``WindowTableFunction``."""

from __future__ import annotations

from functools import partial

from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.state_signature import Provenance, StateSignature, clock_identity
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.execution.window_aggregate import slices_of
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.relational.stream_rel_nodes import (
    WindowKind,
    WindowTableFunction,
)
from millrace.table_runtime.session_window_table_function import (
    SessionWindowSpec,
    SessionWindowTableFunctionOperator,
)
from millrace.table_runtime.window_table_function import WindowTableFunctionOperator

__all__ = ["translate_window_table_function"]


@translates(WindowTableFunction)
def translate_window_table_function(
    node: WindowTableFunction, translator: Translator
) -> Transformation:
    """The operator of a window function; it runs in its input's subtasks or, for SESSION, by
    partition."""
    if node.window.kind is WindowKind.SESSION:
        return _sessions(node, translator)
    name, rows = node.input.row_type.names[node.time], translator.input(node.input)
    return translator.stateless(
        "WindowTableFunction",
        partial(
            WindowTableFunctionOperator,
            slices_of(node.window),
            node.time,
            node.row_type,
            clock_of(node.window, translator),
        ),
        [rows],
        _gives(node, translator.provenance(rows), translator),
        f"WindowTableFunction(window=[{node.window.kind.value}(time_col=[{name}], "
        f"size=[{node.window.size} ms])])",
    )


def _gives(node: WindowTableFunction, rows: Provenance, translator: Translator) -> Provenance:
    """Meaning of the result: each row, once per window it belongs to."""
    window = node.window
    cut = digest(
        (window.kind, window.size, window.slide, window.offset),
        rows.columns[node.time],
        clock_identity(clock_of(window, translator)),
    )
    bounds = (digest(cut, bound) for bound in ("start", "end", "time"))
    return rows.with_columns((*rows.columns, *bounds), cut)


def _sessions(node: WindowTableFunction, translator: Translator) -> Transformation:
    window, input_type = node.window, node.input.row_type
    clock = clock_of(window, translator)
    spec = SessionWindowSpec(
        input_type, window.partition, window.size, node.time, node.row_type, clock
    )
    names = [input_type.names[index] for index in window.partition]
    return translator.stateful(
        "WindowTableFunction",
        partial(SessionWindowTableFunctionOperator, spec),
        [translator.keyed(node.input, window.partition)],
        signature=state_signature(node, translator),
        description=(
            f"WindowTableFunction(window=[SESSION(time_col=[{input_type.names[node.time]}], "
            f"gap=[{window.size} ms], partition keys=[{', '.join(names)}])])"
        ),
    )


def state_signature(node: WindowTableFunction, translator: Translator) -> StateSignature:
    """Signature of the state: sessions and their rows, by partition."""
    rows = translator.provenance(translator.input(node.input))
    return StateSignature.of(
        rows,
        kept=rows.columns,
        partition=rows.at(node.window.partition),
        gap=node.window.size,
        time=rows.columns[node.time],
        clock=clock_identity(clock_of(node.window, translator)),
    )
