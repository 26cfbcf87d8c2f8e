"""`TemporalTable`: the table of a temporal table function, and the function's definition.

Flink docs: "Temporal Table Function"; Flink: ``TemporalTableFunction``.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.scalar_functions import ConstantResult
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import VersionColumns

__all__ = ["TemporalTable", "temporal_table_function"]


@dataclass(frozen=True, eq=False)
class TemporalTable:
    """The rows whose versions a temporal table function returns, with their key and time."""

    rows: RelNode
    versions: VersionColumns


def temporal_table_function(name: str, table: TemporalTable) -> FunctionDefinition:
    """Definition of a function that returns a table's versions as of a time.

    Args:
        name: name of the function in calls and errors.
    """
    return FunctionDefinition(
        name,
        (("<TIMESTAMP>",),),
        ConstantResult(table.rows.row_type),
        kind=FunctionKind.TABLE,
        temporal=table,
        built_in=False,
        category="User-defined",
        text="A temporal table function of the user.",
        parameters=("time attribute",),
    )
