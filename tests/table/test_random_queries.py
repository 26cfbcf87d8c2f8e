"""The law of streaming SQL for random queries: over random tables that are cut into random epochs
and subtasks, with faults, rescaling and a restore from a savepoint in between, the changes of a
stream add up to the result of the batch, and to DuckDB's.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from query_grammar import DIM_COLUMNS, DIM_ROWS, ROWS, duck_text, flink_text, queries
from query_histories import HISTORIES, TABLES, History, Result, batch, streamed, table_of
from tests.table import lookup_tables

from millrace.table.connectors.registry import register_factory


@cache
def duck() -> duckdb.DuckDBPyConnection:
    """One for all queries: to make one takes ten times as long as a query."""
    return duckdb.connect()


def from_duckdb(query: str) -> Result:
    connection = duck()
    for name, rows in TABLES.items():
        connection.register(name, pa.Table.from_batches([rows]))
        connection.register(name * 2, pa.Table.from_batches([rows]))
    dim = table_of([tuple(row.values()) for row in lookup_tables.ROWS], DIM_COLUMNS)
    connection.register("dim", pa.Table.from_batches([dim]))
    return Counter(connection.execute(query).fetchall())


def assert_law(query: str, t: list[Any], u: list[Any], dim: list[Any], history: History) -> None:
    TABLES.update(t=table_of(t), u=table_of(u))
    lookup_tables.ROWS[:] = [dict(zip(DIM_COLUMNS, row, strict=True)) for row in dim]
    expected = from_duckdb(duck_text(query))
    text = flink_text(query)
    assert batch(text, history) == expected
    assert streamed(text, history) == expected


@pytest.fixture(autouse=True)
def lookups() -> None:
    register_factory(lookup_tables.LookupFactory())


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=45, deadline=None, derandomize=True, suppress_health_check=SLOW)
@given(query=queries(), t=ROWS, u=ROWS, dim=DIM_ROWS, history=HISTORIES)
def test_random_queries(
    query: str, t: list[Any], u: list[Any], dim: list[Any], history: History
) -> None:
    assert_law(query, t, u, dim, history)


@pytest.mark.torture
@settings(max_examples=3_000, deadline=None, derandomize=False, suppress_health_check=SLOW)
@given(query=queries(), t=ROWS, u=ROWS, dim=DIM_ROWS, history=HISTORIES)
def test_many_random_queries(
    query: str, t: list[Any], u: list[Any], dim: list[Any], history: History
) -> None:
    assert_law(query, t, u, dim, history)
