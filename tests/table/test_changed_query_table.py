"""The table `changed_queries.txt`: which changes of a query keep its state, and which are refused.

By the uids of all plans; a part of them is run, too: a savepoint of the first query either gives
the second what its own would have given, or is refused with the operators that lack state.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import lookup_tables
import pyarrow as pa
import pytest
from query_grammar import COLUMNS, DIM_COLUMNS
from query_histories import table_of

from millrace.common import Row
from millrace.common.config import options
from millrace.common.errors import CheckpointError, JobCancelledError, JobExecutionError
from millrace.common.source import ReaderContext, SplitReader
from millrace.common.types.batch import ColumnBatch
from millrace.job_graph.transformation import Role, Transformation
from millrace.planner.relational.sink_nodes import CollectSink
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.connectors.registry import register_factory
from millrace.table.udf import ArgumentTrait, ProcessTableFunction, StateHint, udf, udptf
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import run_local

STATELESS = {"Calc", "Correlate", "Expand", "LookupJoin", "Union", "WindowTableFunction"}
START = datetime(2024, 1, 1)
ROWS, BEFORE = 40, 11
"""Rows of a table, and of them those that are read before the savepoint."""
TEXTS = ("a", "b", "ab", "1", '{"a":1}')


@dataclass(frozen=True)
class Change:
    """A query, another one, and whether the other one finds the state of the first."""

    first: str
    second: str
    kept: bool
    run: bool


def changes() -> Iterator[Change]:
    first = ""
    for line in Path(__file__).with_name("changed_queries.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        verdict, colon, query = line.partition(": ")
        words = verdict.split()
        if colon and words[0] in ("kept", "refused"):
            yield Change(first, query, words[0] == "kept", words[1:] == ["run"])
        else:
            first = line


CHANGES = list(changes())
RUN = [each for each in CHANGES if each.run]


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(set(CHANGES)) == len(CHANGES) >= 150
    assert len(RUN) >= 50


class GatedReader(SplitReader[Any]):
    """Reads rows up to a gate, and waits there until the job is stopped."""

    def __init__(self, data: pa.RecordBatch, start: int, gate: int) -> None:
        self._data, self._next, self._gate = data, start, gate

    def read(self, max_records: int) -> ColumnBatch:
        start, self._next = self._next, max(self._next, min(self._gate, self._next + max_records))
        return ColumnBatch(self._data, None, None, "row").slice(start, self._next)

    def position(self) -> int:
        return self._next

    def finished(self) -> bool:
        return self._next >= self._data.num_rows


class GatedSource(RecordBatchSource):
    """Rows of one split."""

    def __init__(self, data: pa.RecordBatch, gate: int) -> None:
        super().__init__(data)
        self._rows, self._gate = data, gate

    def create_split_reader(
        self, split: Any, position: Any, context: ReaderContext
    ) -> SplitReader[Any]:
        return GatedReader(self._rows, position or 0, self._gate)


def rows_of(step: int) -> pa.RecordBatch:
    return table_of(
        [
            (
                number,
                None if number % 7 == 6 else number * step % 3,
                None if number % 5 == 3 else number * 7 % 17 - 3,
                number / 4,
                Decimal(number) / 4,
                None if number % 9 == 8 else TEXTS[number * step % len(TEXTS)],
                number % 3 == 0,
                START + timedelta(seconds=number * 2 + number % 4),
            )
            for number in range(ROWS)
        ]
    )


def t_before() -> GatedSource:
    return GatedSource(rows_of(1), BEFORE)


def u_before() -> GatedSource:
    return GatedSource(rows_of(2), BEFORE)


def t_whole() -> GatedSource:
    return GatedSource(rows_of(1), ROWS)


def u_whole() -> GatedSource:
    return GatedSource(rows_of(2), ROWS)


@pytest.fixture(scope="module", autouse=True)
def looked_up() -> None:
    register_factory(lookup_tables.LookupFactory())
    lookup_tables.ROWS[:] = [
        dict(zip(DIM_COLUMNS, (k, TEXTS[k], k * 2, Decimal(k), k == 1), strict=True))
        for k in range(3)
    ]


def plus_one(value: int | None) -> int | None:
    return None if value is None else value + 1


def plus_two(value: int | None) -> int | None:
    return None if value is None else value + 2


@dataclass
class Seen:
    rows: int = 0


class Numbered(ProcessTableFunction):
    """Numbers the rows of a partition."""

    def eval(
        self,
        seen: Annotated[Seen, StateHint],
        given: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
    ) -> Iterator[int]:
        seen.rows += 1
        yield seen.rows


def environment(part: str, start_from: str | None = None) -> TableEnvironment:
    """A session whose tables end, or wait behind the first rows; ``tt`` and ``uu`` have a
    watermark."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    if start_from is not None:
        t_env.get_config().set(options.START_FROM.key, start_from)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    for name in ("t", "u"):
        connector = f"WITH ('connector' = 'python', 'source' = '{__name__}:{name}_{part}')"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) {connector}")
        watermark = "WATERMARK FOR ts AS ts - INTERVAL '4' SECOND"
        t_env.execute_sql(f"CREATE TABLE {name}{name} ({columns}, {watermark}) {connector}")
    dim = ", ".join(f"{name} {kind}" for name, kind in DIM_COLUMNS.items())
    t_env.execute_sql(f"CREATE TABLE dim ({dim}) WITH ('connector' = 'looked-up')")
    for name, function in (("f", plus_one), ("g", plus_two)):
        t_env.create_temporary_function(name, udf(function, result_type="BIGINT"))
    t_env.create_temporary_function("numbered", udptf(Numbered()))
    return t_env


@cache
def shared_environment() -> TableEnvironment:
    return environment("whole")


@cache
def uids(query: str) -> frozenset[str]:
    """Uids of the operators of a query that have state."""
    t_env = shared_environment()
    pending: list[Transformation] = t_env._session.transformations(
        [CollectSink(t_env.sql_query(query).node)]
    )
    found = set()
    while pending:
        each = pending.pop()
        pending += [rows.transformation for rows in each.inputs]
        if each.role is not Role.COLLECT and each.name.partition("[")[0] not in STATELESS:
            found.add(each.uid or "")
    return frozenset(found)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: f"{each.first[:60]}: {each.second}")
def test_uids_tell_whether_state_fits(change: Change) -> None:
    assert (uids(change.first) <= uids(change.second)) is change.kept


def stored_uids() -> Iterator[tuple[str, frozenset[str]]]:
    for line in Path(__file__).with_name("query_uids.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            found, _, query = line.partition(": ")
            yield query, frozenset(found.split())


def test_uids_are_those_of_former_releases() -> None:
    stored = dict(stored_uids())
    assert stored.keys() == {each.first for each in CHANGES}
    assert {query: uids(query) for query in stored} == stored


def applied(query: str, start_from: str | None = None, directory: str | None = None) -> Any:
    """What a query's changes add up to, and the path of the savepoint with which it is stopped
    once it has read the first rows."""
    left: Counter[str] = Counter()
    with run_local(epoch_records=8, epoch_limit=100) as cluster:
        t_env = environment("whole" if directory is None else "before", start_from)
        started: Future[Any] = Future()
        asked: list[Any] = []
        read = [0]

        def act(progress: Any) -> None:
            waits = progress.records == read[0] > 0
            read[0] = progress.records
            if directory is not None and waits and not asked:
                asked.append(started.result(60).stop_with_savepoint(savepoint_directory=directory))

        cluster.listeners.append(act)
        result = t_env.execute_sql(query)
        client: Any = result.get_job_client()
        started.set_result(client)
        try:
            for row in result.collect():
                left[str(tuple(row))] += -1 if row.get_row_kind().value in (1, 3) else 1
        except JobCancelledError:
            assert asked
        return left, client.final_savepoint if asked else None


@pytest.fixture(scope="module")
def savepoints(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Savepoint of a query in the middle of its tables, with its rows until then."""
    directory = str(tmp_path_factory.mktemp("savepoints"))

    @cache
    def savepoint(query: str) -> Any:
        return applied(query, directory=os.path.join(directory, f"{len(os.listdir(directory))}"))

    return savepoint


@pytest.mark.turns(7)
@pytest.mark.parametrize("change", RUN, ids=lambda each: f"{each.first[:60]}: {each.second}")
def test_state_goes_on_or_is_refused(change: Change, savepoints: Any) -> None:
    _, path = savepoints(change.first)
    if not change.kept:
        with pytest.raises(CheckpointError, match="which the job does not have") as caught:
            applied(change.second, path)
        assert "while its keys, columns, expressions and aggregates stay the same" in str(
            caught.value
        )
        return
    before, _ = savepoints(change.second)
    whole, _ = applied(change.second)
    after, _ = applied(change.second, path)
    assert any(after.values())
    before = before.copy()
    before.update(after)
    assert {row: n for row, n in before.items() if n} == {row: n for row, n in whole.items() if n}


def test_a_process_function_keeps_its_state_by_uid_and_partition(savepoints: Any) -> None:
    """Its uid is the name of the function, or chosen: it does not tell what the rows are."""
    first = "SELECT * FROM numbered(given => TABLE t PARTITION BY k)"
    before, path = savepoints(first)
    after, _ = applied(
        "SELECT * FROM numbered(given => TABLE (SELECT k FROM t WHERE id >= 0) PARTITION BY k)",
        path,
    )
    whole, _ = applied(first)
    assert before + after == whole
    with pytest.raises(
        JobExecutionError, match="is that of given by k INT, but .* given by v BIGINT"
    ):
        applied("SELECT * FROM numbered(given => TABLE t PARTITION BY v)", path)
    other = "SELECT * FROM numbered(given => TABLE t PARTITION BY v, uid => 'by-v')"
    with pytest.raises(CheckpointError, match="which the job does not have"):
        applied(other, path)
