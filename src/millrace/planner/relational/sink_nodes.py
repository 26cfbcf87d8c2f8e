"""The nodes at the top of a tree, which write the rows of a query."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.common.types.logical.logical_type import RowType
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.relational.rel_node import SingleRel

__all__ = ["CollectSink", "LogicalSink"]


@dataclass(frozen=True, eq=False)
class LogicalSink(SingleRel):
    """Writes rows into a table; the input has the columns of the table's ``sink_type``, in order.

    Attributes:
        options: options of an OPTIONS hint.
        overwrite: whether the statement is INSERT OVERWRITE.
        partition: columns of a static partition, with their values as text.
    """

    table: ResolvedTable
    options: tuple[tuple[str, str], ...] = ()
    overwrite: bool = False
    partition: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class CollectSink(SingleRel):
    """Sends the rows of a query to the client.

    Attributes:
        declared: columns of the query as the program wrote it.
    """

    declared: RowType | None = field(default=None, compare=False)
    identifier: str = "collect"
