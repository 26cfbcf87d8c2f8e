"""`CatalogReader`: the binder's interface to catalogs, and the resolved tables it returns.

The catalogs themselves are in `millrace.table`; the planner sees this protocol only. Semantics:
Flink docs, "CREATE TABLE" (columns) and "Catalogs" (how names are found).

    >>> from millrace.common.types.logical.logical_type import BigIntType, TimestampType
    >>> from millrace.expressions.resolved import FieldReference
    >>> table = ResolvedTable(
    ...     ("default_catalog", "default_database", "bid"),
    ...     (ResolvedColumn("id", BigIntType()), ResolvedColumn("ts", TimestampType(3))),
    ...     watermark=ResolvedWatermark(1, FieldReference(1, TimestampType(3), "ts")),
    ... )
    >>> table.row_type.names
    ('id', 'ts')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from millrace.common.types.logical.logical_type import (
    LocalZonedTimestampType,
    LogicalType,
    RowField,
    RowType,
)
from millrace.common.types.row import INSERT_ONLY, RowKind
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.position import OptionPosition

__all__ = [
    "SOURCE_WATERMARK",
    "CatalogReader",
    "ColumnKind",
    "NameKind",
    "ResolvedColumn",
    "ResolvedModel",
    "ResolvedTable",
    "ResolvedView",
    "ResolvedWatermark",
]


SOURCE_WATERMARK = FunctionDefinition(
    "SOURCE_WATERMARK", ((),), lambda _: LocalZonedTimestampType(3), built_in=False
)
"""The function that stands for the watermarks of a source, in the schema of a table only."""


class ColumnKind(Enum):
    """Kind of a column: physical, computed or metadata."""

    PHYSICAL = "PHYSICAL"
    METADATA = "METADATA"
    COMPUTED = "COMPUTED"


class NameKind(Enum):
    """Kinds of objects that a name can refer to."""

    CATALOG = "catalog"
    DATABASE = "database"
    TABLE = "table"
    FUNCTION = "function"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class ResolvedColumn:
    """A column of a table.

    Attributes:
        metadata_key: the connector's name for a metadata column (``METADATA FROM``).
        virtual: whether a metadata column is left out when rows are written.
        expression: expression of a computed column over the table's `ResolvedTable.scan_type`,
            without other computed columns.
    """

    name: str
    type: LogicalType
    kind: ColumnKind = ColumnKind.PHYSICAL
    metadata_key: str | None = None
    virtual: bool = False
    expression: ResolvedExpression | None = None
    comment: str | None = None

    @property
    def persisted(self) -> bool:
        """Whether the column is part of rows that are written."""
        return self.kind is ColumnKind.PHYSICAL or (
            self.kind is ColumnKind.METADATA and not self.virtual
        )


@dataclass(frozen=True, slots=True)
class ResolvedWatermark:
    """The declaration ``WATERMARK FOR column AS expression``.

    Attributes:
        rowtime: position of the column among all of the table's columns.
        expression: over all of the table's columns (`ResolvedTable.row_type`).
    """

    rowtime: int
    expression: ResolvedExpression


@dataclass(frozen=True)
class ResolvedTable:
    """A table of a catalog, with resolved types and expressions.

    Attributes:
        path: catalog, database and name.
        columns: all columns, including computed ones, in the order of the schema.
        primary_key: names of the columns of ``PRIMARY KEY ... NOT ENFORCED``; empty if there is no
            key.
        options: options of WITH.
        changes: row kinds that the source emits.
        accepts: row kinds that the sink accepts. If empty, the sink accepts all kinds, or decides
            when it is created.
        bounded: whether the source is bounded.
        lookup: whether rows can be looked up by key, as the right side of a look-up join.
        repeats: whether the source gives the same rows if it is read again.
        source: the table's `TableFactory`, a function that finds it by the table's options, or
            the `DataStreamAccess` of a stream; the catalog passes it to the translation.
        option_places: positions of the options in the statements that declare them, by key.
    """

    path: tuple[str, ...]
    columns: tuple[ResolvedColumn, ...]
    watermark: ResolvedWatermark | None = None
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    changes: frozenset[RowKind] = INSERT_ONLY
    accepts: frozenset[RowKind] = frozenset()
    bounded: bool = False
    lookup: bool = False
    repeats: bool = True
    source: Any = None
    option_places: Mapping[str, OptionPosition] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def row_type(self) -> RowType:
        """Row type of all columns, as ``SELECT *`` returns them."""
        return _row_type(self.columns)

    @property
    def scan_type(self) -> RowType:
        """Row type of the source: physical and metadata columns."""
        return _row_type(
            [column for column in self.columns if column.kind is not ColumnKind.COMPUTED]
        )

    @property
    def sink_type(self) -> RowType:
        """Row type of the sink: physical columns, and metadata columns that are not virtual."""
        return _row_type([column for column in self.columns if column.persisted])

    @property
    def key_positions(self) -> tuple[int, ...]:
        """Positions of the primary key's columns among all columns."""
        names = self.row_type.names
        return tuple(names.index(name) for name in self.primary_key)

    @property
    def sink_key(self) -> tuple[int, ...]:
        """Positions of the primary key's columns in the rows of the sink."""
        names = self.sink_type.names
        return tuple(names.index(name) for name in self.primary_key)


@dataclass(frozen=True)
class ResolvedView:
    """A view of a catalog.

    Attributes:
        query: the tree of a view that was made of a table or a query (``createTemporaryView``),
            or the SQL text.
        names: names of the columns; empty if the view does not name them.
        catalog: resolves the names in the text, from the catalog and database that were current
            when the view was made; None: as in the query around the view.
    """

    path: tuple[str, ...]
    query: RelNode | str
    names: tuple[str, ...] = ()
    comment: str | None = None
    catalog: CatalogReader | None = None


@dataclass(frozen=True, eq=False)
class ResolvedModel:
    """A model of a catalog.

    Attributes:
        scorer: the object that the workers call; the planner reads only its ``version``.
    """

    path: tuple[str, ...]
    input_type: RowType
    output_type: RowType
    scorer: Any


class CatalogReader(Protocol):
    """Resolves names, as written in a query: with one, two or three parts."""

    @property
    def current_catalog(self) -> str:
        """Catalog of names that have no catalog part."""
        ...

    @property
    def current_database(self) -> str:
        """Database of names that have no database part."""
        ...

    def resolve_table(self, name: Sequence[str]) -> ResolvedTable | ResolvedView | None:
        """The table or view with the given name, or None; temporary ones take precedence."""
        ...

    def resolve_function(self, name: Sequence[str]) -> FunctionDefinition | None:
        """Definition of a catalog's user function, also a temporary one; None if there is none, and
        system functions are searched next.
        """
        ...

    def resolve_model(self, name: Sequence[str]) -> ResolvedModel | None:
        """The model with the given name, or None; temporary ones take precedence."""
        ...

    def names(self, kind: NameKind) -> Sequence[str]:
        """Names of a kind, as written from the current database, for errors that suggest the
        nearest name."""
        ...


def _row_type(columns: Sequence[ResolvedColumn]) -> RowType:
    return RowType(tuple(RowField(column.name, column.type) for column in columns), nullable=False)
