"""Statements about the session, its catalogs and its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from millrace.sql.statements.modify import PartitionSpec
from millrace.sql.statements.statement import Path, Statement

__all__ = [
    "AddJar",
    "CallProcedure",
    "CompilePlan",
    "Describe",
    "DescribeKind",
    "ExecutePlan",
    "Explain",
    "LoadModule",
    "RemoveJar",
    "ResetOption",
    "SetOption",
    "Show",
    "ShowCreate",
    "ShowKind",
    "StopJob",
    "UnloadModule",
    "UseCatalog",
    "UseDatabase",
    "UseModules",
]


@dataclass(frozen=True)
class Explain(Statement):
    """``EXPLAIN details statement``; the details are ESTIMATED_COST, CHANGELOG_MODE, PLAN_ADVICE
    and JSON_EXECUTION_PLAN, in capitals.
    """

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class UseCatalog(Statement):
    """``USE CATALOG name``."""

    name: str


@dataclass(frozen=True)
class UseDatabase(Statement):
    """``USE name``: a database, optionally with its catalog."""

    path: Path


@dataclass(frozen=True)
class UseModules(Statement):
    """``USE MODULES a, b``."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class LoadModule(Statement):
    """``LOAD MODULE name WITH (...)``."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnloadModule(Statement):
    """``UNLOAD MODULE name``."""

    name: str


class ShowKind(Enum):
    """Kinds of SHOW statements: the objects to list, or the current one (CURRENT ...)."""

    CATALOGS = "CATALOGS"
    CURRENT_CATALOG = "CURRENT CATALOG"
    DATABASES = "DATABASES"
    CURRENT_DATABASE = "CURRENT DATABASE"
    TABLES = "TABLES"
    MATERIALIZED_TABLES = "MATERIALIZED TABLES"
    VIEWS = "VIEWS"
    COLUMNS = "COLUMNS"
    PARTITIONS = "PARTITIONS"
    FUNCTIONS = "FUNCTIONS"
    USER_FUNCTIONS = "USER FUNCTIONS"
    PROCEDURES = "PROCEDURES"
    MODELS = "MODELS"
    MODULES = "MODULES"
    FULL_MODULES = "FULL MODULES"
    JARS = "JARS"
    JOBS = "JOBS"


@dataclass(frozen=True)
class Show(Statement):
    """``SHOW TABLES FROM path NOT LIKE 'pattern'``.

    Attributes:
        path: after FROM or IN: a catalog or database; of COLUMNS and PARTITIONS the table.
        pattern: after LIKE or ILIKE.
        like: LIKE or ILIKE if there is a pattern.
        negated: NOT LIKE.
        partition: for SHOW PARTITIONS, values of partition columns that the listed partitions must
            have.
    """

    kind: ShowKind
    path: Path | None = None
    pattern: str | None = None
    like: str | None = None
    negated: bool = False
    partition: PartitionSpec = field(default_factory=dict)


@dataclass(frozen=True)
class ShowCreate(Statement):
    """``SHOW CREATE TABLE name``; ``kind`` is TABLE, VIEW, CATALOG, MATERIALIZED TABLE or MODEL."""

    kind: str
    path: Path


class DescribeKind(Enum):
    """Kinds of objects that DESCRIBE describes."""

    TABLE = "TABLE"
    CATALOG = "CATALOG"
    DATABASE = "DATABASE"
    FUNCTION = "FUNCTION"
    MODEL = "MODEL"
    JOB = "JOB"


@dataclass(frozen=True)
class Describe(Statement):
    """``DESCRIBE kind EXTENDED name``, or ``DESC``. For a job, the path contains its id."""

    path: Path
    kind: DescribeKind = DescribeKind.TABLE
    extended: bool = False


@dataclass(frozen=True)
class SetOption(Statement):
    """``SET 'key' = 'value'``; without a key and a value, it shows all options."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class ResetOption(Statement):
    """``RESET 'key'``; without a key, it resets all options."""

    key: str | None = None


@dataclass(frozen=True)
class CallProcedure(Statement):
    """``CALL catalog.database.procedure(arguments)``, as a FunctionCall."""

    call: exp.Expr


@dataclass(frozen=True)
class AddJar(Statement):
    """``ADD JAR 'path'``."""

    jar: str


@dataclass(frozen=True)
class RemoveJar(Statement):
    """``REMOVE JAR 'path'``."""

    jar: str


@dataclass(frozen=True)
class StopJob(Statement):
    """``STOP JOB 'id' WITH SAVEPOINT WITH DRAIN``."""

    job: str
    with_savepoint: bool = False
    with_drain: bool = False


@dataclass(frozen=True)
class CompilePlan(Statement):
    """``COMPILE PLAN 'file' IF NOT EXISTS FOR statement``.

    ``COMPILE AND EXECUTE PLAN`` with ``execute``.
    """

    file: str
    statement: Statement
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True)
class ExecutePlan(Statement):
    """``EXECUTE PLAN 'file'``."""

    file: str
