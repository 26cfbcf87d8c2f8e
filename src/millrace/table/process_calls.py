"""`PartitionedTable`, and calls of process table functions in the Table API.

Flink: ``PartitionedTable``, ``Table.process``, ``TableEnvironment.fromCall``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import node_of
from millrace.table.expression import Expression
from millrace.table.expressions import col
from millrace.table.functions.user_defined_function import UserDefinedFunctionWrapper
from millrace.table.syntax import call_node
from millrace.table.table_session import TableSession

__all__ = ["PartitionedTable", "called_rows", "table_argument"]


def called_rows(session: TableSession, function: Any, arguments: Sequence[Any]) -> RelNode:
    """The output rows of a process table function.

    Args:
        function: a function made by `udptf`, or its registered name.
        arguments: expressions and values by position, None for omitted ones; or with names, by
            ``as_argument()``.

    Raises:
        JobDefinitionError: ``function`` is not a process table function, or does not accept these
            arguments.
    """
    if isinstance(function, type):
        raise JobDefinitionError(
            f"a process table function must be wrapped: write udptf({function.__name__}())"
        )
    given = [
        nodes.DefaultValue() if argument is None else node_of(argument) for argument in arguments
    ]
    if isinstance(function, UserDefinedFunctionWrapper):
        call = function.call_node(given)
    elif isinstance(function, str):
        call = call_node(function, given)
    else:
        raise JobDefinitionError(
            "process() takes a function made by udptf(), or the name of such a function, "
            f"not {function!r}"
        )
    source = exp.From(this=nodes.TableFunctionCall(this=call))
    return session.bind_query(exp.Select(expressions=[exp.Star()], from_=source), "")


def table_argument(
    rows: RelNode, partition: Sequence[Any] = (), order: Sequence[Any] = ()
) -> Expression:
    """A table as an argument of a call."""
    keys = [_column(column) for column in partition]
    sorted_by = [_column(column) for column in order]
    return Expression(
        nodes.TableArgument(
            this=exp.Subquery(this=nodes.Bound(this=rows)),
            partition_by=keys,
            order=[
                key if isinstance(key, exp.Ordered) else exp.Ordered(this=key) for key in sorted_by
            ],
        )
    )


def _column(field: Any) -> exp.Expr:
    return node_of(col(field) if isinstance(field, str) else field)


class PartitionedTable:
    """A table with partitions, made by `Table.partition_by`."""

    def __init__(
        self,
        session: TableSession,
        rows: RelNode,
        made: Callable[[RelNode], Any],
        partition: Sequence[Any],
        order: Sequence[Any] = (),
    ) -> None:
        self._session, self._rows, self._made = session, rows, made
        self._partition, self._order = partition, order

    def order_by(self, *fields: Any) -> PartitionedTable:
        """The same table, with an order of the rows in each partition that begins with a time
        attribute. The function gets rows when the watermark has passed them; late rows are
        dropped."""
        return PartitionedTable(self._session, self._rows, self._made, self._partition, fields)

    def as_argument(self, name: str) -> Expression:
        """The table as a named argument of `TableEnvironment.from_call`."""
        return table_argument(self._rows, self._partition, self._order).as_argument(name)

    def process(self, function: Any, *arguments: Any) -> Any:
        """The output of a process table function with this table as its first argument.

        Args:
            function: a function made by `udptf`, or its registered name.
            arguments: the other arguments, by position or with names by ``as_argument()``.

        Raises:
            JobDefinitionError: the function does not accept these arguments.
        """
        table = table_argument(self._rows, self._partition, self._order)
        return self._made(called_rows(self._session, function, [table, *arguments]))

    def to_changelog(self, *arguments: Any) -> Any:
        """Convert changes to rows as `Table.to_changelog` does, with the partition columns in
        front of ``op``."""
        return self.process("TO_CHANGELOG", *arguments)

    def from_changelog(self, *arguments: Any) -> Any:
        """Convert rows to changes as `Table.from_changelog` does. The partition columns are the
        key of updates, which may come without UPDATE_BEFORE rows."""
        return self.process("FROM_CHANGELOG", *arguments)
