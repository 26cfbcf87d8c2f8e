"""CREATE statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType
from millrace.sql.position import TextPosition
from millrace.sql.statements.statement import Path, Statement

__all__ = [
    "Column",
    "ComputedColumnClause",
    "CreateCatalog",
    "CreateDatabase",
    "CreateFunction",
    "CreateModel",
    "CreateTable",
    "CreateView",
    "TableDistribution",
    "LikeClause",
    "LikeOption",
    "MetadataColumnClause",
    "PhysicalColumnClause",
    "PrimaryKey",
    "Watermark",
]


@dataclass(frozen=True)
class _Column:
    """Base of the columns in CREATE TABLE and ALTER TABLE."""

    name: str
    comment: str | None = field(default=None, kw_only=True)
    position: TextPosition | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class PhysicalColumnClause(_Column):
    """``name TYPE``."""

    type: LogicalType


@dataclass(frozen=True)
class MetadataColumnClause(_Column):
    """``name TYPE METADATA FROM 'key' VIRTUAL``; the key defaults to the column's name."""

    type: LogicalType
    key: str | None = None
    virtual: bool = False


@dataclass(frozen=True)
class ComputedColumnClause(_Column):
    """``name AS expression``, with the expression as it was written."""

    expression: exp.Expr
    expression_text: str


Column = PhysicalColumnClause | MetadataColumnClause | ComputedColumnClause


@dataclass(frozen=True)
class Watermark:
    """``WATERMARK FOR column AS expression``; the column may be a field of a row."""

    column: Path
    expression: exp.Expr
    expression_text: str
    position: TextPosition | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class PrimaryKey:
    """``CONSTRAINT name PRIMARY KEY (columns) NOT ENFORCED``, or the key clause after a column's
    type.

    It is ``enforced`` unless the text says that it is not, which Flink asks for.
    """

    columns: tuple[str, ...]
    name: str | None = None
    enforced: bool = False
    position: TextPosition | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class TableDistribution:
    """``DISTRIBUTED BY HASH (columns) INTO n BUCKETS``; ``kind`` is HASH, RANGE or None."""

    columns: tuple[str, ...] = ()
    kind: str | None = None
    buckets: int | None = None


@dataclass(frozen=True)
class LikeOption:
    """``INCLUDING ALL``: the treatment of one feature of the other table.

    Attributes:
        merging: INCLUDING, EXCLUDING or OVERWRITING.
        feature: ALL, CONSTRAINTS, DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS or
            WATERMARKS.
    """

    merging: str
    feature: str


@dataclass(frozen=True)
class LikeClause:
    """``LIKE table (options)``."""

    path: Path
    options: tuple[LikeOption, ...] = ()
    position: TextPosition | None = field(default=None, kw_only=True, compare=False, repr=False)


@dataclass(frozen=True)
class CreateTable(Statement):
    """``CREATE TABLE`` with its own columns, LIKE another table, or AS a query.

    Attributes:
        column_names: names of the query's columns in the table's order, from ``CREATE TABLE t (a,
            b) AS SELECT``.
        partitioned_by: names of columns.
        options: options of WITH.
        query: query of AS, with its text.
    """

    path: Path
    columns: tuple[Column, ...] = ()
    column_names: tuple[str, ...] = ()
    watermark: Watermark | None = None
    primary_key: PrimaryKey | None = None
    distribution: TableDistribution | None = None
    partitioned_by: tuple[str, ...] = ()
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    like: LikeClause | None = None
    query: exp.Expr | None = None
    query_text: str = ""
    temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """``CREATE VIEW name (columns) COMMENT '...' AS query``, with the query as it was written."""

    path: Path
    query: exp.Expr
    query_text: str
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """``CREATE FUNCTION name AS 'module.function' LANGUAGE PYTHON``.

    Attributes:
        language: JAVA, SCALA or PYTHON; None if it is not said (Flink takes JAVA then).
        system: TEMPORARY SYSTEM: found without a catalog, under one name.
        resources: pairs of kind and path from ``USING JAR 'a', FILE 'b'``.
    """

    path: Path
    class_name: str
    language: str | None = None
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False
    resources: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateModel(Statement):
    """``CREATE MODEL name INPUT (a DOUBLE) OUTPUT (b DOUBLE) WITH (...)``."""

    path: Path
    inputs: tuple[Column, ...] = ()
    outputs: tuple[Column, ...] = ()
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """``CREATE CATALOG name COMMENT '...' WITH (...)``."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """``CREATE DATABASE name COMMENT '...' WITH (...)``; the path has one or two names."""

    path: Path
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False
