"""Process table functions against a naive model: over random rows that are cut into random epochs
and subtasks, with faults, rescaling and a restore from a savepoint in between, a function with all
kinds of state and timers gives what the model gives for the rows of each partition in their order.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common import Row
from millrace.common.config import options
from millrace.common.errors import JobCancelledError
from millrace.table import EnvironmentSettings, ListView, MapView, TableEnvironment
from millrace.table.udf import ArgumentTrait, ProcessTableFunction, StateHint, udptf
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import Faults, run_local

EPOCH = datetime(1970, 1, 1)
Event = tuple[str, int, int]
"""Key, amount, time in s: even ones, so that no timer without a name goes with another."""
ROWS: list[Event] = []


@dataclass
class Total:
    sum: int = 0


class Watched(ProcessTableFunction):
    """Sums amounts; reports when a key is idle, and a while after some amounts."""

    def eval(
        self,
        ctx: ProcessTableFunction.Context,
        total: Annotated[Total, StateHint],
        log: Annotated[ListView[int], StateHint],
        counts: Annotated[MapView[int, int], StateHint],
        event: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
    ) -> Iterator[tuple[str, int, str]]:
        amount, time = event.amount, ctx.time_context(int)
        total.sum += amount
        log.add(amount)
        counts[amount % 3] = counts[amount % 3] + 1 if amount % 3 in counts else 1
        yield "row", total.sum, _shown(log, counts)
        time.register_on_time("idle", time.time() + 10_000)
        if amount % 4 == 0:
            time.register_on_time(time.time() + 7_000)
        if amount == 5:
            time.clear_timer("idle")
        if amount == 6:
            ctx.clear_all_timers()
        if amount == 7:
            ctx.clear_state("log")
        if amount == 9:
            ctx.clear_all()

    def on_timer(
        self,
        ctx: ProcessTableFunction.OnTimerContext,
        total: Total,
        log: ListView[int],
        counts: MapView[int, int],
    ) -> Iterator[tuple[str, int, str]]:
        yield ctx.current_timer() or "later", total.sum, _shown(log, counts)
        total.sum += 1000
        if ctx.current_timer() == "idle":
            ctx.clear_all_state()


def _shown(log: Any, counts: Any) -> str:
    return f"{list(log)} {sorted(counts.items())}"


class KeyModel:
    """A key's state and timers, and what the function gives for it."""

    def __init__(self, key: str, found: list[tuple[Any, ...]]) -> None:
        self._key, self._found = key, found
        self._timers: dict[Any, int] = {}
        self._total = 0
        self._log: list[int] = []
        self._counts: dict[int, int] = {}

    def fire(self, until: float) -> None:
        """Timers before a time."""
        for name, due in sorted(self._timers.items(), key=lambda item: item[1]):
            if due < until:
                del self._timers[name]
                self._give("idle" if name == "idle" else "later", due)
                self._total += 1000
                if name == "idle":
                    self._forget()

    def take(self, time: int, amount: int) -> None:
        """A row."""
        self.fire(time)
        self._total += amount
        self._log.append(amount)
        self._counts[amount % 3] = self._counts.get(amount % 3, 0) + 1
        self._give("row", time)
        self._timers["idle"] = time + 10
        if amount % 4 == 0:
            self._timers[time + 7] = time + 7
        if amount == 5:
            del self._timers["idle"]
        if amount in (6, 9):
            self._timers.clear()
        if amount == 7:
            self._log.clear()
        if amount == 9:
            self._forget()

    def _forget(self) -> None:
        self._total = 0
        self._log.clear()
        self._counts.clear()

    def _give(self, what: str, time: int) -> None:
        shown = _shown(self._log, self._counts)
        self._found.append((self._key, what, self._total, shown, EPOCH + timedelta(seconds=time)))


def expected(events: list[Event]) -> Counter[tuple[Any, ...]]:
    """What the function gives, a key after the other; rows of one time by their amounts."""
    found: list[tuple[Any, ...]] = []
    keys = defaultdict(list)
    for key, amount, time in events:
        keys[key].append((time, amount))
    for key, rows in keys.items():
        model = KeyModel(key, found)
        for time, amount in sorted(rows):
            model.take(time, amount)
        model.fire(float("inf"))
    return Counter(found)


def source() -> RecordBatchSource:
    columns = list(zip(*ROWS, strict=True)) or [(), (), ()]
    names = ("k", "amount", "at")
    kinds = (pa.string(), pa.int64(), pa.int64())
    arrays = [pa.array(each, kind) for each, kind in zip(columns, kinds, strict=True)]
    return RecordBatchSource(pa.RecordBatch.from_arrays(arrays, names=names))


TABLE = f"""
CREATE TABLE events (k STRING, amount BIGINT, `at` BIGINT,
    ts AS TIMESTAMPADD(SECOND, CAST(`at` AS INT), TIMESTAMP '1970-01-01 00:00:00'),
    WATERMARK FOR ts AS ts - INTERVAL '8' SECOND)
WITH ('connector' = 'python', 'source' = '{__name__}:source')
"""
QUERY = """
SELECT * FROM watched(TABLE events PARTITION BY k ORDER BY (ts, amount), DESCRIPTOR(ts), 'watch')
"""


@dataclass(frozen=True)
class History:
    """How a run goes; after which epoch the job is rescaled, or goes on from a savepoint."""

    epoch_records: int | None = None
    parallelism: int = 1
    seed: int | None = None
    faults: Faults | None = None
    rescale: tuple[int, int] | None = None
    savepoint: tuple[int, int] | None = None


CHANGES = st.none() | st.tuples(st.integers(1, 8), st.integers(1, 3))
HISTORIES = st.builds(
    History,
    st.sampled_from([2, 5, 1, None]),
    st.integers(1, 3),
    st.integers(0, 9),
    st.none() | st.just(Faults(0.15, 0.15, 0.15, 0.1)),
    CHANGES,
    CHANGES,
)


def run(
    history: History,
    found: Counter[Any],
    directory: str,
    start_from: str | None = None,
    query: str = QUERY,
) -> str | None:
    """Run until the end or until a savepoint, whose path is returned."""
    with run_local(
        1, history.seed, epoch_records=history.epoch_records, faults=history.faults, epoch_limit=600
    ) as cluster:
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("parallelism.default", str(history.parallelism))
        if start_from is not None:
            t_env.get_config().set(options.START_FROM.key, start_from)
        t_env.execute_sql(TABLE)
        t_env.create_temporary_function("watched", udptf(Watched()))
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
            found.update(tuple(row) for row in result.collect())
        except JobCancelledError:
            assert asked
        return client.final_savepoint if asked else None


def assert_law(jittered: list[tuple[str, int, int]], history: History) -> None:
    """Times grow by twos, each up to 8 s late."""
    ROWS[:] = [
        (key, amount, max(0, 2 * (index - late)))
        for index, (key, amount, late) in enumerate(jittered)
    ]
    found: Counter[Any] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        savepoint = run(history, found, directory)
        if savepoint is not None and history.savepoint is not None:
            run(History(3, history.savepoint[1]), found, directory, savepoint)
    assert found == expected(ROWS)


EVENTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.integers(0, 3)), max_size=40
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=EVENTS, history=HISTORIES)
def test_a_function_with_state_and_timers(events: list[Any], history: History) -> None:
    assert_law(events, history)


def test_with_everything_in_between() -> None:
    """A rescale, a savepoint and faults in one run."""
    events = [("abcd"[index % 4], index % 10, index % 4) for index in range(60)]
    assert_law(events, History(5, 2, 3, Faults(0.15, 0.15, 0.15, 0.1), (2, 3), (6, 1)))


def test_state_is_found_by_its_uid(tmp_path: Path) -> None:
    """Although what is around the function is another query."""
    ROWS[:] = [("ab"[index % 2], index % 5, 2 * index) for index in range(30)]
    found: Counter[Any] = Counter()
    savepoint = run(History(5, savepoint=(3, 1)), found, str(tmp_path))
    assert savepoint is not None
    assert sum(found.values()) < sum(expected(ROWS).values())
    table = "TABLE (SELECT * FROM events WHERE amount >= 0)"
    query = f"SELECT * FROM ({QUERY.replace('TABLE events', table)}) WHERE f1 >= 0"
    run(History(5), found, str(tmp_path), savepoint, query)
    assert found == expected(ROWS)


@pytest.mark.torture
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=EVENTS, history=HISTORIES)
def test_many(events: list[Any], history: History) -> None:
    assert_law(events, history)
