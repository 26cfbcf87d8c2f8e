"""`Schema`: columns, watermark and primary key of a table that a program declares.

Names are found and types derived when the table is used: expressions are kept as SQL text. Flink:
class ``Schema`` (PyFlink: ``pyflink.table.Schema``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.base_type import literal as sql_text
from millrace.common.types.logical.logical_type import LogicalType, RowType, quoted
from millrace.planner.catalog_reader import ColumnKind
from millrace.table.catalog.errors import CatalogError
from millrace.table.data_types import declared_type
from millrace.table.expression import Expression
from millrace.table.types import DataType

__all__ = [
    "DataType",
    "Expression",
    "Schema",
    "UnresolvedColumn",
    "UnresolvedKey",
    "UnresolvedWatermark",
]


@dataclass(frozen=True)
class UnresolvedColumn:
    """A column as the program declares it, before its type is resolved.

    Attributes:
        type: type of a physical or metadata column.
        expression: SQL expression of a computed column.
        metadata_key: the connector's name for a metadata column, if it differs from the column's
            name.
        virtual: whether a metadata column is left out when rows are written.
    """

    name: str
    kind: ColumnKind
    type: LogicalType | None = None
    expression: str | None = None
    metadata_key: str | None = None
    virtual: bool = False
    comment: str | None = None

    def __str__(self) -> str:
        text = f"{quoted(self.name)} "
        if self.kind is ColumnKind.COMPUTED:
            text += f"AS {self.expression}"
        else:
            text += str(self.type)
        if self.kind is ColumnKind.METADATA:
            text += " METADATA"
            text += f" FROM {sql_text(self.metadata_key)}" if self.metadata_key else ""
            text += " VIRTUAL" if self.virtual else ""
        return text + (f" COMMENT {sql_text(self.comment)}" if self.comment else "")


@dataclass(frozen=True)
class UnresolvedWatermark:
    """A watermark as the program declares it: a column, and an SQL expression."""

    column: str
    expression: str

    def __str__(self) -> str:
        return f"WATERMARK FOR {quoted(self.column)} AS {self.expression}"


@dataclass(frozen=True)
class UnresolvedKey:
    """A primary key as the program declares it."""

    columns: tuple[str, ...]
    name: str = ""

    def __str__(self) -> str:
        constraint = f"CONSTRAINT {quoted(self.name)} " if self.name else ""
        names = ", ".join(map(quoted, self.columns))
        return f"{constraint}PRIMARY KEY ({names}) NOT ENFORCED"


@dataclass(frozen=True)
class Schema:
    """Columns, watermark and primary key of a table.

    Example:
        >>> schema = (
        ...     Schema.new_builder()
        ...     .column("id", "BIGINT NOT NULL")
        ...     .column("ts", "TIMESTAMP(3)")
        ...     .watermark("ts", "ts - INTERVAL '5' SECOND")
        ...     .primary_key("id")
        ...     .build()
        ... )
        >>> print(schema)
        (
          `id` BIGINT NOT NULL,
          `ts` TIMESTAMP(3),
          WATERMARK FOR `ts` AS ts - INTERVAL '5' SECOND,
          PRIMARY KEY (`id`) NOT ENFORCED
        )
    """

    columns: tuple[UnresolvedColumn, ...] = ()
    watermark: UnresolvedWatermark | None = None
    primary_key: UnresolvedKey | None = None

    @staticmethod
    def new_builder() -> Schema.Builder:
        """A builder without columns."""
        return Schema.Builder()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(column.name for column in self.columns)

    def parts(self) -> list[str]:
        """The clauses that the schema has in SQL."""
        parts = [str(column) for column in self.columns]
        parts += [
            str(clause) for clause in (self.watermark, self.primary_key) if clause is not None
        ]
        return parts

    def __str__(self) -> str:
        return "(\n  " + ",\n  ".join(self.parts()) + "\n)" if self.columns else "()"

    class Builder:
        """Builder of a schema, column by column."""

        def __init__(self) -> None:
            self._columns: list[UnresolvedColumn] = []
            self._watermark: UnresolvedWatermark | None = None
            self._key: UnresolvedKey | None = None

        def column(self, column_name: str, data_type: LogicalType | str) -> Schema.Builder:
            """A column that the connector reads and writes."""
            kind = declared_type(data_type)
            return self._add(UnresolvedColumn(column_name, ColumnKind.PHYSICAL, kind))

        def column_by_expression(self, column_name: str, expr: str) -> Schema.Builder:
            """A column computed from others by an SQL expression; it is not written."""
            return self._add(
                UnresolvedColumn(column_name, ColumnKind.COMPUTED, expression=str(expr))
            )

        def column_by_metadata(
            self,
            column_name: str,
            data_type: LogicalType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """A column with metadata of a row from the connector, such as Kafka's offset."""
            return self._add(
                UnresolvedColumn(
                    column_name,
                    ColumnKind.METADATA,
                    declared_type(data_type),
                    metadata_key=metadata_key,
                    virtual=is_virtual,
                )
            )

        def with_comment(self, comment: str) -> Schema.Builder:
            """Set the comment of the last column."""
            if not self._columns:
                raise JobDefinitionError("with_comment() must follow the column that it describes")
            from dataclasses import replace

            self._columns[-1] = replace(self._columns[-1], comment=comment)
            return self

        def watermark(self, column_name: str, watermark_expr: str) -> Schema.Builder:
            """Make a column the event time, with an SQL expression for its watermark."""
            if self._watermark is not None:
                raise JobDefinitionError("a table can have only one watermark")
            self._watermark = UnresolvedWatermark(column_name, str(watermark_expr))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Set the primary key. Its uniqueness is not checked."""
            return self.primary_key_named("PK_" + "_".join(column_names), *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """Set the primary key, with a name for the constraint."""
            if self._key is not None:
                raise JobDefinitionError("a table can have only one primary key")
            name = "" if constraint_name.startswith("PK_") else constraint_name
            self._key = UnresolvedKey(column_names, name)
            return self

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[LogicalType | str]
        ) -> Schema.Builder:
            """Physical columns by names and types."""
            for name, kind in zip(field_names, field_data_types, strict=True):
                self.column(name, kind)
            return self

        def from_row_data_type(self, data_type: LogicalType) -> Schema.Builder:
            """Physical columns for a row's fields."""
            if not isinstance(data_type, RowType):
                raise JobDefinitionError(f"from_row_data_type() takes a row type, got {data_type}")
            for field in data_type.fields:
                self.column(field.name, field.type)
            return self

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """All parts of another schema."""
            self._columns += unresolved_schema.columns
            self._watermark = unresolved_schema.watermark or self._watermark
            self._key = unresolved_schema.primary_key or self._key
            return self

        def build(self) -> Schema:
            """The schema with all settings made so far.

            Raises:
                CatalogError: two columns have one name, or the key has a column that there
                    is not.
            """
            return checked(Schema(tuple(self._columns), self._watermark, self._key))

        def _add(self, column: UnresolvedColumn) -> Schema.Builder:
            self._columns.append(column)
            return self


def checked(schema: Schema) -> Schema:
    """The schema itself, after a check of its names.

    Raises:
        CatalogError: two columns have one name, or the key has a column that there is not.
    """
    names = schema.names
    for position, name in enumerate(names):
        if name in names[:position]:
            raise CatalogError(f"two columns have the name {name!r}", name)
    key = schema.primary_key
    for name in () if key is None else key.columns:
        if names and name not in names:  # without columns they are those of a query
            raise CatalogError(
                f"the primary key names {name!r}; the columns are {', '.join(names)}", name
            )
    return schema
