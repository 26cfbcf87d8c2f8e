"""Tables become streams of the same job, and streams tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.errors import ConfigurationError, JobDefinitionError, MillraceError
from millrace.common.time.amounts import Duration, Instant
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.typeinfo import Types
from millrace.common.types.row import Row, RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.stream import DataStream
from millrace.table import (
    ChangelogMode,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    Table,
    TableEnvironment,
)
from millrace.table.expressions import col
from millrace.table.table_result import materialized
from millrace.testing import run_local


def test_a_query_goes_on_as_a_stream_with_another() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        t_env.create_temporary_view("t", t_env.from_elements([(1, "a"), (2, "b")], ["id", "s"]))
        stream = t_env.to_data_stream(t_env.sql_query("SELECT id * 10 AS n, s FROM t"))
        both = stream.map(lambda row: (row.n, row.s)).union(env.from_collection([(0, "z")]))
        assert sorted(both.execute_and_collect()) == [(0, "z"), (10, "a"), (20, "b")]


def test_a_changelog_has_its_kinds_and_is_no_stream_of_inserts() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        table = t_env.from_elements([Row(1), Row.of_kind(RowKind.DELETE, 1)], ["id"])
        rows = list(t_env.to_changelog_stream(table).execute_and_collect())
        assert [row.get_row_kind() for row in rows] == [RowKind.INSERT, RowKind.DELETE]
        with pytest.raises(JobDefinitionError, match="to_changelog_stream"):
            t_env.to_data_stream(table)


KEYED = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


@pytest.fixture
def t_env() -> Iterator[StreamTableEnvironment]:
    with run_local():
        yield StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())


def env_of(t_env: StreamTableEnvironment) -> StreamExecutionEnvironment:
    return t_env._session.env


def rows(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.execute().collect())


def test_streams_become_tables_of_their_type(t_env: StreamTableEnvironment) -> None:
    env = env_of(t_env)
    named = t_env.from_data_stream(env.from_collection([(1, "a"), (2, "b")], KEYED))
    assert rows(named.where(col("id") > 1)) == [(2, "b")]
    numbers = env.from_collection([1, 2], Types.LONG())
    assert rows(t_env.from_data_stream(numbers)) == [(1,), (2,)]
    both = numbers.union(env.from_collection([3], Types.LONG()))
    assert rows(t_env.from_data_stream(both, col("n"))) == [(1,), (2,), (3,)]
    t_env.create_temporary_view("v", both, col("n"))
    total = t_env.sql_query("SELECT SUM(n) FROM v").execute().collect()
    assert [tuple(row) for row in materialized(total)] == [(6,)]


def test_columns_by_name_and_by_position(t_env: StreamTableEnvironment) -> None:
    stream = env_of(t_env).from_collection([(1, "a")], KEYED)
    chosen = t_env.from_data_stream(stream, col("name"), col("id").alias("key"))
    assert chosen.get_schema().get_field_names() == ["name", "key"]
    assert rows(chosen) == [("a", 1)]
    placed = t_env.from_data_stream(stream, col("x"), col("y"), col("p").proctime)
    assert placed.get_schema().get_field_names() == ["x", "y", "p"]
    assert rows(placed.select(col("x"), col("y"))) == [(1, "a")]


def test_a_schema_may_read_columns_that_it_hides(t_env: StreamTableEnvironment) -> None:
    stream = env_of(t_env).from_collection([(1, "a")], KEYED)
    schema = Schema.new_builder().column("name", "STRING").column_by_expression("twice", "id * 2")
    table = t_env.from_data_stream(stream, schema.build())
    assert table.get_schema().get_field_names() == ["name", "twice"]
    assert rows(table) == [("a", 2)]
    computed = Schema.new_builder().column_by_expression("twice", "id * 2").build()
    assert t_env.from_data_stream(stream, computed).get_schema().get_field_names() == [
        "id",
        "name",
        "twice",
    ]


def test_types_that_only_the_schema_knows(t_env: StreamTableEnvironment) -> None:
    """A stream of records without a declared type; dicts are read by name."""
    stream = env_of(t_env).from_collection([{"a": 1, "b": "x"}, {"b": "y", "a": 2}])
    schema = Schema.new_builder().column("b", "STRING").column("a", "INT").build()
    assert rows(t_env.from_data_stream(stream, schema)) == [("x", 1), ("y", 2)]
    with pytest.raises(JobDefinitionError, match="types of the stream's columns are unknown"):
        t_env.from_data_stream(stream)
    with pytest.raises(JobDefinitionError, match="types of the stream's columns are unknown"):
        t_env.from_data_stream(stream, col("a"))


EVENTS = [(1_000, "a", 1), (61_000, "a", 5), (2_000, "a", 7), (200_000, "b", 9)]
TIMED = Types.ROW_NAMED(["ts", "k", "n"], [Types.LONG(), Types.STRING(), Types.LONG()])
TOTALS = """SELECT k, window_start, SUM(n) FROM TABLE(
    TUMBLE(TABLE events, DESCRIPTOR({time}), INTERVAL '1' MINUTE))
    GROUP BY k, window_start, window_end"""


def totals(t_env: StreamTableEnvironment, events: Table, time: str) -> list[tuple[Any, ...]]:
    t_env.get_config().set_local_timezone("UTC")
    t_env.create_temporary_view("events", events)
    found = rows(t_env.sql_query(TOTALS.format(time=time)))
    return [(key, start.minute, total) for key, start, total in found]


def with_event_times(env: StreamExecutionEnvironment) -> DataStream[Any]:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_minutes(1)
    ).with_timestamp_assigner(lambda record, _: record[0])
    return env.from_collection(EVENTS, TIMED).assign_timestamps_and_watermarks(strategy)


def test_the_watermarks_of_the_stream(t_env: StreamTableEnvironment) -> None:
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    events = t_env.from_data_stream(with_event_times(env_of(t_env)), schema)
    assert totals(t_env, events, "rowtime") == [("a", 0, 8), ("a", 1, 5), ("b", 3, 9)]


def test_the_rowtime_of_an_expression(t_env: StreamTableEnvironment) -> None:
    stream = with_event_times(env_of(t_env))
    events = t_env.from_data_stream(stream, col("t"), col("k"), col("n"), col("rt").rowtime)
    assert totals(t_env, events, "rt") == [("a", 0, 8), ("a", 1, 5), ("b", 3, 9)]


def test_a_watermark_of_the_columns(t_env: StreamTableEnvironment) -> None:
    """All records come in one batch: none is late."""
    stream = env_of(t_env).from_collection(EVENTS, TIMED)
    schema = (
        Schema.new_builder()
        .column_by_expression("time_of", "TO_TIMESTAMP_LTZ(ts, 3)")
        .watermark("time_of", "time_of - INTERVAL '90' SECOND")
        .build()
    )
    events = t_env.from_data_stream(stream, schema)
    assert totals(t_env, events, "time_of") == [("a", 0, 8), ("a", 1, 5), ("b", 3, 9)]


def test_changes_become_tables(t_env: StreamTableEnvironment) -> None:
    env = env_of(t_env)
    changes = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 5),
        Row.of_kind(RowKind.INSERT, "b", 2),
        Row.of_kind(RowKind.DELETE, "b", 2),
    ]
    kind = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
    stream = env.from_collection(changes, kind).set_parallelism(1)
    table = t_env.from_changelog_stream(stream)
    total = table.select(col("n").sum.alias("n"))
    assert [tuple(row) for row in materialized(total.execute().collect())] == [(5,)]
    with pytest.raises(JobDefinitionError, match="upserts"):
        t_env.from_changelog_stream(stream, changelog_mode=ChangelogMode.upsert())
    with pytest.raises(MillraceError, match="from_changelog_stream"):
        rows(t_env.from_data_stream(stream))


def test_there_and_back_in_one_job(t_env: StreamTableEnvironment) -> None:
    """Table, stream with a function of Python, table."""
    numbers = t_env.from_elements([(1,), (2,)], ["n"])
    stream = t_env.to_data_stream(numbers).map(lambda row: row.n * 10, output_type=Types.LONG())
    table = t_env.from_data_stream(stream, Schema.new_builder().column("f0", "BIGINT").build())
    assert rows(table.select(col("f0") + 1)) == [(11,), (21,)]


def test_instants_are_timestamps(t_env: StreamTableEnvironment) -> None:
    stream = env_of(t_env).from_collection(
        [(Instant.of_epoch_milli(1500), 1)], Types.ROW([Types.INSTANT(), Types.LONG()])
    )
    [(moment, _)] = rows(t_env.from_data_stream(stream))
    assert moment == datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)


def test_wrong_columns_of_streams(t_env: StreamTableEnvironment) -> None:
    stream = env_of(t_env).from_collection([(1, "a")], KEYED)
    with pytest.raises(JobDefinitionError, match="no column 'nam'.*did you mean 'name'"):
        t_env.from_data_stream(stream, col("nam").alias("x"))
    with pytest.raises(JobDefinitionError, match="3 names were given for 2 columns"):
        t_env.from_data_stream(stream, col("a"), col("b"), col("c"))
    with pytest.raises(JobDefinitionError, match="takes a Schema, or columns"):
        t_env.from_data_stream(stream, col("id") + 1)
    other = Schema.new_builder().column("id", "BIGINT").column("nam", "STRING").build()
    with pytest.raises(JobDefinitionError, match="fields id, name; did you mean 'name'"):
        t_env.from_data_stream(stream, other)
    offset = Schema.new_builder().column_by_metadata("offset", "BIGINT").build()
    with pytest.raises(JobDefinitionError, match="metadata 'rowtime' only"):
        rows(t_env.from_data_stream(stream, offset))
    untimed = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").build()
    with pytest.raises(MillraceError, match="assign_timestamps_and_watermarks"):
        rows(t_env.from_data_stream(stream, untimed))
    t_env.execute_sql(
        "CREATE TABLE d (ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()) "
        "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    with pytest.raises(JobDefinitionError, match="needs an expression of its columns"):
        t_env.execute_sql("SELECT * FROM d")


def test_a_changelog_for_upserts_leaves_former_rows_out(t_env: StreamTableEnvironment) -> None:
    kinds = [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER]
    table = t_env.from_elements([Row.of_kind(kind, "a") for kind in kinds], ["k"])
    for mode, left in ((ChangelogMode.all(), kinds), (ChangelogMode.upsert(), kinds[::2])):
        changes = t_env.to_changelog_stream(table, changelog_mode=mode).execute_and_collect()
        assert [row.get_row_kind() for row in changes] == left
    with pytest.raises(JobDefinitionError, match="to_changelog_stream"):
        t_env.to_changelog_stream(table, None, ChangelogMode.insert_only())


def test_a_changelog_has_the_columns_of_a_schema(t_env: StreamTableEnvironment) -> None:
    table = t_env.from_elements([(1, "a")], ["id", "name"])
    schema = Schema.new_builder().column("name", "STRING").column("id", "STRING").build()
    [row] = t_env.to_changelog_stream(table, schema).execute_and_collect()
    assert (row.name, row.id) == ("a", "1")
    schema = Schema.new_builder().column("nme", "STRING").build()
    with pytest.raises(MillraceError, match="nme"):
        t_env.to_changelog_stream(table, schema)
    by_position = (
        Schema.new_builder()
        .column("n", "STRING")
        .column_by_expression("ignored", "UPPER(n)")
        .column("s", "STRING")
        .build()
    )
    [row] = t_env.to_changelog_stream(table, by_position).execute_and_collect()
    assert row == Row(n="1", s="a")


def test_older_forms_of_streams(t_env: StreamTableEnvironment) -> None:
    table = t_env.from_elements([(1, "a")], ["id", "name"])
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    assert list(t_env.to_append_stream(table, pair).execute_and_collect()) == [(1, "a")]
    named = Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.STRING()])
    [row] = t_env.to_append_stream(table, named).execute_and_collect()
    assert row == Row(x=1, y="a")
    changes = t_env.from_elements([Row(1), Row.of_kind(RowKind.DELETE, 1)], ["id"])
    retracted = t_env.to_retract_stream(changes, Types.TUPLE([Types.LONG()]))
    assert list(retracted.execute_and_collect()) == [(True, (1,)), (False, (1,))]
    with pytest.raises(JobDefinitionError, match="to_changelog_stream"):
        t_env.to_append_stream(changes, pair)


def test_results_of_windows_are_inserts() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        t_env.execute_sql(
            "CREATE TABLE ticks (n INT, ts AS TIMESTAMPADD(SECOND, n, "
            "TIMESTAMP '2026-01-01 00:00:00'), WATERMARK FOR ts AS ts) "
            "WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
            "'fields.n.start' = '0', 'fields.n.end' = '9')"
        )
        sums = t_env.sql_query(
            "SELECT SUM(n) AS total FROM TUMBLE(TABLE ticks, DESCRIPTOR(ts), INTERVAL '5' SECOND) "
            "GROUP BY window_start, window_end"
        )
        totals = list(t_env.to_data_stream(sums).map(lambda row: row.total).execute_and_collect())
    assert totals == [10, 35]


def test_the_mode_is_that_of_the_settings_or_of_the_stream_environment() -> None:
    with run_local(epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        t_env = StreamTableEnvironment.create(env)
        table = t_env.from_elements([(1, "a"), (2, "a")], ["n", "k"])
        t_env.create_temporary_view("t", table)
        query = "SELECT k, SUM(n) FROM t GROUP BY k"
        assert rows(t_env.sql_query(query)) == [("a", 3)]
        assert rows(t_env.sql_query("SELECT n FROM t ORDER BY n DESC")) == [(1,), (2,)]
        t_env.execute_sql("SET 'execution.runtime-mode' = 'streaming'")
        assert rows(t_env.sql_query(query)) == [("a", 1), ("a", 1), ("a", 3)]
        streaming = StreamTableEnvironment.create(env, EnvironmentSettings.in_streaming_mode())
        assert streaming.get_config().get("execution.runtime-mode", "") == "STREAMING"
        env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
        with pytest.raises(ConfigurationError, match="Set STREAMING or BATCH"):
            StreamTableEnvironment.create(env)


@pytest.mark.parametrize("streaming", [True, False])
def test_aggregates_of_no_table_and_of_no_rows(streaming: bool) -> None:
    mode = "STREAMING" if streaming else "BATCH"
    settings = Configuration({"execution.runtime-mode": mode})
    with run_local():
        t_env = TableEnvironment.create(settings)
        for view, condition in (("o", "id > 0"), ("e", "id > 9")):
            t_env.execute_sql(
                f"CREATE VIEW {view} AS SELECT * FROM (VALUES (1), (2)) AS v (id) WHERE {condition}"
            )
        assert rows(t_env.sql_query("SELECT SUM(1), COUNT(*), MAX(2)")) == [(1, 1, 2)]
        found = rows(t_env.sql_query("SELECT id FROM o WHERE (SELECT COUNT(*) FROM e) = 0"))
        # a stream's count of no rows gives none
        assert found == ([] if streaming else [(1,), (2,)])
        found = rows(t_env.sql_query("SELECT id FROM o WHERE EXISTS (SELECT 1 FROM e) OR id = 1"))
        assert found == [(1,)]


def test_options_of_the_session_are_of_its_jobs_only(t_env: StreamTableEnvironment) -> None:
    """RESET had no effect after a query, whose options stayed in the environment of streams."""
    env = env_of(t_env)
    parallelism = env.get_parallelism()
    t_env.create_temporary_view("t", t_env.from_elements([(1,), (2,)], ["n"]))

    t_env.execute_sql("SET 'execution.runtime-mode' = 'batch'")
    t_env.execute_sql("SET 'parallelism.default' = '3'")
    assert rows(t_env.sql_query("SELECT SUM(n) FROM t")) == [(3,)]
    t_env.execute_sql("RESET")
    assert t_env._session.streaming
    assert env.get_parallelism() == parallelism
    # batch mode sorts all rows
    with pytest.raises(MillraceError, match="Sort on a non-time-attribute"):
        rows(t_env.sql_query("SELECT n FROM t ORDER BY n"))
