"""`ProcessTable`: the rows of a user's process table function. Flink: ``ProcessTableFunction``
nodes, which SQL calls polymorphic table functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.process_table_functions import (
    ArgumentTrait,
    ProcessArgument,
    ProcessSignature,
)
from millrace.expressions.resolved import ResolvedExpression, SortKey
from millrace.planner.relational.rel_node import RelNode

__all__ = ["ProcessTable", "TableOperand"]


@dataclass(frozen=True)
class TableOperand:
    """A table argument of the function.

    Attributes:
        argument: position among the arguments; None if the function takes no table and is called
            once.
        partition: positions of the columns of PARTITION BY.
        time: position of the column of ``on_time``.
    """

    argument: int | None
    partition: tuple[int, ...] = ()
    order: tuple[SortKey, ...] = ()
    time: int | None = None


@dataclass(frozen=True, eq=False)
class ProcessTable(RelNode):
    """Rows that a process table function makes from the rows of its tables.

    Attributes:
        operands: the tables' rows, in the order of ``tables``.
        values: values of the arguments other than tables, by position among all arguments.
        uid: uid that identifies the function's state after a restart.
        result_type: passed columns, the function's columns, and ``rowtime`` if there is on_time.
    """

    function: FunctionDefinition
    operands: tuple[RelNode, ...]
    tables: tuple[TableOperand, ...]
    values: tuple[ResolvedExpression | None, ...]
    uid: str
    result_type: RowType

    @cached_property
    def row_type(self) -> RowType:
        return self.result_type

    @property
    def inputs(self) -> tuple[RelNode, ...]:
        return self.operands

    def with_inputs(self, inputs: tuple[RelNode, ...]) -> RelNode:
        return replace(self, operands=inputs)

    @property
    def signature(self) -> ProcessSignature:
        """Arguments and result of the function."""
        process = self.function.process
        assert isinstance(process, ProcessSignature)
        return process

    @property
    def invocation(self) -> str:
        """Text of the call, with its values."""
        pairs = zip(self.signature.arguments, self.values, strict=True)
        shown = (
            "TABLE" if argument.is_table else str(value or "DEFAULT") for argument, value in pairs
        )
        return f"{self.function.name}({', '.join(shown)})"

    @property
    def is_keyed(self) -> bool:
        """Whether the function's tables are partitioned."""
        return any(table.is_set for table in self.signature.tables)

    @property
    def is_timed(self) -> bool:
        """Whether the call has ``on_time``."""
        return any(table.time is not None for table in self.tables)

    def argument(self, table: TableOperand) -> ProcessArgument | None:
        """The declared argument for a table."""
        return None if table.argument is None else self.signature.arguments[table.argument]

    def asks(self, table: TableOperand, trait: ArgumentTrait) -> bool:
        """Whether the declared argument of a table has a trait."""
        argument = self.argument(table)
        return argument is not None and trait in argument.traits
