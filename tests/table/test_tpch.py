"""TPC-H: the same answers as DuckDB in batch mode, and the same final results of streams.

The queries are in ``tests/table/tpch``, with the validation parameters of the specification.
"""

from __future__ import annotations

import math
import re
import subprocess
import sysconfig
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.table.resident_cuts import ResidentCut

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.testing import run_local

QUERIES = sorted((Path(__file__).parent / "tpch").glob("q*.sql"))
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUICK_STREAMS = {"q01", "q04", "q06", "q11", "q12", "q13", "q14", "q16", "q22"}
SQL_TYPES = {"int64": "BIGINT", "int32": "INT", "date32[day]": "DATE", "string_view": "STRING"}
Answer = Sequence[tuple[Any, ...]]


def generated(directory: Path, scale_factor: float) -> Path:
    """The tables as Parquet files, the same ones at each call."""
    command = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    arguments = ["parquet", "--scale-factor", str(scale_factor), "--output-dir", str(directory)]
    subprocess.run([command, *arguments], check=True, capture_output=True)
    return directory


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("tpch"), 0.01)


@pytest.fixture(scope="module")
def larger_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("tpch"), 0.02)


def sql_type(kind: Any) -> str:
    name = str(kind)
    return SQL_TYPES.get(name) or re.sub(r"decimal128\((.*)\)", r"DECIMAL(\1)", name)


def declare(t_env: TableEnvironment, directory: Path) -> None:
    for name in TABLES:
        path = directory / f"{name}.parquet"
        columns = ", ".join(f"{f.name} {sql_type(f.type)}" for f in pq.read_schema(path))
        options = f"'connector' = 'filesystem', 'format' = 'parquet', 'path' = '{path}'"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({options})")


def answer(query: str, directory: Path, settings: EnvironmentSettings, **cluster: Any) -> Answer:
    with run_local(2, 1, **cluster):
        t_env = TableEnvironment.create(settings)
        t_env.get_config().set("parallelism.default", "2")
        declare(t_env, directory)
        return [tuple(row) for row in materialized(t_env.execute_sql(query).collect())]


def duck_answer(query: str, directory: Path) -> Answer:
    connection = duckdb.connect()
    for name in TABLES:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{directory}/{name}.parquet'")
    return connection.execute(query.replace("`", '"')).fetchall()


def same(ours: Any, theirs: Any) -> bool:
    """Equal; what DuckDB gives as floating point numbers are decimals here."""
    if isinstance(theirs, float) and isinstance(ours, Decimal):
        last_digit = 10.0 ** int(ours.as_tuple().exponent)
        return math.isclose(float(ours), theirs, rel_tol=1e-12, abs_tol=last_digit)
    return type(ours) is type(theirs) and bool(ours == theirs)


def assert_same(ours: Answer, theirs: Answer) -> None:
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        assert all(map(same, one, two)), (one, two)


def in_any_order(rows: Answer, theirs: Answer) -> Answer:
    """Rows by those of their columns that are exact."""
    first = theirs[0] if theirs else ()
    exact = [index for index, value in enumerate(first) if not isinstance(value, float)]
    return sorted(rows, key=lambda row: [str(row[index]) for index in exact])


def assert_stream_agrees(path: Path, directory: Path, **cluster: Any) -> None:
    query = path.read_text()
    theirs = duck_answer(query, directory)
    if "LIMIT" not in query:
        query = re.sub(r"ORDER BY [^()]*$", "", query)  # streams are sorted by time only
    settings = EnvironmentSettings.in_streaming_mode()
    ours = answer(query, directory, settings, **cluster)
    assert_same(in_any_order(ours, theirs), in_any_order(theirs, theirs))


@pytest.mark.turns(7)
@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_batch_gives_the_answers_of_duckdb(path: Path, tables: Path) -> None:
    query = path.read_text()
    settings = EnvironmentSettings.in_batch_mode()
    ours = answer(query, tables, settings, epoch_records=10_000)
    assert_same(ours, duck_answer(query, tables))


@pytest.mark.parametrize(
    "path", [each for each in QUERIES if each.stem in QUICK_STREAMS], ids=lambda path: path.stem
)
def test_quick_streams_end_with_the_answers_of_duckdb(path: Path, tables: Path) -> None:
    assert_stream_agrees(path, tables, epoch_records=10_000)


@pytest.mark.torture
@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_streams_end_with_the_answers_of_duckdb(path: Path, larger_tables: Path) -> None:
    assert_stream_agrees(path, larger_tables, epoch_records=5_000)


FLUSHED = ResidentCut(buffer_timeout=0.005, barrier_interval=100)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(each, marks=[] if each.stem in ("q12", "q22") else pytest.mark.torture)
        for each in QUERIES
    ],
    ids=lambda path: path.stem,
)
def test_streams_on_resident_tasks_end_with_the_answers_of_duckdb(path: Path, tables: Path) -> None:
    assert_stream_agrees(path, tables, executor=FLUSHED.executor)
