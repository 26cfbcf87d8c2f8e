"""A batch job that goes on from a savepoint after some of its inputs have ended: what operators
gave at their end is not given again, whatever the parallelism is then."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.config import options
from millrace.common.errors import JobCancelledError
from millrace.common.savepoint_format_type import SavepointFormatType
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import run_local

SHORT, LONG, EPOCH = 21, 70, 7
QUERIES = {
    "groups": "SELECT k, SUM(v) FROM {t} GROUP BY k",
    "one group": "SELECT COUNT(*), SUM(v) FROM {t}",
    "a group without rows": "SELECT COUNT(*), SUM(v) FROM {t} WHERE v < 0",
    "sets": "SELECT k, COUNT(*) FROM {t} GROUP BY ROLLUP (k)",
    "groups of groups": "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM {t} GROUP BY k) "
    "GROUP BY c",
    "left join": "SELECT a.v, b.v FROM {t} a LEFT JOIN {t} b ON a.v = b.k",
    "full join": "SELECT a.v, b.v FROM {t} a FULL JOIN {t} b ON a.v = b.k + 3",
    "anti join": "SELECT k, v FROM {t} a WHERE NOT EXISTS (SELECT 1 FROM {t} b WHERE b.k = a.v)",
    "join without keys": "SELECT a.v, b.k FROM {t} a LEFT JOIN {t} b ON a.v < b.k",
    "rank": "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n "
    "FROM {t}) WHERE n <= 2",
    "sort": "SELECT * FROM (SELECT k, v FROM {t} ORDER BY v LIMIT 5)",
    "limit": "SELECT * FROM (SELECT CAST(1 AS INT), CAST(1 AS BIGINT) FROM {t} LIMIT 5)",
    "over": "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM {t}",
    "over all": "SELECT k, SUM(v) OVER (ORDER BY v) FROM {t}",
    "distinct": "SELECT DISTINCT k, 1 FROM {t}",
    "window": "SELECT k, COUNT(*) FROM TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '9' SECOND) "
    "GROUP BY k, window_start, window_end",
}


def rows_of(count: int) -> pa.RecordBatch:
    numbers = range(count)
    return pa.record_batch(
        [
            pa.array([number % 4 for number in numbers], pa.int32()),
            pa.array(numbers, pa.int64()),
            pa.array([1000 * number for number in numbers], pa.timestamp("ms")),
        ],
        ["k", "v", "ts"],
    )


def source_short() -> RecordBatchSource:
    return RecordBatchSource(rows_of(SHORT))


def source_long() -> RecordBatchSource:
    return RecordBatchSource(rows_of(LONG))


def run(
    query: str, parallelism: int, start_from: str | None = None, directory: Path | None = None
) -> tuple[Counter[tuple[Any, ...]], str]:
    """The rows of a batch job, to its end or, with a directory, to a savepoint in the middle."""
    rows: Counter[tuple[Any, ...]] = Counter()
    with run_local(2, 1, epoch_records=EPOCH) as cluster:
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("parallelism.default", str(parallelism))
        if start_from is not None:
            t_env.get_config().set(options.START_FROM.key, start_from)
        for name in ("short", "long"):
            t_env.execute_sql(
                f"CREATE TABLE {name}_rows (k INT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS "
                f"ts) WITH ('connector' = 'python', 'source' = '{__name__}:source_{name}')"
            )
        started: Future[Any] = Future()
        asked: list[Any] = []

        def act(progress: Any) -> None:
            if directory is not None and progress.epochs == 6:
                kind = SavepointFormatType.CANONICAL
                asked.append(started.result(60).stop_with_savepoint(False, str(directory), kind))

        cluster.listeners.append(act)
        result = t_env.execute_sql(query)
        client: Any = result.get_job_client()
        started.set_result(client)
        try:
            rows.update(map(tuple, result.collect()))
        except JobCancelledError:
            assert asked
        assert bool(asked) is (directory is not None), "the job ended before its savepoint"
        return rows, client.final_savepoint if asked else ""


@pytest.mark.turns(7)
@pytest.mark.parametrize("name", QUERIES)
def test_what_was_given_at_the_end_is_given_once(name: str, tmp_path: Path) -> None:
    query = QUERIES[name].format(t="short_rows")
    together = f"{query} UNION ALL SELECT k, v FROM long_rows"
    if name in ("one group", "a group without rows"):
        together = f"{query} UNION ALL SELECT CAST(k AS BIGINT), v FROM long_rows"
    whole, _ = run(together, 1)
    for before, after in ((1, 3), (2, 1)):
        directory = tmp_path / f"{before}-{after}"
        first, savepoint = run(together, before, directory=directory)
        second, _ = run(together, after, savepoint)
        assert first + second == whole, (before, after)
        assert first - Counter(zip(*rows_of(LONG).columns[:2], strict=True)), "no row of the end"
