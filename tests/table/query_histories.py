"""Histories of a stream, for laws: how its input is cut into epochs and subtasks, which faults
there are, when it is rescaled, and when it goes on from a savepoint. `streamed` is what a query's
changes add up to then, `batch` what the same query gives in batch mode.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from hypothesis import strategies as st
from query_grammar import COLUMNS, DIM_COLUMNS
from tests.table.resident_cuts import RESIDENT_CUTS, ResidentCut

from millrace.common import Row
from millrace.common.config import options
from millrace.common.errors import JobCancelledError
from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.udf import ArgumentTrait, ProcessTableFunction, StateHint, udptf
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import Faults, run_local

__all__ = ["HISTORIES", "TABLES", "History", "Result", "batch", "streamed", "table_of"]

Result = Counter[tuple[Any, ...]]
TABLES: dict[str, pa.RecordBatch] = {}
"""What the sources of the tables read."""


@dataclass
class Seen:
    """The state of `Counting`."""

    rows: int = 0


class Counting(ProcessTableFunction):
    """Numbers the rows of a partition."""

    def eval(
        self,
        seen: Annotated[Seen, StateHint],
        row: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
    ) -> Iterator[int]:
        seen.rows += 1
        yield seen.rows


def source_t() -> RecordBatchSource:
    return RecordBatchSource(TABLES["t"])


def source_u() -> RecordBatchSource:
    return RecordBatchSource(TABLES["u"])


def row_type(columns: dict[str, str]) -> RowType:
    kind = parse_type("ROW<" + ", ".join(f"{n} {t}" for n, t in columns.items()) + ">")
    assert isinstance(kind, RowType)
    return kind


def table_of(rows: list[Any], columns: dict[str, str] = COLUMNS) -> pa.RecordBatch:
    """Rows as columns."""
    schema = arrow_schema(row_type(columns))
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True)
class History:
    """How a run goes."""

    epoch_records: int | None = None
    parallelism: int = 1
    workers: int = 1
    seed: int | None = None
    faults: Faults | None = None
    rescale: tuple[int, int] | None = None
    savepoint: tuple[int, int] | None = None
    """After which epoch the job is rescaled, or goes on from a savepoint, and to how many."""
    resident: ResidentCut | None = None
    """How a run on resident tasks is cut; None: by epochs, as is what goes on from a savepoint."""


CHANGES = st.none() | st.tuples(st.integers(1, 12), st.integers(1, 3))
HISTORIES = st.builds(
    History,
    st.sampled_from([3, 10, 1, None]),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 9),
    st.none() | st.just(Faults(0.15, 0.15, 0.15, 0.1)),
    CHANGES,
    CHANGES,
    st.none() | st.none() | RESIDENT_CUTS,
)


def environment(streaming: bool, start_from: str | None, parallelism: int) -> TableEnvironment:
    """A session with the tables; ``tt`` and ``uu`` are the same with a watermark."""
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    t_env = TableEnvironment.create(mode.build())
    t_env.get_config().set("parallelism.default", str(parallelism))
    if start_from is not None:
        t_env.get_config().set(options.START_FROM.key, start_from)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    for name in ("t", "u"):
        connector = f"WITH ('connector' = 'python', 'source' = '{__name__}:source_{name}')"
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) {connector}")
        watermark = "WATERMARK FOR ts AS ts - INTERVAL '13' SECOND"
        t_env.execute_sql(f"CREATE TABLE {name}{name} ({columns}, {watermark}) {connector}")
    dim = ", ".join(f"{name} {kind}" for name, kind in DIM_COLUMNS.items())
    t_env.execute_sql(f"CREATE TABLE dim ({dim}) WITH ('connector' = 'looked-up')")
    t_env.execute_sql(
        f"CREATE TABLE adim ({dim}) WITH ('connector' = 'looked-up', 'mode' = 'async', "
        "'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '2')"
    )
    t_env.create_temporary_function("counting", udptf(Counting()))
    return t_env


def add_changes(left: Result, rows: Iterable[Any]) -> None:
    """Add a changelog up; what is taken back must be there."""
    for row in rows:
        values, kind = tuple(row), row.get_row_kind().value
        if kind in (1, 3):
            assert left[values] > 0, f"{row} was taken back and is not there"
            left[values] -= 1
        else:
            left[values] += 1


def streamed(query: str, history: History) -> Result:
    """What the changes of a stream add up to."""
    left: Result = Counter()
    with tempfile.TemporaryDirectory() as directory:
        savepoint = run(query, history, left, directory)
        if savepoint is not None and history.savepoint is not None:
            run(query, History(7, history.savepoint[1]), left, directory, savepoint)
    return +left


def run(
    query: str, history: History, left: Result, directory: str, start_from: str | None = None
) -> str | None:
    """Run until the end or until a savepoint, whose path is returned."""
    with run_local(
        history.workers,
        history.seed,
        epoch_records=history.epoch_records,
        faults=history.faults,
        epoch_limit=600,
        executor=history.resident.executor if history.resident else None,
    ) as cluster:
        t_env = environment(True, start_from, history.parallelism)
        started: Future[Any] = Future()
        asked: list[Any] = []

        def act(progress: Any) -> None:
            if history.rescale and progress.epochs == history.rescale[0]:
                started.result(60).rescale(history.rescale[1])
            if history.savepoint and progress.epochs == history.savepoint[0] and not asked:
                path = os.path.join(directory, "savepoint")
                asked.append(started.result(60).stop_with_savepoint(savepoint_directory=path))

        cluster.listeners.append(act)
        result = t_env.execute_sql(query)
        client: Any = result.get_job_client()
        started.set_result(client)
        try:
            add_changes(left, result.collect())
        except JobCancelledError:
            assert asked
        return client.final_savepoint if asked else None


def batch(query: str, history: History) -> Result:
    """What a query gives in batch mode, of an input that is cut like that of the stream."""
    with run_local(
        history.workers,
        history.seed,
        epoch_records=history.epoch_records,
        faults=history.faults,
        epoch_limit=600,
    ):
        rows = list(environment(False, None, history.parallelism).execute_sql(query).collect())
    assert not any(row.get_row_kind().value for row in rows), "a batch gives final rows only"
    return Counter(tuple(row) for row in rows)
