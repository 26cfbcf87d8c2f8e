"""`TemporalTableFunction`: the versions of a table at a time, for joins.

Flink docs: "Temporal Table Function"; Flink: ``TemporalTableFunction``.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NoReturn

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.expressions.function_definition import FunctionDefinition
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.stream_rel_nodes import VersionColumns
from millrace.planner.relational.temporal_tables import TemporalTable, temporal_table_function
from millrace.sql.dialect.nodes import names_of
from millrace.table.calls.call_builder import node_of
from millrace.table.expression import Expression
from millrace.table.expressions import col
from millrace.table.functions.user_defined_function import UserDefinedFunctionWrapper

__all__ = ["TemporalTableFunction"]


class TemporalTableFunction(UserDefinedFunctionWrapper):
    """Result of `Table.create_temporal_table_function`. In a lateral join, it is called with the
    time attribute of another table, and returns for each key the row that was the last one at that
    time.

    Args:
        rows: the table.
        time_attribute: its column with the time from which a row holds.
        primary_key: its column that tells which rows are versions of one thing.

    Raises:
        JobDefinitionError: one of them is no column, or the first no time attribute.
    """

    MADE_BY = "create_temporal_table_function"

    def __init__(self, rows: RelNode, time_attribute: Any, primary_key: Any) -> None:
        super().__init__(self.eval, None, True, "temporal_table_function")
        time, key = (_column(rows, column) for column in (time_attribute, primary_key))
        if time not in time_attributes(rows):
            raise JobDefinitionError(
                f"{rows.row_type.names[time]!r} is not a time attribute, but "
                f"{self.MADE_BY}() needs one: a column with a WATERMARK, or a PROCTIME() "
                "column that the table's query passes on unchanged"
            )
        self._table = TemporalTable(rows, VersionColumns(time, key))
        self._alias_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        rows, versions = self._table.rows, self._table.versions
        names = rows.row_type.names
        return (
            f"<TemporalTableFunction of {names[versions.key]} at {names[versions.time]} -> "
            f"{rows.row_type}>"
        )

    def __call__(self, *args: Any) -> Expression:
        """A call of the function, for `Table.join_lateral`."""
        made = super().__call__(*args)
        return made.alias(*self._alias_names) if self._alias_names else made

    def alias(self, *alias_names: str) -> TemporalTableFunction:
        """The same function, with names of its columns."""
        made = copy(self)
        made._alias_names = alias_names
        return made

    def eval(self, time: Any) -> NoReturn:
        """Always raises: a join looks the rows up, without a call of this method.

        Raises:
            JobDefinitionError: always.
        """
        raise JobDefinitionError(
            "a temporal table function is allowed only on the right side of a join"
        )

    def definition(self, name: str) -> FunctionDefinition:
        """The function's definition for the planner, under its registered name."""
        return temporal_table_function(name, self._table)


def _column(rows: RelNode, given: Any) -> int:
    """The position of a column, given as an expression or by name."""
    path: Sequence[str] | None = names_of(node_of(col(given) if isinstance(given, str) else given))
    names = rows.row_type.names
    if path is None or len(path) != 1:
        raise JobDefinitionError(
            f"create_temporal_table_function() takes columns of the table, not {given}"
        )
    if path[0] not in names:
        hint = did_you_mean(path[0], names)
        raise JobDefinitionError(
            f"create_temporal_table_function(): there is no column {path[0]!r}{hint}"
        )
    return names.index(path[0])
