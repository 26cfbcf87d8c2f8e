"""ANALYZE TABLE: computes statistics and stores them in the catalog. Batch mode only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.base_type import literal as sql_text
from millrace.common.types.logical.logical_type import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    VarBinaryType,
    VarCharType,
    quoted,
)
from millrace.planner.catalog_reader import ColumnKind, ResolvedTable
from millrace.sql.parser import parse_query
from millrace.sql.statements import Analyze
from millrace.table.catalog.catalog_objects import (
    CatalogColumnStatisticsData,
    CatalogTable,
    CatalogTableStatistics,
)
from millrace.table.catalog.errors import not_found
from millrace.table.inserts import literal_text, written_table
from millrace.table.table_result import TableResult
from millrace.table.table_session import TableSession

__all__ = ["analyze"]

_WITHOUT_ORDER = (ArrayType, MapType, MultisetType, RowType)
_WITH_LENGTH = (CharType, VarCharType, BinaryType, VarBinaryType)


def analyze(session: TableSession, statement: Analyze) -> TableResult:
    """ANALYZE TABLE: the number of rows, and requested statistics of columns, by one query.

    Raises:
        JobDefinitionError: the session is streaming, or a name is unknown.
    """
    if session.streaming:
        raise JobDefinitionError(
            "ANALYZE TABLE needs batch mode: a stream has no end at which its rows could be "
            "counted. Use EnvironmentSettings.in_batch_mode()"
        )
    table = written_table(session, statement.path)
    _require_names(table, statement)
    columns = _analyzed(table, statement)
    keys = tuple(statement.partition)
    query = _query(table, statement, columns)
    rows = session.collect(session.bind_query(parse_query(query), query)).collect()
    statistics = {}
    for row in rows:
        values = dict(zip(keys, row, strict=False))
        name = "/".join(f"{key}={values[key]}" for key in table.partition_keys if key in values)
        statistics[name] = _statistics(columns, list(row)[len(keys) :])
    path = session.catalogs.qualified(statement.path)
    declared = session.catalogs.table(path)
    assert isinstance(declared, CatalogTable)
    kept = {**declared.statistics, **statistics}
    session.catalogs.alter_table(path, replace(declared, statistics=kept))
    return TableResult.ok()


def _require_names(table: ResolvedTable, statement: Analyze) -> None:
    physical = [column.name for column in table.columns if column.kind is ColumnKind.PHYSICAL]
    for name in statement.columns:
        if name not in physical:
            raise not_found("physical column", name, physical)
    for name in statement.partition:
        if name not in table.partition_keys:
            raise not_found("partition column", name, table.partition_keys)
    missing = [name for name in table.partition_keys if name not in statement.partition]
    if statement.partition and missing:
        raise JobDefinitionError(
            "PARTITION of ANALYZE TABLE must name all partition columns: "
            f"{', '.join(missing)} is missing; a column without a value stands for all its "
            "values"
        )


def _analyzed(table: ResolvedTable, statement: Analyze) -> list[tuple[str, LogicalType]]:
    return [
        (column.name, column.type)
        for column in table.columns
        if column.kind is ColumnKind.PHYSICAL
        and (statement.all_columns or column.name in statement.columns)
    ]


def _query(
    table: ResolvedTable, statement: Analyze, columns: Sequence[tuple[str, LogicalType]]
) -> str:
    types = {column.name: column.type.with_nullable(True) for column in table.columns}
    keys = [quoted(name) for name in statement.partition]
    selected = [*keys, "COUNT(*)"]
    for name, kind in columns:
        selected += _measures(quoted(name), kind)
    where = [
        f"{quoted(name)} = CAST({sql_text(literal_text(value))} AS {types[name]})"
        for name, value in statement.partition.items()
        if value is not None
    ]
    query = f"SELECT {', '.join(selected)} FROM {'.'.join(map(quoted, table.path))}"
    query += f" WHERE {' AND '.join(where)}" if where else ""
    return query + (f" GROUP BY {', '.join(keys)}" if keys else "")


def _measures(name: str, kind: LogicalType) -> list[str]:
    """Statistics of a column: count, distinct count, minimum, maximum, average and maximum
    length."""
    ordered = not isinstance(kind, _WITHOUT_ORDER)
    between = ordered and not isinstance(kind, (*_WITH_LENGTH, BooleanType))
    length = f"CHAR_LENGTH({name})" if isinstance(kind, (CharType, VarCharType)) else None
    nothing = "CAST(NULL AS STRING)"
    return [
        f"COUNT({name})",
        f"COUNT(DISTINCT {name})" if ordered else "CAST(NULL AS BIGINT)",
        f"CAST(MIN({name}) AS STRING)" if between else nothing,
        f"CAST(MAX({name}) AS STRING)" if between else nothing,
        f"AVG(CAST({length} AS DOUBLE))" if length else "CAST(NULL AS DOUBLE)",
        f"MAX({length})" if length else "CAST(NULL AS INT)",
    ]


def _statistics(
    columns: Sequence[tuple[str, LogicalType]], values: Sequence[Any]
) -> CatalogTableStatistics:
    count, *measured = values
    by_column = {}
    for i, (name, _) in enumerate(columns):
        present, *others = measured[6 * i : 6 * i + 6]
        by_column[name] = CatalogColumnStatisticsData(count - present, *others)
    return CatalogTableStatistics(count, by_column)
