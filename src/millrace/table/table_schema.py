"""`TableSchema`: names and types of a table's columns. PyFlink: ``pyflink.table.TableSchema``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.table.data_types import declared_type
from millrace.table.types import DataType

__all__ = [
    "DataType",
    "TableSchema",
]


class ColumnReferenceError(JobDefinitionError, TypeError):
    """A reference to a column is neither a name nor a number; PyFlink raises a TypeError."""


@dataclass(frozen=True, init=False, repr=False)
class TableSchema:
    """Names and types of columns, in order.

    Args:
        field_names: names of the columns.
        data_types: types of the columns, as `DataTypes` or text.

    Raises:
        JobDefinitionError: there are more of the one than of the other, or a name is there twice.

    Example:
        >>> schema = TableSchema(["id", "name"], ["BIGINT", "STRING"])
        >>> schema.get_field_names(), schema.get_field_data_type("id")
        (['id', 'name'], BIGINT)
        >>> print(schema, end="")
        root
         |-- id: BIGINT
         |-- name: STRING
    """

    row_type: RowType

    def __init__(self, field_names: Sequence[str], data_types: Sequence[LogicalType | str]) -> None:
        if len(field_names) != len(data_types):
            raise JobDefinitionError(
                f"a schema with {len(field_names)} names has {len(data_types)} types"
            )
        pairs = zip(field_names, map(declared_type, data_types), strict=True)
        object.__setattr__(self, "row_type", RowType.of(*pairs))

    @classmethod
    def of(cls, row_type: RowType) -> TableSchema:
        """The schema of a row type."""
        return cls(row_type.names, row_type.children())

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """A builder of a schema, column by column."""
        return cls.Builder()

    def __repr__(self) -> str:
        lines = ["root", *(f" |-- {column.name}: {column.type}" for column in self.row_type)]
        return "\n".join([*lines, ""])  # ends with a line feed, as in Flink

    def copy(self) -> TableSchema:
        """The same schema, because it is immutable."""
        return self

    def get_field_count(self) -> int:
        """Number of columns."""
        return len(self.row_type)

    def get_field_names(self) -> list[str]:
        """Names of the columns."""
        return list(self.row_type.names)

    def get_field_name(self, field_index: int) -> str | None:
        """Name of the column at a position from 0; None if there is none."""
        names = self.row_type.names
        return names[field_index] if 0 <= field_index < len(names) else None

    def get_field_data_types(self) -> list[LogicalType]:
        """Types of the columns."""
        return list(self.row_type.children())

    def get_field_data_type(self, field: int | str) -> LogicalType | None:
        """Type of the column with the given name or position (from 0); None if there is none."""
        kinds = dict(enumerate(self.row_type.children()))
        if not isinstance(field, (int, str)):
            raise ColumnReferenceError(
                f"a column is named by its name or its position from 0, not by {field!r}"
            )
        by_name = dict(zip(self.row_type.names, kinds.values(), strict=True))
        return by_name.get(field) if isinstance(field, str) else kinds.get(field)

    def to_row_data_type(self) -> RowType:
        """The type of rows with the given columns; a row itself is never NULL."""
        return self.row_type.not_null()

    @dataclass
    class Builder:
        """Builder of a `TableSchema`, column by column."""

        _names: list[str] = field(default_factory=list)
        _types: list[LogicalType | str] = field(default_factory=list)

        def field(self, name: str, data_type: LogicalType | str) -> TableSchema.Builder:
            """Add a column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """The schema of the columns so far."""
            return TableSchema(self._names, self._types)
