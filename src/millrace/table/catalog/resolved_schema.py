"""`ResolvedSchema`: columns, watermark and primary key of a table, with names and types resolved.

PyFlink: ``pyflink.table.catalog.ResolvedSchema``; what a program declares is a `Schema`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from millrace.common.types.logical.base_type import literal, quoted
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.catalog_reader import ColumnKind, ResolvedColumn, ResolvedTable
from millrace.planner.inference.time_attributes import time_attributes
from millrace.planner.relational.rel_node import RelNode

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
    "resolved_schema",
]


@dataclass(frozen=True)
class Column(ABC):
    """A column of a `ResolvedSchema`.

    Attributes:
        time_attribute: ``ROWTIME``, ``PROCTIME``, or empty: it is none.
    """

    name: str
    data_type: LogicalType
    comment: str | None = None
    time_attribute: str = ""

    @staticmethod
    def physical(name: str, data_type: LogicalType) -> PhysicalColumn:
        """A column that the table stores."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column computed from others when the table is read."""
        return ComputedColumn(name, resolved_expression.output_type, expression=resolved_expression)

    @staticmethod
    def metadata(
        name: str, data_type: LogicalType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column with metadata of each record from the connector."""
        return MetadataColumn(name, data_type, metadata_key=metadata_key, virtual=is_virtual)

    def with_comment(self, comment: str | None) -> Self:
        """The same column with a comment."""
        return replace(self, comment=comment)

    @abstractmethod
    def copy(self, new_type: LogicalType) -> Self:
        """The column with another type."""

    def rename(self, new_name: str) -> Self:
        """The column under another name."""
        return replace(self, name=new_name)

    @abstractmethod
    def is_physical(self) -> bool:
        """Whether the table stores the column."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Whether written rows have the column."""

    @abstractmethod
    def explain_extras(self) -> str | None:
        """Properties beyond name and type, as text."""

    def get_data_type(self) -> LogicalType:
        """Type of the column."""
        return self.data_type

    def get_name(self) -> str:
        """Name of the column."""
        return self.name

    def get_comment(self) -> str | None:
        """Comment of the column."""
        return self.comment

    def as_summary_string(self) -> str:
        """Name, type, and further properties."""
        time = f"*{self.time_attribute}*" if self.time_attribute else None
        comment = None if self.comment is None else f"COMMENT {literal(self.comment)}"
        parts = (quoted(self.name), str(self.data_type), time, self.explain_extras(), comment)
        return " ".join(part for part in parts if part)

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """A column that the table stores."""

    __str__ = Column.__str__

    def copy(self, new_data_type: LogicalType) -> Self:
        """The column with another type."""
        return replace(self, data_type=new_data_type)

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def explain_extras(self) -> str | None:
        return None


@dataclass(frozen=True)
class ComputedColumn(Column):
    """A column computed from others when the table is read."""

    expression: ResolvedExpression | None = None

    __str__ = Column.__str__

    def copy(self, new_data_type: LogicalType) -> Self:
        """The column with another type."""
        return replace(self, data_type=new_data_type)

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def explain_extras(self) -> str | None:
        return f"AS {self.expression}"

    def get_expression(self) -> ResolvedExpression | None:
        """The column's expression."""
        return self.expression


@dataclass(frozen=True)
class MetadataColumn(Column):
    """A column with metadata of each record from the connector.

    Attributes:
        metadata_key: the connector's name of the column, if it differs.
        virtual: rows that are written do not have it.
    """

    metadata_key: str | None = None
    virtual: bool = False

    __str__ = Column.__str__

    def copy(self, new_data_type: LogicalType) -> Self:
        """The column with another type."""
        return replace(self, data_type=new_data_type)

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self.virtual

    def is_virtual(self) -> bool:
        """Whether written rows lack the column."""
        return self.virtual

    def get_metadata_key(self) -> str | None:
        """The connector's name of the column, if it differs."""
        return self.metadata_key

    def explain_extras(self) -> str | None:
        source = "" if self.metadata_key is None else f" FROM {literal(self.metadata_key)}"
        return f"METADATA{source}{' VIRTUAL' if self.virtual else ''}"


@dataclass(frozen=True)
class WatermarkSpec:
    """The event-time column, and the expression of its watermarks."""

    rowtime_attribute: str
    watermark_expression: ResolvedExpression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """The watermark of an event-time column, given by an expression."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """Name of the event-time column."""
        return self.rowtime_attribute

    def get_watermark_expression(self) -> ResolvedExpression:
        """Expression of the watermark after a row."""
        return self.watermark_expression

    def as_summary_string(self) -> str:
        """The watermark as a schema prints it."""
        kind = self.watermark_expression.output_type
        return (
            f"WATERMARK FOR {quoted(self.rowtime_attribute)}: {kind} AS {self.watermark_expression}"
        )

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint(ABC):
    """A constraint on the rows of a table."""

    class ConstraintType(Enum):
        """Kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    @abstractmethod
    def get_name(self) -> str:
        """Name of the constraint."""

    @abstractmethod
    def get_type(self) -> Constraint.ConstraintType:
        """Kind of the constraint."""

    @abstractmethod
    def as_summary_string(self) -> str:
        """The constraint as a schema prints it."""

    def is_enforced(self) -> bool:
        """Whether rows are checked against the constraint: always False, since the owner of the
        data guarantees the constraint."""
        return False


@dataclass(frozen=True)
class UniqueConstraint(Constraint):
    """A primary key."""

    name: str
    columns: tuple[str, ...]

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """The primary key of the given columns."""
        return UniqueConstraint(name, tuple(columns))

    def get_name(self) -> str:
        return self.name

    def get_type(self) -> Constraint.ConstraintType:
        return Constraint.ConstraintType.PRIMARY_KEY

    def get_columns(self) -> list[str]:
        """Names of the key's columns."""
        return list(self.columns)

    def get_type_string(self) -> str:
        """``PRIMARY KEY``."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        columns = ", ".join(map(quoted, self.columns))
        return f"CONSTRAINT {quoted(self.name)} PRIMARY KEY ({columns}) NOT ENFORCED"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class ResolvedSchema:
    """Columns, watermark and primary key of a table or a query.

    Example:
        >>> from millrace.table import DataTypes
        >>> schema = ResolvedSchema.physical(["id", "who"], [DataTypes.INT(), DataTypes.STRING()])
        >>> schema.get_column_names(), str(schema.get_column("who"))
        (['id', 'who'], '`who` STRING')
    """

    columns: tuple[Column, ...]
    watermark_specs: tuple[WatermarkSpec, ...] = ()
    primary_key: UniqueConstraint | None = None

    @staticmethod
    def of(columns: Sequence[Column]) -> ResolvedSchema:
        """A schema with only columns: no watermark and no primary key."""
        return ResolvedSchema(tuple(columns))

    @staticmethod
    def physical(
        column_names: Sequence[str], column_data_types: Sequence[LogicalType]
    ) -> ResolvedSchema:
        """A schema with only stored columns."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema(tuple(PhysicalColumn(*pair) for pair in pairs))

    def get_column_count(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def get_columns(self) -> list[Column]:
        """The columns, in their order."""
        return list(self.columns)

    def get_column_names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def get_column_data_types(self) -> list[LogicalType]:
        """Data types of the columns, in order."""
        return [column.data_type for column in self.columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """The column with the given name, or at a position from 0; None if there is none."""
        for index, column in enumerate(self.columns):
            if column_index_or_name in (index, column.name):
                return column
        return None

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """The watermark, or an empty list."""
        return list(self.watermark_specs)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The primary key; None if there is none."""
        return self.primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """Positions of the primary key's columns, or an empty list."""
        key = () if self.primary_key is None else self.primary_key.columns
        return [self.get_column_names().index(name) for name in key]

    def to_source_row_data_type(self) -> RowType:
        """Type of the rows that a query reads: all columns."""
        return _row_of(self.columns)

    def to_physical_row_data_type(self) -> RowType:
        """Type of the stored rows."""
        return _row_of([column for column in self.columns if column.is_physical()])

    def to_sink_row_data_type(self) -> RowType:
        """Type of the written rows: stored columns, and metadata that is not virtual."""
        return _row_of([column for column in self.columns if column.is_persisted()])

    def __str__(self) -> str:
        key = () if self.primary_key is None else (self.primary_key,)
        lines = (*self.columns, *self.watermark_specs, *key)
        return "(\n  " + ",\n  ".join(part.as_summary_string() for part in lines) + "\n)"


def resolved_schema(rows: RelNode, declared: ResolvedTable | None = None) -> ResolvedSchema:
    """The schema of a query, or of a catalog's table as declared."""
    times = {index: kind.name for index, kind in time_attributes(rows).items()}
    fields: Sequence[Column] = [PhysicalColumn(field.name, field.type) for field in rows.row_type]
    if declared is not None:
        fields = [*map(_column, declared.columns)]
    made = tuple(
        replace(column, time_attribute=times.get(index, "")) for index, column in enumerate(fields)
    )
    if declared is None:
        return ResolvedSchema(made)
    specs: tuple[WatermarkSpec, ...] = ()
    if declared.watermark is not None:
        rowtime = declared.columns[declared.watermark.rowtime].name
        specs = (WatermarkSpec(rowtime, declared.watermark.expression),)
    key = None
    if declared.primary_key:
        name = f"PK_{'_'.join(declared.primary_key)}"
        key = UniqueConstraint.primary_key(name, declared.primary_key)
    return ResolvedSchema(made, specs, key)


def _column(column: ResolvedColumn) -> Column:
    if column.expression is not None:
        computed = ComputedColumn(column.name, column.type, expression=column.expression)
        return computed.with_comment(column.comment)
    if column.kind is ColumnKind.METADATA:
        return MetadataColumn(
            column.name,
            column.type,
            column.comment,
            metadata_key=column.metadata_key,
            virtual=column.virtual,
        )
    return PhysicalColumn(column.name, column.type, column.comment)


def _row_of(columns: Sequence[Column]) -> RowType:
    return RowType.of(*((column.name, column.data_type) for column in columns), nullable=False)
