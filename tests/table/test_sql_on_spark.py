"""SQL runs on Spark, with an exchange by key, and its changelog adds up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from millrace.common import Row
from millrace.common.config import options
from millrace.common.errors import CheckpointError, JobCancelledError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.table_result import materialized
from millrace.table.udf import ArgumentTrait, ProcessTableFunction, StateHint, udptf

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.mark.turns(5)
def test_groups_of_a_stream() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', "
        "'fields.i.start' = '1', 'fields.i.end' = '1000')"
    )
    query = "SELECT MOD(i, 3) AS m, COUNT(*) AS c FROM n WHERE i > 100 GROUP BY MOD(i, 3)"
    rows = materialized(t_env.execute_sql(query).collect())
    assert sorted(tuple(row) for row in rows) == [(0, 300), (1, 300), (2, 300)]


@dataclass
class Total:
    sum: int = 0


class Sums(ProcessTableFunction):
    def eval(
        self,
        ctx: ProcessTableFunction.Context,
        total: Annotated[Total, StateHint],
        numbers: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
    ) -> Iterator[int]:
        total.sum += numbers.i
        ctx.time_context(int).register_on_time("end", 10_000)
        yield from ()

    def on_timer(self, total: Total) -> Iterator[int]:
        yield total.sum


@pytest.mark.turns(5)
def test_a_process_table_function() -> None:
    """Its function goes to the workers; its timers fire at the end of the input."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, m AS MOD(i, 3), ts AS TO_TIMESTAMP_LTZ(i, 3), WATERMARK FOR ts "
        "AS ts) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', "
        "'fields.i.start' = '1', 'fields.i.end' = '999')"
    )
    t_env.create_temporary_function("sums", udptf(Sums()))
    query = "SELECT * FROM sums(TABLE n PARTITION BY m, on_time => DESCRIPTOR(ts))"
    with t_env.execute_sql(query).collect() as rows:
        found = sorted((row[0], row[1]) for row in rows)
    assert found == [(m, sum(i for i in range(1, 1000) if i % 3 == m)) for m in range(3)]


@pytest.mark.turns(5)
def test_a_batch_of_many_epochs() -> None:
    """Groups, ranks and joins give final rows, each once."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("millrace.epoch.max-records-per-split", "40")
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT) WITH ('connector' = 'datagen', 'fields.i.kind' = 'sequence', "
        "'fields.i.start' = '1', 'fields.i.end' = '300')"
    )
    t_env.execute_sql(
        "CREATE VIEW g AS SELECT MOD(i, 3) AS m, COUNT(*) AS c, MAX(i) AS top FROM n "
        "GROUP BY MOD(i, 3)"
    )
    query = (
        "SELECT g.m, g.c, f.i FROM g JOIN (SELECT * FROM (SELECT i, MOD(i, 3) AS m, ROW_NUMBER() "
        "OVER (PARTITION BY MOD(i, 3) ORDER BY i DESC) AS r FROM n) WHERE r = 1) f ON f.m = g.m "
        "AND f.i = g.top WHERE g.c >= (SELECT COUNT(*) FROM n) / 3"
    )
    rows = [tuple(row) for row in t_env.execute_sql(query).collect()]
    assert sorted(rows) == [(0, 100, 300), (1, 100, 298), (2, 100, 299)]


def grouped(query: str, start_from: str = "", directory: Path | None = None) -> str:
    """Run a query until it has given a row; the savepoint with which it is stopped then."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    if start_from:
        t_env.get_config().set(options.START_FROM.key, start_from)
    t_env.execute_sql(
        "CREATE TABLE n (i BIGINT, k BIGINT, v BIGINT, w BIGINT) WITH ('connector' = 'datagen', "
        "'rows-per-second' = '100')"
    )
    result = t_env.execute_sql(query)
    client: Any = result.get_job_client()
    asked = False
    try:
        for _ in result.collect():
            if not asked:
                asked = True
                client.stop_with_savepoint(savepoint_directory=str(directory))
    except JobCancelledError:
        assert asked
    return str(client.final_savepoint)


@pytest.mark.turns(5)
def test_a_changed_query_takes_no_state_of_the_former_one(tmp_path: Path) -> None:
    """Neither with another column that is summed, nor with another one that is grouped by."""
    savepoint = grouped("SELECT v, SUM(i) AS s FROM n GROUP BY v", directory=tmp_path)
    for query in ("SELECT v, SUM(k) AS s FROM n GROUP BY v", "SELECT w, SUM(i) FROM n GROUP BY w"):
        with pytest.raises(CheckpointError, match="has state of 'GroupAggregate"):
            grouped(query, savepoint)
