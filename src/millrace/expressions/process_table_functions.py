"""`process_table_function`: a definition from a user's Python function that makes a table from
tables.

Its arguments are described by a `ProcessSignature` in its definition. Flink:
``ProcessTableFunction``; Flink docs: "Process Table Functions".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.common.types.type_information import TypeInformation
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.scalar_functions import ConstantResult

__all__ = [
    "ArgumentTrait",
    "ProcessArgument",
    "ProcessSignature",
    "StateEntry",
    "EntryShape",
    "process_table_function",
]


class ArgumentTrait(Enum):
    """Traits of a process table function's argument: its kind, and its requirements."""

    SCALAR = "SCALAR"
    """A value."""
    ROW_SEMANTIC_TABLE = "ROW_SEMANTIC_TABLE"
    """A table, each row of which is processed by itself."""
    SET_SEMANTIC_TABLE = "SET_SEMANTIC_TABLE"
    """A table, the rows of a partition of which are processed together."""
    OPTIONAL_PARTITION_BY = "OPTIONAL_PARTITION_BY"
    """PARTITION BY may be missing: all rows are one partition, in one subtask."""
    PASS_COLUMNS_THROUGH = "PASS_COLUMNS_THROUGH"
    """All columns of the table are columns of the result, not only those of its partition."""
    SUPPORT_UPDATES = "SUPPORT_UPDATES"
    """Rows of the table may be updated and deleted: ``row.get_row_kind()``."""
    REQUIRE_UPDATE_BEFORE = "REQUIRE_UPDATE_BEFORE"
    """Updates come as a row before and a row after, also where a key would do."""
    REQUIRE_FULL_DELETE = "REQUIRE_FULL_DELETE"
    """Deletes come with all columns; here they always do."""
    REQUIRE_ON_TIME = "REQUIRE_ON_TIME"
    """``on_time`` must be given."""


class EntryShape(Enum):
    """Shape of a state entry."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True)
class ProcessArgument:
    """An argument of a process table function.

    Attributes:
        type: type of a value, or row type of a table; None for any rows.
        made: converter of rows for the function; None if the function gets a `Row`.
        optional: whether it may be omitted; it has the default value then.
    """

    name: str
    traits: frozenset[ArgumentTrait]
    type: LogicalType | None = None
    made: Callable[..., Any] | None = None
    optional: bool = False
    default: Any = None

    @property
    def is_table(self) -> bool:
        return self.is_set or ArgumentTrait.ROW_SEMANTIC_TABLE in self.traits

    @property
    def is_set(self) -> bool:
        return ArgumentTrait.SET_SEMANTIC_TABLE in self.traits

    def __str__(self) -> str:
        if not self.is_table:
            return f"{self.name} => {self.type}"
        return f"{self.name} => {'TABLE AS SET' if self.is_set else 'TABLE AS ROW'}"


@dataclass(frozen=True)
class StateEntry:
    """A state entry per partition, which the function gets before its arguments.

    Attributes:
        ttl: ms without a write after which the entry expires; 0: never; None: the session's
            setting.
        made: makes the initial value of a partition.
        types: types of the value, of the elements, or of keys and values; None if values are
            pickled.
    """

    name: str
    shape: EntryShape
    ttl: int | None = None
    made: Callable[[], Any] | None = None
    types: tuple[TypeInformation[Any] | None, ...] = (None, None)


@dataclass(frozen=True)
class ProcessSignature:
    """Arguments, state and result of a process table function.

    Attributes:
        takes_context: whether the first parameter of ``eval`` and of ``on_timer`` is the context.
        has_timers: whether there is a method ``on_timer``.
        changes: row kinds that the function emits.
    """

    function: Any
    arguments: tuple[ProcessArgument, ...]
    states: tuple[StateEntry, ...]
    row_type: RowType
    takes_context: tuple[bool, bool] = (False, False)
    has_timers: bool = False
    changes: frozenset[RowKind] = INSERT_ONLY

    @property
    def tables(self) -> tuple[ProcessArgument, ...]:
        """The table arguments."""
        return tuple(argument for argument in self.arguments if argument.is_table)

    def text(self, name: str) -> str:
        """Text of the expected call."""
        shown = ", ".join(map(str, self.arguments))
        return f"{name}({shown}{', ' if shown else ''}on_time => DESCRIPTOR, uid => STRING)"


def process_table_function(
    name: str, signature: ProcessSignature, deterministic: bool = True
) -> FunctionDefinition:
    """Definition of a user's process table function.

    Args:
        name: name of the function in calls and errors.
        signature: the function with its arguments, state and result.
        deterministic: the same rows give the same rows.
    """
    return FunctionDefinition(
        name,
        (),
        ConstantResult(signature.row_type),
        kind=FunctionKind.PROCESS_TABLE,
        deterministic=deterministic,
        process=signature,
        built_in=False,
        category="User-defined",
        text="A process table function of the user.",
        parameters=tuple(map(str, signature.arguments)),
    )
