"""Rows with their windows. Flink: ``WindowTableFunction``."""

from __future__ import annotations

from functools import partial

from millrace.plan.transformation import Transformation
from millrace.planner.execution.translation import Translator, translates
from millrace.planner.execution.window_aggregate import slices_of
from millrace.planner.execution.window_clock import clock_of
from millrace.planner.relational.stream_rel_nodes import (
    WindowKind,
    WindowTableFunction,
)
from millrace.runtime.table.session_window_table_function import (
    SessionWindowSpec,
    SessionWindowTableFunctionOperator,
)
from millrace.runtime.table.window_table_function import WindowTableFunctionOperator

__all__ = ["translate_window_table_function"]


@translates(WindowTableFunction)
def translate_window_table_function(
    node: WindowTableFunction, translator: Translator
) -> Transformation:
    """It runs where its input does; of SESSION, where the rows of its partition are."""
    if node.window.kind is WindowKind.SESSION:
        return _sessions(node, translator)
    window = slices_of(node.window)
    name = node.input.row_type.names[node.time]
    return translator.stateless(
        "WindowTableFunction",
        partial(
            WindowTableFunctionOperator,
            window,
            node.time,
            node.row_type,
            clock_of(node.window, translator),
        ),
        [translator.input(node.input)],
        f"WindowTableFunction(window=[{node.window.kind.value}(time_col=[{name}], "
        f"size=[{node.window.size} ms])])",
        meaning=f"{name}, {node.window}",
    )


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
        signature=(
            "SESSION",
            [str(field.type) for field in input_type.fields],
            window.partition,
            window.size,
            node.time,
            clock,
        ),
        description=(
            f"WindowTableFunction(window=[SESSION(time_col=[{input_type.names[node.time]}], "
            f"gap=[{window.size} ms], partition keys=[{', '.join(names)}])])"
        ),
    )
