"""DROP statements."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.sql.statements.statement import Path, Statement

__all__ = ["DropCatalog", "DropDatabase", "DropFunction", "DropModel", "DropTable", "DropView"]


@dataclass(frozen=True)
class DropTable(Statement):
    """``DROP TEMPORARY TABLE IF EXISTS name``."""

    path: Path
    temporary: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class DropView(Statement):
    """``DROP TEMPORARY VIEW IF EXISTS name``."""

    path: Path
    temporary: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class DropFunction(Statement):
    """``DROP TEMPORARY SYSTEM FUNCTION IF EXISTS name``."""

    path: Path
    temporary: bool = False
    system: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class DropModel(Statement):
    """``DROP TEMPORARY MODEL IF EXISTS name``."""

    path: Path
    temporary: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class DropCatalog(Statement):
    """``DROP CATALOG IF EXISTS name``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class DropDatabase(Statement):
    """``DROP DATABASE IF EXISTS name CASCADE``; without CASCADE the database must be empty."""

    path: Path
    if_exists: bool = False
    cascade: bool = False
