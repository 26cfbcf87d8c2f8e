"""Statements that change the contents of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millrace.sql.statements.statement import Path, Statement

__all__ = [
    "Analyze",
    "Assignment",
    "Delete",
    "Insert",
    "PartitionSpec",
    "InsertSet",
    "TruncateTable",
    "Update",
]

PartitionSpec = Mapping[str, exp.Expr | None]
"""Columns and their literals, in the order of the text; None for a column without a value."""


@dataclass(frozen=True)
class Insert(Statement):
    """``INSERT INTO name PARTITION (...) (columns) query``.

    Attributes:
        columns: names, or paths of nested fields; empty: all columns, in the order of the table.
        hints: options of the hint ``INSERT INTO name /*+ OPTIONS('a'='b') */``.
        conflict: action of ``ON CONFLICT DO ...``: ERROR, NOTHING or DEDUPLICATE.
    """

    path: Path
    query: exp.Expr
    columns: tuple[Path, ...] = ()
    overwrite: bool = False
    partition: PartitionSpec = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    conflict: str | None = None


@dataclass(frozen=True)
class InsertSet(Statement):
    """``EXECUTE STATEMENT SET BEGIN ... END``: inserts that run as one job."""

    statements: tuple[Insert, ...]


@dataclass(frozen=True)
class Delete(Statement):
    """``DELETE FROM name WHERE condition``."""

    path: Path
    alias: str | None = None
    where: exp.Expr | None = None


@dataclass(frozen=True)
class Assignment:
    """``column = value`` of an update."""

    column: Path
    value: exp.Expr


@dataclass(frozen=True)
class Update(Statement):
    """``UPDATE name SET column = value, ... WHERE condition``."""

    path: Path
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: exp.Expr | None = None


@dataclass(frozen=True)
class TruncateTable(Statement):
    """``TRUNCATE TABLE name``."""

    path: Path


@dataclass(frozen=True)
class Analyze(Statement):
    """``ANALYZE TABLE name PARTITION (...) COMPUTE STATISTICS FOR COLUMNS a, b``.

    Attributes:
        columns: their names.
        all_columns: ``FOR ALL COLUMNS``.
    """

    path: Path
    partition: PartitionSpec = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    all_columns: bool = False
