"""ALTER statements: each names an altered object and one action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millrace.sql.statements.create import Column, PrimaryKey, TableDistribution, Watermark
from millrace.sql.statements.modify import PartitionSpec
from millrace.sql.statements.statement import Path, Statement

__all__ = [
    "AddDistribution",
    "AddPartitions",
    "AddSchema",
    "AlterCatalog",
    "AlterDatabase",
    "AlterFunction",
    "AlterModel",
    "AlterTable",
    "AlterView",
    "ChangeComment",
    "ChangeQuery",
    "ColumnPosition",
    "DropColumns",
    "DropConstraint",
    "DropDistribution",
    "DropPartitions",
    "DropPrimaryKey",
    "DropWatermark",
    "ModifyDistribution",
    "ModifySchema",
    "Rename",
    "RenameColumn",
    "ResetOptions",
    "SetOptions",
]


@dataclass(frozen=True)
class ColumnPosition:
    """A column and its position: ``FIRST``, ``AFTER`` another column, or at the end."""

    column: Column
    first: bool = False
    after: str | None = None


@dataclass(frozen=True)
class _Schema:
    columns: tuple[ColumnPosition, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    distribution: TableDistribution | None = None


@dataclass(frozen=True)
class AddSchema(_Schema):
    """``ADD (column, WATERMARK ..., PRIMARY KEY ...)``, or a single item without brackets."""


@dataclass(frozen=True)
class ModifySchema(_Schema):
    """``MODIFY (...)``: each item replaces an existing one."""


@dataclass(frozen=True)
class AddDistribution:
    """``ADD DISTRIBUTION BY HASH (a) INTO 4 BUCKETS``."""

    distribution: TableDistribution


@dataclass(frozen=True)
class ModifyDistribution:
    """``MODIFY DISTRIBUTION BY HASH (a) INTO 4 BUCKETS``."""

    distribution: TableDistribution


@dataclass(frozen=True)
class DropDistribution:
    """``DROP DISTRIBUTION``."""


@dataclass(frozen=True)
class DropColumns:
    """``DROP column`` and ``DROP (a, b)``."""

    columns: tuple[Path, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class DropPrimaryKey:
    """``DROP PRIMARY KEY``."""


@dataclass(frozen=True)
class DropConstraint:
    """``DROP CONSTRAINT name``."""

    name: str


@dataclass(frozen=True)
class DropWatermark:
    """``DROP WATERMARK``."""


@dataclass(frozen=True)
class AddPartitions:
    """``ADD PARTITION (a='1') WITH (...) PARTITION (...)``: each partition has its own options."""

    partitions: tuple[tuple[PartitionSpec, Mapping[str, str]], ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartitions:
    """``DROP PARTITION (a='1'), PARTITION (a='2')``."""

    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    """``RENAME a TO b``; ``a`` may be a field of a row."""

    column: Path
    name: str


@dataclass(frozen=True)
class Rename:
    """``RENAME TO name``."""

    path: Path


@dataclass(frozen=True)
class SetOptions:
    """``SET ('a'='b')``."""

    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResetOptions:
    """``RESET ('a', 'b')``."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class ChangeQuery:
    """``ALTER VIEW v AS query``, with the query as it was written."""

    query: exp.Expr
    query_text: str


@dataclass(frozen=True)
class ChangeComment:
    """``ALTER CATALOG c COMMENT '...'``."""

    comment: str


TableAction = (
    AddSchema
    | ModifySchema
    | AddDistribution
    | ModifyDistribution
    | DropDistribution
    | DropColumns
    | DropPrimaryKey
    | DropConstraint
    | DropWatermark
    | AddPartitions
    | DropPartitions
    | RenameColumn
    | Rename
    | SetOptions
    | ResetOptions
)


@dataclass(frozen=True)
class AlterTable(Statement):
    """``ALTER TABLE name action``."""

    path: Path
    action: TableAction
    if_exists: bool = False


@dataclass(frozen=True)
class AlterView(Statement):
    """``ALTER VIEW name RENAME TO other``, ``AS query``."""

    path: Path
    action: Rename | ChangeQuery


@dataclass(frozen=True)
class AlterModel(Statement):
    """``ALTER MODEL IF EXISTS name RENAME TO other``, ``SET (...)``, ``RESET (...)``."""

    path: Path
    action: Rename | SetOptions | ResetOptions
    if_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase(Statement):
    """``ALTER DATABASE name SET (...)``."""

    path: Path
    action: SetOptions


@dataclass(frozen=True)
class AlterCatalog(Statement):
    """``ALTER CATALOG name SET (...)``, ``RESET (...)``, ``COMMENT '...'``."""

    name: str
    action: SetOptions | ResetOptions | ChangeComment


@dataclass(frozen=True)
class AlterFunction(Statement):
    """``ALTER FUNCTION name AS 'module.function' LANGUAGE PYTHON``."""

    path: Path
    class_name: str
    language: str | None = None
    temporary: bool = False
    system: bool = False
    if_exists: bool = False
