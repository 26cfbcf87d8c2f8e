"""Queries as streams: the time attribute of a query is the event time of the records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Time
from millrace.common.typeinfo import Types
from millrace.common.types.row import Row, RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, ProcessFunction
from millrace.datastream.stream import DataStream
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.table import ChangelogMode, Schema, StreamTableEnvironment, Table
from millrace.table.expressions import col
from millrace.testing import run_local

TICKS = """CREATE TABLE ticks (
    s INT, ts AS TO_TIMESTAMP_LTZ(s * 1000, 3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH ('connector' = 'datagen', 'fields.s.kind' = 'sequence', 'fields.s.start' = '0',
    'fields.s.end' = '39')"""


class Times(ProcessFunction):  # type: ignore[type-arg]
    """Emits each record's event time."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.timestamp()


def times(stream: DataStream[Any]) -> list[int | None]:
    return list(stream.process(Times()).set_parallelism(1).execute_and_collect())


@pytest.fixture(params=[1, 7, 1000], ids=["one", "seven", "all"])
def t_env(request: pytest.FixtureRequest) -> Iterator[StreamTableEnvironment]:
    with run_local(epoch_records=request.param):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        made = StreamTableEnvironment.create(env)
        made.execute_sql(TICKS)
        yield made


@pytest.fixture
def one_epoch() -> Iterator[StreamTableEnvironment]:
    with run_local():
        made = StreamTableEnvironment.create(
            StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        )
        made.execute_sql(TICKS)
        yield made


def test_the_rowtime_is_the_event_time_and_stays_in_the_rows(one_epoch: Any) -> None:
    stream = one_epoch.to_data_stream(one_epoch.sql_query("SELECT ts, s FROM ticks WHERE s > 36"))
    assert times(stream) == [37_000, 38_000, 39_000]
    [row] = stream.execute_and_collect(limit=1)
    assert row == Row(ts=datetime(1970, 1, 1, 0, 0, 37, tzinfo=UTC), s=37)


def test_windows_of_a_stream_made_of_a_table(t_env: StreamTableEnvironment) -> None:
    """Records and watermarks of the table make event-time windows, with several epochs, too."""
    counts = (
        t_env.to_data_stream(t_env.from_path("ticks"))
        .key_by(lambda row: row.s % 2, Types.INT())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(lambda one, two: Row(ts=one.ts, s=one.s + two.s))
        .map(lambda row: row.s)
    )
    evens = [sum(range(start, start + 10, 2)) for start in (0, 10, 20, 30)]
    odds = [sum(range(start + 1, start + 10, 2)) for start in (0, 10, 20, 30)]
    assert sorted(counts.execute_and_collect()) == sorted(evens + odds)


class Later(KeyedProcessFunction):  # type: ignore[type-arg]
    """Sets a timer 5 s after each tenth record, and tells of the watermark when it fires."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value.s % 10 == 0:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_watermark() >= timestamp


def test_timers_follow_the_watermarks_of_the_table(t_env: StreamTableEnvironment) -> None:
    stream = t_env.to_data_stream(t_env.from_path("ticks"))
    fired = stream.key_by(lambda _: "all", Types.STRING()).process(Later())
    assert list(fired.execute_and_collect()) == [
        (time, True) for time in (5_000, 15_000, 25_000, 35_000)
    ]


class Watermarks(ProcessFunction):  # type: ignore[type-arg]
    """Emits the lag of the watermark behind each record in ms."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        watermark = ctx.timer_service().current_watermark()
        yield None if watermark < 0 else ctx.timestamp() - watermark


def test_watermarks_are_those_of_the_table() -> None:
    with run_local(epoch_records=1):
        made = StreamTableEnvironment.create(
            StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        )
        made.execute_sql(TICKS)
        stream = made.to_data_stream(made.from_path("ticks"))
        lags = list(stream.process(Watermarks()).execute_and_collect())
    # one record per second from eight splits, and watermarks 2 s behind the slowest split
    assert lags[10:] == [10_000] * 30


def test_there_and_back_with_the_watermarks_of_the_source(t_env: StreamTableEnvironment) -> None:
    """The columns of the stream are known, and its event times are a time attribute again."""
    stream = t_env.to_data_stream(t_env.sql_query("SELECT s, ts FROM ticks"))
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("again", t_env.from_data_stream(stream, schema))
    assert t_env.from_path("again").get_schema().get_field_names() == ["s", "ts", "rowtime"]
    sums = t_env.sql_query(
        "SELECT SUM(s), COUNT(*) FROM TUMBLE(TABLE again, DESCRIPTOR(rowtime), INTERVAL '20' "
        "SECOND) WHERE ts = rowtime GROUP BY window_start, window_end"
    )
    rows = sorted(tuple(row) for row in sums.execute().collect())
    assert rows == [(sum(range(20)), 20), (sum(range(20, 40)), 20)]


def test_queries_without_rowtime_have_no_event_times(one_epoch: StreamTableEnvironment) -> None:
    for query in (
        "SELECT s FROM ticks WHERE s < 2",
        "SELECT CAST(ts AS TIMESTAMP_LTZ(3)) AS ts FROM ticks WHERE s < 2",
        "SELECT ts + INTERVAL '1' SECOND AS ts FROM ticks WHERE s < 2",
        "SELECT PROCTIME() AS ts FROM ticks WHERE s < 2",
    ):
        assert times(one_epoch.to_data_stream(one_epoch.sql_query(query))) == [None, None], query


def test_a_time_without_a_zone_counts_as_utc(one_epoch: StreamTableEnvironment) -> None:
    one_epoch.get_config().set_local_timezone("Asia/Tokyo")
    one_epoch.execute_sql(
        "CREATE TABLE local_ticks (s INT, ts AS TIMESTAMPADD(SECOND, s, "
        "TIMESTAMP '2026-01-01 00:00:00'), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', "
        "'fields.s.kind' = 'sequence', 'fields.s.start' = '0', 'fields.s.end' = '0')"
    )
    midnight = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert times(one_epoch.to_data_stream(one_epoch.from_path("local_ticks"))) == [midnight]


TWO = "SELECT ts, s, ts AS again FROM ticks WHERE s < 2"


def test_two_rowtime_columns(one_epoch: StreamTableEnvironment) -> None:
    both = one_epoch.sql_query(TWO)
    for refused in (one_epoch.to_data_stream, one_epoch.to_changelog_stream):
        with pytest.raises(JobDefinitionError, match=r"more than one rowtime.*\(ts, again\)"):
            refused(both)
    cast = both.select(col("ts"), col("again").cast("TIMESTAMP_LTZ(3)").alias("again"))
    assert times(one_epoch.to_data_stream(cast)) == [0, 1000]
    one_epoch.get_config().set("table.exec.sink.rowtime-inserter", "DISABLED")
    assert times(one_epoch.to_data_stream(both)) == [None, None]


def test_times_of_window_results(t_env: StreamTableEnvironment) -> None:
    """The window time of a result is before the watermark that completed the window."""
    sums = t_env.sql_query(
        "SELECT window_time, SUM(s) AS total FROM TUMBLE(TABLE ticks, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND) GROUP BY window_start, window_end, window_time"
    )
    stream = t_env.to_data_stream(sums)
    assert times(stream) == [9_999, 19_999, 29_999, 39_999]
    totals = (
        stream.key_by(lambda _: 0, Types.INT())
        .window(TumblingEventTimeWindows.of(Time.seconds(20)))
        .reduce(lambda one, two: Row(window_time=one.window_time, total=one.total + two.total))
        .map(lambda row: row.total)
    )
    assert list(totals.execute_and_collect()) == [sum(range(20)), sum(range(20, 40))]


def last_of_each(t_env: StreamTableEnvironment) -> Table:
    return t_env.sql_query(
        "SELECT k, s, ts FROM (SELECT s % 2 AS k, s, ts, ROW_NUMBER() OVER (PARTITION BY s % 2 "
        "ORDER BY ts DESC) AS n FROM ticks WHERE s < 4) WHERE n = 1"
    )


def test_changelogs_have_event_times(one_epoch: StreamTableEnvironment) -> None:
    stream = one_epoch.to_changelog_stream(last_of_each(one_epoch))
    assert [time for time in times(stream) if time is None] == []
    for changes in (
        stream,
        one_epoch.to_changelog_stream(last_of_each(one_epoch), None, ChangelogMode.upsert()),
    ):
        assert max(times(changes)) == 3_000  # type: ignore[type-var]


def test_schemas_of_changelogs(one_epoch: StreamTableEnvironment) -> None:
    table = one_epoch.sql_query("SELECT s, ts FROM ticks WHERE s = 7")

    def seen(*columns: tuple[str, str], metadata: str = "") -> tuple[Any, list[int | None]]:
        builder = Schema.new_builder()
        for name, kind in columns:
            builder.column(name, kind)
        if metadata:
            builder.column_by_metadata("rowtime", metadata)
        stream = one_epoch.to_changelog_stream(table, builder.build())
        return list(stream.execute_and_collect()), times(stream)

    time = datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC)
    kept = seen(("s", "BIGINT"), ("ts", "TIMESTAMP_LTZ(3)"))
    assert kept == ([Row(s=7, ts=time)], [7_000])
    required = seen(("ts", "TIMESTAMP_LTZ(3) NOT NULL"), ("s", "INT"))
    assert required == ([Row(ts=time, s=7)], [7_000])
    assert seen(("s", "INT")) == ([Row(s=7)], [None])
    assert seen(("s", "INT"), ("ts", "TIMESTAMP_LTZ(6)")) == ([Row(s=7, ts=time)], [None])
    # the time attribute becomes the record's event time only
    assert seen(("s", "INT"), metadata="TIMESTAMP_LTZ(3)") == ([Row(s=7)], [7_000])
    assert seen(("s", "INT"), metadata="TIMESTAMP(3)") == ([Row(s=7)], [7_000])


def test_metadata_that_records_do_not_have(one_epoch: StreamTableEnvironment) -> None:
    table = one_epoch.sql_query("SELECT s, ts FROM ticks WHERE s = 7")
    offset = Schema.new_builder().column("s", "INT").column_by_metadata("offset", "BIGINT").build()
    with pytest.raises(JobDefinitionError, match="metadata of a stream is 'rowtime': 'offset'"):
        one_epoch.to_changelog_stream(table, offset)
    twice = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .column_by_metadata("t", "TIMESTAMP_LTZ(3)", "rowtime")
        .build()
    )
    with pytest.raises(JobDefinitionError, match="one event time"):
        one_epoch.to_changelog_stream(table, twice)


def test_older_forms_have_event_times(one_epoch: StreamTableEnvironment) -> None:
    table = one_epoch.sql_query("SELECT s, ts FROM ticks WHERE s = 7")
    kind = Types.TUPLE([Types.INT(), Types.PICKLED_BYTE_ARRAY()])
    assert times(one_epoch.to_append_stream(table, kind)) == [7_000]
    assert times(one_epoch.to_retract_stream(table, kind)) == [7_000]


@pytest.mark.parametrize("epoch_records", [3, 1000])
def test_batch_mode(epoch_records: int) -> None:
    """Windows of a stream made of a table run in batch mode, too."""
    with run_local(epoch_records=epoch_records):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        t_env = StreamTableEnvironment.create(env)
        t_env.execute_sql(TICKS)
        totals = (
            t_env.to_data_stream(t_env.from_path("ticks"))
            .key_by(lambda _: 0, Types.INT())
            .window(TumblingEventTimeWindows.of(Time.seconds(20)))
            .reduce(lambda one, two: Row(ts=one.ts, s=one.s + two.s))
            .map(lambda row: row.s)
        )
        assert sorted(totals.execute_and_collect()) == [sum(range(20)), sum(range(20, 40))]
        assert times(t_env.to_data_stream(t_env.sql_query(TWO))) == [None, None]


def test_event_times_change_no_uid(one_epoch: StreamTableEnvironment) -> None:
    """The operators of a job are the same with and without event times."""

    def uids() -> list[str]:
        stream = one_epoch.to_data_stream(one_epoch.sql_query("SELECT s, ts FROM ticks"))
        end = stream.key_by(lambda row: row.s, Types.INT()).process(Later())
        plan = one_epoch._session.graph([end._transformation])
        return list(plan.uid_of.values())

    timed = uids()
    one_epoch.get_config().set("table.exec.sink.rowtime-inserter", "DISABLED")
    assert uids() == timed


def test_changes_go_back_to_a_table(one_epoch: StreamTableEnvironment) -> None:
    stream = one_epoch.to_changelog_stream(last_of_each(one_epoch))
    again = one_epoch.from_changelog_stream(stream)
    assert again.get_schema().get_field_names() == ["k", "s", "ts"]
    kinds = [row.get_row_kind() for row in again.execute().collect()]
    assert kinds.count(RowKind.INSERT) - kinds.count(RowKind.DELETE) == 2


def test_two_streams_of_one_table_in_a_job(one_epoch: StreamTableEnvironment) -> None:
    """Operators that both queries have get uids of their own; those of the first stay."""
    sums = "SELECT SUM(s) AS total FROM ticks WHERE s {} 20"
    low = one_epoch.to_changelog_stream(one_epoch.sql_query(sums.format("<")))
    alone = set(one_epoch._session.graph([low._transformation]).uid_of.values())
    high = one_epoch.to_changelog_stream(one_epoch.sql_query(sums.format(">=")))
    both = low.union(high).map(lambda row: row.total)
    together = list(one_epoch._session.graph([both._transformation]).uid_of.values())
    assert alone < set(together)
    swapped = high.union(low).map(lambda row: row.total)
    others = one_epoch._session.graph([swapped._transformation]).uid_of.values()
    grouped = {uid for uid in together if uid.startswith("groupaggregate")}
    assert len(grouped) == 2
    # the sums of the other rows are not resumed for the second query
    assert len(grouped & set(others)) == 1
    assert {190, 590} <= set(both.execute_and_collect())
