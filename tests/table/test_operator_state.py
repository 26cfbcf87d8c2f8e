"""The state of every operator of SQL: a savepoint has it, the state processor reads it, a job of
another parallelism goes on from it, and it has a time to live where nothing else ends its life.

An operator without a query in `QUERIES` fails `test_every_operator_is_known`.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pytest

import millrace.table_runtime
from millrace.common import Row
from millrace.common.config import options
from millrace.common.errors import JobCancelledError
from millrace.common.savepoint_format_type import SavepointFormatType
from millrace.common.types.inferred_type import NULL, common_type, inferred_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.row import UPSERTS, RowKind
from millrace.job_graph.transformation import Transformation
from millrace.planner.execution.table_factory import TableFactory
from millrace.planner.execution.translation import Translator
from millrace.runtime.operator import Operator
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader, StateInfo
from millrace.state_processor.arrow_columns import FrameColumn, arrow_batches, has_json
from millrace.state_processor.state_queries import EntriesQuery
from millrace.state_processor.state_rows import FIXED, column_names, written_types
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.connectors.registry import register_factory
from millrace.table.expressions import col, row_interval
from millrace.table.udf import ArgumentTrait, ProcessTableFunction, StateHint, udptf
from millrace.table.window import Tumble
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import CollectingSink, run_local

TTL = 3_600_017
ROWS = 60
START = datetime(2024, 1, 1)
SINK: CollectingSink[Row] = CollectingSink()


def rows_of(step: int) -> pa.RecordBatch:
    numbers = range(ROWS)
    return pa.record_batch(
        [
            pa.array(numbers, pa.int64()),
            pa.array([None if i % 7 == 6 else i * step % 3 for i in numbers], pa.int32()),
            pa.array([i * step % 11 for i in numbers], pa.int64()),
            pa.array(
                [None if i % 5 == 4 else Decimal(i) / 4 for i in numbers], pa.decimal128(10, 2)
            ),
            pa.array(["abc"[i % 3] for i in numbers]),
            pa.array([START + timedelta(seconds=10 * i) for i in numbers], pa.timestamp("ms")),
        ],
        ["id", "k", "v", "d", "s", "ts"],
    )


def source_t() -> RecordBatchSource:
    return RecordBatchSource(rows_of(1))


def source_u() -> RecordBatchSource:
    return RecordBatchSource(rows_of(2))


class ByKey(TableFactory):
    """Tables whose rows come and go by their key, as those of upsert-kafka."""

    identifier = "by-key"

    def changes(self, table: Any, options: Any) -> frozenset[RowKind]:
        return UPSERTS

    def accepts(self, table: Any, options: Any) -> frozenset[RowKind]:
        return UPSERTS

    def create_source(self, request: Any, options: Any) -> Any:
        keys = [i % 5 for i in range(ROWS)]
        kinds = [3 if i % 9 == 8 else 2 for i in range(ROWS)]
        data = pa.record_batch([pa.array(keys, pa.int64()), pa.array(range(ROWS))], ["k", "n"])
        return RecordBatchSource(data, pa.array(kinds, pa.int8()))

    def create_sink(self, request: Any, options: Any) -> Any:
        return SINK


@dataclass
class Sums:
    sum: int = 0


class Summing(ProcessTableFunction):
    """Has state and timers, and takes rows in an order."""

    def eval(
        self,
        ctx: ProcessTableFunction.Context,
        sums: Annotated[Sums, StateHint],
        row: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
    ) -> Iterator[tuple[str, int]]:
        sums.sum += row.v
        ctx.time_context(int).register_on_time("later", ctx.time_context(int).time() + 45_000)
        yield "row", sums.sum

    def on_timer(
        self, ctx: ProcessTableFunction.OnTimerContext, sums: Sums
    ) -> Iterator[tuple[str, int]]:
        yield "later", sums.sum


class Doubled:
    """A model."""

    def predict(self, batch: Any) -> Any:
        return batch["v"].to_numpy() * 2.0


def model() -> Doubled:
    return Doubled()


BY_TIME = "bounded by event time"
"""Why state has no time to live: the watermark ends it."""


@dataclass(frozen=True)
class Case:
    """A query with an operator.

    Attributes:
        operator: as the plan calls it.
        kind: the operator's class.
        query: its text, or what makes the table.
        tables: the states that its savepoint has at least.
        lives: why its state needs no time to live; None: it has one.
    """

    operator: str
    kind: str
    query: str | Callable[[TableEnvironment], Any]
    tables: frozenset[RowKind]
    lives: str | None = None


def windowed(table: str) -> str:
    return f"(SELECT * FROM TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"


def top(order: str, rows: str = "t", partition: str = "k", end: int = 2) -> str:
    number = f"ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {order}) AS n"
    return f"SELECT id, v FROM (SELECT *, {number} FROM {rows}) WHERE n <= {end}"


def count_window(t_env: TableEnvironment) -> Any:
    window = Tumble.over(row_interval(3)).on(col("p")).alias("w")
    table = t_env.from_path("t").window(window).group_by(col("k"), col("w"))
    return table.select(col("k"), col("d").sum.alias("s"), col("s").max.alias("m"))


SESSIONS = "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '15' SECOND)"
ROWS_, GROUPS = frozenset({"@rows"}), frozenset({"@groups"})
SIDES = frozenset({"@left", "@right"})

CASES = [
    Case(
        "GroupAggregate",
        "GroupAggregateOperator",
        "SELECT k, COUNT(*), SUM(d), COUNT(DISTINCT s), MAX(d), LISTAGG(s), ARRAY_AGG(v), AVG(v) "
        "FROM t GROUP BY k",
        frozenset({"@groups", "@values-2"}),
    ),
    Case("GroupAggregate", "GroupAggregateOperator", "SELECT COUNT(*) FROM t", GROUPS),
    Case(
        "GroupAggregate",
        "GroupAggregateOperator",
        "SELECT c, MIN(k), COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c",
        frozenset({"@groups", "@values-0"}),
    ),
    Case(
        "GroupAggregate",
        "GroupAggregateOperator",
        "SELECT k, s, SUM(v) FROM t GROUP BY CUBE (k, s)",
        GROUPS,
    ),
    Case(
        "Join",
        "StreamingJoinOperator",
        "SELECT t.id, u.v FROM t FULL JOIN u ON t.k = u.k AND t.v < u.v",
        SIDES,
    ),
    Case(
        "IntervalJoin",
        "TimeIntervalJoinOperator",
        "SELECT t.id, u.id FROM t LEFT JOIN u ON t.k = u.k AND t.ts BETWEEN u.ts - INTERVAL '30' "
        "SECOND AND u.ts + INTERVAL '30' SECOND",
        frozenset({"@left"}),
        BY_TIME,
    ),
    Case(
        "TemporalJoin",
        "TemporalJoinOperator",
        "SELECT t.id, r.v FROM t LEFT JOIN latest FOR SYSTEM_TIME AS OF t.ts AS r ON t.k = r.k",
        frozenset({"@right"}),
    ),
    Case(
        "TemporalJoin",
        "TemporalJoinOperator",
        "SELECT t.id, r.v FROM t, LATERAL TABLE (u_at(t.ts)) AS r WHERE t.k = r.k",
        frozenset({"@right"}),
    ),
    Case(
        "WindowJoin",
        "WindowJoinOperator",
        f"SELECT a.id, b.id FROM {windowed('t')} a FULL JOIN {windowed('u')} b ON a.k = b.k AND "
        "a.window_start = b.window_start AND a.window_end = b.window_end",
        SIDES,
        BY_TIME,
    ),
    Case(
        "WindowAggregate",
        "WindowAggregateOperator",
        "SELECT window_start, k, COUNT(*), SUM(DISTINCT d), MAX(s), LISTAGG(s) FROM "
        f"{windowed('t')} GROUP BY window_start, window_end, k",
        frozenset({"@slices", "@values-1"}),
        BY_TIME,
    ),
    Case(
        "WindowAggregate",
        "SessionAggregateOperator",
        f"SELECT window_start, k, COUNT(*), SUM(d) FROM {SESSIONS} GROUP BY window_start, "
        "window_end, k",
        frozenset({"@sessions"}),
        BY_TIME,
    ),
    Case(
        "WindowTableFunction",
        "SessionWindowTableFunctionOperator",
        f"SELECT id, d, window_start FROM {SESSIONS}",
        frozenset({"@sessions", "@rows"}),
        BY_TIME,
    ),
    Case(
        "GroupWindowAggregate",
        "CountWindowAggregateOperator",
        count_window,
        frozenset({"@groups", "@windows"}),
        "a window of rows ends with its last row",
    ),
    Case("Rank", "RankOperator", top("v, id"), ROWS_),
    Case(
        "Rank",
        "RankOperator",
        top("id", "(SELECT MAX(id) AS id, v, k FROM t GROUP BY v, k)"),
        ROWS_,
    ),
    Case("Deduplicate", "RankOperator", top("ts", end=1), ROWS_),
    Case("SortLimit", "RankOperator", "SELECT id, d FROM t ORDER BY d, id LIMIT 5", ROWS_),
    Case("Limit", "RankOperator", "SELECT id FROM t LIMIT 40", ROWS_),
    Case(
        "WindowRank",
        "RankOperator",
        top("v, id", windowed("t"), "window_start, window_end, k"),
        ROWS_,
        BY_TIME,
    ),
    Case(
        "WindowDeduplicate",
        "RankOperator",
        top("ts", windowed("t"), "window_start, window_end, k", 1),
        ROWS_,
        BY_TIME,
    ),
    Case(
        "SinkUpsertMaterializer",
        "RankOperator",
        "INSERT INTO keyed SELECT MAX(id), COUNT(*) FROM t GROUP BY k",
        ROWS_,
    ),
    Case(
        "OverAggregate",
        "OverAggregateOperator",
        "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts), MAX(d) OVER (PARTITION BY k ORDER BY "
        "ts) FROM t",
        frozenset({"@rows", "@running"}),
    ),
    Case(
        "OverAggregate",
        "OverAggregateOperator",
        "SELECT id, SUM(d) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT "
        "ROW), LAG(s, 2) OVER (PARTITION BY k ORDER BY ts) FROM t",
        ROWS_,
    ),
    Case(
        "OverAggregate",
        "NonTimeOverAggregateOperator",
        "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM t",
        ROWS_,
    ),
    Case("TemporalSort", "TemporalSortOperator", "SELECT id, d FROM t ORDER BY ts", ROWS_, BY_TIME),
    Case(
        "Match",
        "MatchOperator",
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.id AS a, "
        "LAST(B.id) AS b, SUM(B.d) AS d ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B+ C) DEFINE B AS B.v >= A.v, C AS C.v < A.v)",
        frozenset({"@rows", "@partial-matches", "@matched-events"}),
        "WITHIN bounds it, as in Flink",
    ),
    Case(
        "ProcessTableFunction",
        "ProcessTableOperator",
        "SELECT * FROM summing(TABLE t PARTITION BY k ORDER BY (ts, id), DESCRIPTOR(ts), 'sums')",
        frozenset({"sums", "@rows-0", "@event-timers"}),
    ),
    Case("ChangelogNormalize", "ChangelogNormalizeOperator", "SELECT k, n FROM keyed", ROWS_),
    Case(
        "MLPredict",
        "ModelPredictOperator",
        "SELECT id, y FROM ML_PREDICT(TABLE t, MODEL doubled, DESCRIPTOR(v))",
        frozenset({"model-versions"}),
        "it is of the operator, not of keys",
    ),
]  # fmt: skip

WITHOUT_STATE = {
    "BatchOverAggregateOperator": "only in batches",
    "SortLimitOperator": "only in batches",
    "CalcOperator": "a row at a time",
    "CorrelateOperator": "a row at a time",
    "FromChangelogOperator": "a row at a time",
    "ToChangelogOperator": "a row at a time",
    "ExpandOperator": "a row at a time",
    "UnionOperator": "a row at a time",
    "WindowTableFunctionOperator": "a row at a time",
    "LookupJoinOperator": "its cache is not state",
    "DataStreamScanOperator": "watermarks only",
    "CollectColumnsOperator": "a sink of the client",
    "TableSinkOperator": "its writer's",
    "TableSourceOperator": "its splits'",
}
"""Operators that keep nothing of their own between epochs of a stream, and why."""


def test_every_operator_is_known() -> None:
    package = millrace.table_runtime
    modules = [
        import_module(f"{package.__name__}.{m.name}")
        for m in pkgutil.iter_modules(package.__path__)
    ]
    found = {
        name
        for module in modules
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Operator) and kind.__module__ == module.__name__
    } - {"EndOfInput", "WindowingOperator"}
    assert found == {case.kind for case in CASES} | WITHOUT_STATE.keys()


def environment(parallelism: int, start_from: str | None) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = t_env.get_config()
    config.set("parallelism.default", str(parallelism))
    config.set("table.exec.state.ttl", f"{TTL} ms")
    if start_from is not None:
        config.set(options.START_FROM.key, start_from)
    for name in ("t", "u"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (id BIGINT, k INT, v BIGINT, d DECIMAL(10, 2), s STRING, "
            "ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
            f"WITH ('connector' = 'python', 'source' = '{__name__}:source_{name}')"
        )
    number = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n"
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW latest AS SELECT k, v, ts FROM "
        f"(SELECT *, {number} FROM u) WHERE n = 1"
    )
    register_factory(ByKey())
    t_env.execute_sql(
        "CREATE TABLE keyed (k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        "WITH ('connector' = 'by-key')"
    )
    t_env.create_temporary_function("summing", udptf(Summing()))
    versions = t_env.from_path("u").create_temporal_table_function("ts", "k")
    t_env.create_temporary_function("u_at", versions)
    t_env.execute_sql(
        "CREATE TEMPORARY MODEL doubled INPUT (v BIGINT) OUTPUT (y DOUBLE) "
        f"WITH ('provider' = 'python', 'model' = '{__name__}:model')"
    )
    return t_env


def run(
    case: Case,
    parallelism: int,
    found: Counter[Any],
    start_from: str | None = None,
    stop: int | None = None,
    directory: Path | None = None,
    format_type: SavepointFormatType = SavepointFormatType.CANONICAL,
) -> str:
    """Run to the end, or until a savepoint after some epochs, whose path is returned."""
    with run_local(2, epoch_records=7, epoch_limit=100) as cluster:
        t_env = environment(parallelism, start_from)
        query = case.query
        started: Future[Any] = Future()
        asked: list[Any] = []

        def act(progress: Any) -> None:
            if progress.epochs == stop and not asked:
                asked.append(
                    started.result(60).stop_with_savepoint(False, str(directory), format_type)
                )

        cluster.listeners.append(act)
        result = t_env.execute_sql(query) if isinstance(query, str) else query(t_env).execute()
        client: Any = result.get_job_client()
        started.set_result(client)
        try:
            if case.operator == "SinkUpsertMaterializer":
                result.wait()
            else:
                for row in result.collect():
                    add(found, row)
        except JobCancelledError:
            assert asked
        for row in SINK.take():
            add(found, row)
        assert bool(asked) is (stop is not None), "the job ended before its savepoint"
        return client.final_savepoint if asked else ""


def add(found: Counter[Any], row: Row) -> None:
    """An upsert has no former row: what a sink by key gets is one of a key."""
    kind = row.get_row_kind().value
    found[repr(tuple(row))] += -1 if kind in (1, 3) else 1


@dataclass(frozen=True)
class Made:
    """What a query was translated to."""

    operators: list[Transformation]

    def of(self, case: Case) -> list[Transformation]:
        """The operators that the case is about."""
        named = [each for each in self.operators if each.name.startswith(f"{case.operator}[")]
        return [each for each in named if kind_of(each) == case.kind]


def kind_of(made: Transformation) -> str:
    factory = made.factory
    assert isinstance(factory, partial)
    return str(factory.func.__name__)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Notes what is translated."""
    operators: list[Transformation] = []

    def noting(make: Callable[..., Transformation]) -> Callable[..., Transformation]:
        def note(*args: Any, **kwargs: Any) -> Transformation:
            operators.append(make(*args, **kwargs))
            return operators[-1]

        return note

    for name in ("stateful", "stateless"):
        monkeypatch.setattr(Translator, name, noting(getattr(Translator, name)))
    return Made(operators)


def times_to_live(made: Transformation) -> set[Any]:
    """Whatever an operator gets that is the session's time to live."""
    factory = made.factory
    assert isinstance(factory, partial)
    values = list(factory.args)
    values += [getattr(each, "state_ttl", None) for each in factory.args]
    return {
        each
        for value in values
        for each in (value if isinstance(value, tuple) else (value,))
        if each == TTL
    }


def type_of(values: Iterable[Any]) -> LogicalType:
    """The type of a column that the state does not tell."""
    return reduce(common_type, map(inferred_type, values), NULL)


def columns(reader: SnapshotReader, info: StateInfo) -> tuple[list[FrameColumn], list[Any]]:
    """A state as a DataFrame shows it."""
    query = EntriesQuery.of(reader, info)
    names = column_names(info)
    rows = [row for task in range(query.tasks) for row in query.rows(task)]
    known = {**FIXED, **written_types(info)}
    kinds = [
        known.get(name) or type_of(row[place] for row in rows) for place, name in enumerate(names)
    ]
    shown = [FrameColumn(name, kind) for name, kind in zip(names, kinds, strict=True)]
    data = [row for batch in arrow_batches(shown, rows) for row in batch.to_pylist()]
    return shown, data


@pytest.mark.turns(7)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.operator)
def test_state_is_saved_read_and_rescaled(case: Case, made: Made, tmp_path: Path) -> None:
    whole: Counter[Any] = Counter()
    run(case, 1, whole)
    found: Counter[Any] = Counter()
    first = run(case, 3, found, stop=4, directory=tmp_path / "first")
    operators = made.of(case)
    assert operators, [(each.name, kind_of(each)) for each in made.operators]
    for operator in operators:
        assert bool(times_to_live(operator)) is (case.lives is None)
    assert_readable(case, first, {str(each.uid) for each in operators})
    second = run(case, 17, found, first, 2, tmp_path / "second")
    run(case, 2, found, second)
    assert +found == +whole
    assert -found == -whole


def assert_readable(case: Case, path: str, uids: set[str]) -> None:
    reader = SnapshotReader(open_snapshot(path))
    own = [info for info in reader.states() if info.uid in uids]
    assert case.tables <= {info.name for info in own}
    for info in own:
        assert info.operator.startswith(f"{case.operator}[")
        assert reader.state(info.operator, info.name).table == info.table
        shown, data = columns(reader, info)
        assert data, f"{info.name} is empty"
        is_pattern = info.name == "@partial-matches"
        assert is_pattern or not any(has_json(column.type) for column in shown), (info.name, shown)


NAMED = [
    (
        "SELECT k, s, COUNT(*) AS n, SUM(d) AS total FROM t GROUP BY k, s",
        "@groups",
        "ROW<`k` BIGINT, `s` STRING>",
        "ROW<`rows` BIGINT, `last_used` BIGINT, `count` BIGINT, `sum_d` BIGINT",
    ),
    (
        "SELECT t.id, u.d FROM t JOIN u ON t.k = u.k",
        "@right",
        "BIGINT",
        "ARRAY<ROW<`k` BIGINT, `d` DECIMAL(10, 2), `matches` BIGINT, ",
    ),
]


@pytest.mark.turns(7)
@pytest.mark.parametrize("query", NAMED, ids=lambda query: query[1])
@pytest.mark.parametrize("format_type", list(SavepointFormatType))
def test_state_has_the_names_and_types_of_the_query(
    query: tuple[str, str, str, str], format_type: SavepointFormatType, tmp_path: Path
) -> None:
    text, name, key, value = query
    case = Case("", "", text, frozenset())
    path = run(case, 2, Counter(), stop=4, directory=tmp_path, format_type=format_type)
    reader = SnapshotReader(open_snapshot(path, trusted=True))
    (info,) = [info for info in reader.states() if info.name == name]
    shown, data = columns(reader, info)
    assert str(shown[0].type) == key
    assert str(shown[1].type).startswith(value)
    assert data
