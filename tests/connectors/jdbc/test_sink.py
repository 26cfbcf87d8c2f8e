"""The JDBC sink against real databases: upserts, deletes, what is in a table once."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from databases import COUNT, Database, write

from millrace.common import Row, RowKind, Types
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.sink import (
    CommitRequest,
    CommitState,
    CommitterContext,
    WriterContext,
    WriterEpoch,
)
from millrace.common.source import ReaderContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.jdbc import JdbcError, JdbcExecutionOptions, JdbcSink, JdbcSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

GUARANTEES = pytest.mark.parametrize("exactly_once", [False, True])


@pytest.mark.turns(5)
@GUARANTEES
def test_the_last_record_of_a_key_stays(database: Database, exactly_once: bool) -> None:
    database.create_counts()
    database.run("INSERT INTO counts VALUES ('word-3', -1), ('other', 7)")
    values = [Row(f"word-{i % 10}", i) for i in range(1000)]
    write(values, database.count_sink(exactly_once), parallelism=1, epoch_records=130)
    expected = {f"word-{i}": 990 + i for i in range(10)} | {"other": 7}
    assert database.counts() == expected


@pytest.mark.turns(5)
@GUARANTEES
def test_changes_replace_and_delete(database: Database, exactly_once: bool) -> None:
    """Against a dict, whatever the batches and epochs."""
    rng, model, values = random.Random(7), dict[str, int](), list[Row]()
    for i in range(600):
        word = f"word-{rng.randrange(20)}"
        if word in model and rng.random() < 0.4:
            values.append(Row.of_kind(RowKind.DELETE, word, model.pop(word)))
        elif word in model:
            values.append(Row.of_kind(RowKind.UPDATE_BEFORE, word, model[word]))
            values.append(Row.of_kind(RowKind.UPDATE_AFTER, word, i))
            model[word] = i
        else:
            values.append(Row(word, i))
            model[word] = i
    database.create_counts()
    sink = database.count_sink(exactly_once, batch_size=rng.randint(7, 60))
    write(values, sink, parallelism=1, epoch_records=90)
    assert database.counts() == model


@pytest.mark.turns(5)
@GUARANTEES
def test_rows_without_a_key_are_appended(database: Database, exactly_once: bool) -> None:
    database.run("CREATE TABLE log (text varchar(40), at bigint, part double precision)")
    row = Types.ROW_NAMED(["text", "part"], [Types.STRING(), Types.DOUBLE()])
    builder = JdbcSink.builder().with_table("log").with_type_info(row)
    made = builder.build_exactly_once if exactly_once else builder.build_at_least_once
    values: list[Any] = [{"text": f"a 'quoted' % {i}\t\\N", "part": i / 4} for i in range(50)]
    values += [{"text": None, "part": 1.5}, ("", None), Row("ä€😀", 0.0)]
    write(values, made(database.options), epoch_records=20)
    rows = database.rows("SELECT text, part, at FROM log")
    assert sorted(map(str, rows)) == sorted(
        str((*(v.values() if isinstance(v, dict) else v), None)) for v in values
    )


@pytest.mark.turns(5)
def test_a_statement_is_executed_for_every_record(database: Database) -> None:
    """As programs for PyFlink do it, with a question mark in a text."""
    database.run("CREATE TABLE log (word varchar(40), n bigint, how varchar(9))")
    sink = JdbcSink.sink(
        "INSERT INTO log (word, n, how) VALUES (?, ?, 'what? 5%')",
        Types.ROW([Types.STRING(), Types.LONG()]),
        database.options,
        JdbcExecutionOptions.builder().with_batch_size(10).build(),
    )
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([("a", 1), ("b", 2)] * 20).add_sink(sink)
        env.execute("statements")
    assert sorted(database.rows("SELECT * FROM log")) == [
        *[("a", 1, "what? 5%")] * 20,
        *[("b", 2, "what? 5%")] * 20,
    ]


@pytest.mark.turns(5)
def test_columns_are_written(database: Database) -> None:
    """Arrow batches are not turned into rows with names first."""
    database.create_counts()
    batch = RowBatch([{"n": i, "word": f"word-{i}"} for i in range(30)]).to_columns()
    writer = database.count_sink(False).create_writer(context(), None)
    writer.write_columns(batch)
    writer.flush(True)
    writer.close()
    assert database.counts() == {f"word-{i}": i for i in range(30)}


def context(run_id: str = "run") -> WriterContext:
    return WriterContext(0, 1, run_id)


def staged(sink: JdbcSink, epoch: int, *rows: Any, run_id: str = "run") -> list[CommitRequest[Any]]:
    writer = sink.create_writer(context(run_id), None)
    writer.begin_epoch(WriterEpoch(epoch, f"{run_id}-{epoch}", 0))
    writer.write(RowBatch(list(rows)))
    writer.flush(False)
    requests = [CommitRequest(item) for item in writer.prepare_commit(False)]
    writer.close()
    return requests


def again(requests: list[CommitRequest[Any]]) -> list[CommitRequest[Any]]:
    return [CommitRequest(request.committable) for request in requests]


@pytest.mark.turns(5)
def test_a_repeated_commit_is_recognised(database: Database) -> None:
    database.create_counts()
    sink = database.count_sink()
    committer = sink.create_committer(CommitterContext())
    assert committer is not None
    first = staged(sink, 0, ("a", 1), ("b", 1))
    second = staged(sink, 1, ("a", 2))
    assert database.counts() == {}
    committer.commit(first)
    assert database.counts() == {"a": 1, "b": 1}
    late = sink.create_committer(CommitterContext())  # of a driver that took over
    assert late is not None
    together = again(first) + second
    late.commit(together)
    assert [request.state for request in together] == [
        CommitState.ALREADY_COMMITTED,
        CommitState.RECEIVED,
    ]
    database.run("UPDATE counts SET n = 100")
    zombie = again(second)
    committer.commit(zombie)
    assert zombie[0].state is CommitState.ALREADY_COMMITTED
    assert database.counts() == {"a": 100, "b": 100}
    assert database.rows("SELECT count(*) FROM millrace_staged_counts") == [(0,)]


@pytest.mark.turns(5)
def test_epochs_of_another_run_are_others(database: Database) -> None:
    """Who goes back to an older checkpoint writes epochs of old numbers anew."""
    database.create_counts()
    sink = database.count_sink()
    committer = sink.create_committer(CommitterContext())
    assert committer is not None
    for run_id, n in (("first", 1), ("second", 2)):
        for epoch in (1, 2):
            committer.commit(staged(sink, epoch, ("a", n * 10 + epoch), run_id=run_id))
    assert database.counts() == {"a": 22}


@pytest.mark.turns(5)
def test_what_failed_attempts_staged_is_swept_away(database: Database) -> None:
    database.create_counts()
    sink = database.count_sink()
    committer = sink.create_committer(CommitterContext())
    staged(sink, 1, ("lost", 1))
    staged(sink, 1, ("of another job", 1), run_id="other")
    sink.sweep((), ["run"], 60_000)
    assert database.rows("SELECT count(*) FROM millrace_batches") == [(2,)]
    sink.sweep((), ["run"], -1)
    assert database.rows("SELECT word FROM millrace_staged_counts") == [("of another job",)]
    assert committer is not None
    with pytest.raises(
        JdbcError, match="of 1 rows that the checkpoint names, 0 are in the staging"
    ):
        committer.commit([CommitRequest(("run", 1, 1, 1, False))])


@pytest.mark.turns(5)
def test_other_columns_need_an_empty_staging_table(database: Database) -> None:
    database.create_counts()
    sink = database.count_sink()
    sink.create_committer(CommitterContext())
    staged(sink, 1, ("a", 1))
    database.run("ALTER TABLE counts ADD COLUMN more bigint")
    wider = Types.ROW_NAMED(["word", "more"], [Types.STRING(), Types.LONG()])
    other = JdbcSink.builder().with_table("counts").with_type_info(wider).with_key("word")
    with pytest.raises(JdbcError, match="millrace_staged_counts has rows that wait"):
        other.build_exactly_once(database.options).create_committer(CommitterContext())
    sink.sweep((), ["run"], -1)
    other.build_exactly_once(database.options).create_committer(CommitterContext())


@pytest.mark.turns(5)
@GUARANTEES
def test_nothing_is_lost_or_doubled_by_faults(database: Database, exactly_once: bool) -> None:
    database.create_counts()
    values = [Row(f"word-{i}", i) for i in range(900)]
    faults = Faults(lost_epochs=0.2, lost_workers=0.1, repeated_tasks=0.2)
    write(values, database.count_sink(exactly_once), epoch_records=50, faults=faults)
    assert database.counts() == {f"word-{i}": i for i in range(900)}


@pytest.mark.turns(5)
def test_two_drivers_commit_at_the_same_time(database: Database) -> None:
    """One was superseded and does not know it yet: each row is there once."""
    database.run("CREATE TABLE log (word varchar(40), n bigint)")
    log = JdbcSink.builder().with_table("log").with_type_info(COUNT)
    sink = log.build_exactly_once(database.options)
    committers = [sink.create_committer(CommitterContext()) for _ in range(2)]
    start = Barrier(2)

    def commit(committer: Any, requests: list[CommitRequest[Any]]) -> list[CommitState]:
        start.wait(30)
        for _ in range(20):
            with suppress(ConnectionError):  # a deadlock, for example: tried again
                committer.commit(requests)
                return [request.state for request in requests]
        raise AssertionError("never committed")

    for epoch in range(8):
        requests = staged(sink, epoch, ("a", epoch), ("b", epoch))
        with ThreadPoolExecutor(2) as pool:
            pairs = zip(committers, (requests, again(requests)), strict=True)
            done = [pool.submit(commit, committer, mine) for committer, mine in pairs]
            states = [state for future in done for state in future.result()]
        assert sorted(state.name for state in states) == ["ALREADY_COMMITTED", "RECEIVED"]
    rows = sorted(database.rows("SELECT n, word FROM log"))
    assert rows == [(epoch, word) for epoch in range(8) for word in "ab"]


@pytest.mark.turns(5)
def test_what_the_target_refuses_can_be_mended(database: Database, tmp_path: Path) -> None:
    """Only the commit finds out; the rows wait until somebody changes them, or the table."""
    database.run("CREATE TABLE counts (word varchar(40) PRIMARY KEY, n bigint CHECK (n < 100))")
    values = [("a", 1), ("b", 1000)]
    with pytest.raises(MillraceError, match=r"(?i)check|constraint"):
        write(values, database.count_sink(), checkpoint_dir=str(tmp_path))
    assert database.counts() == {}
    database.run("UPDATE millrace_staged_counts SET n = 99 WHERE n = 1000")
    write(values, database.count_sink(), checkpoint_dir=str(tmp_path), resume=True)
    assert database.counts() == {"a": 1, "b": 99}


# -- wrong use -------------------------------------------------------------------------


@pytest.mark.turns(5)
def test_a_missing_table_is_told_at_the_start(database: Database) -> None:
    with pytest.raises(MillraceError, match="counts"):
        write([("a", 1)], database.count_sink())


@pytest.mark.turns(5)
@GUARANTEES
def test_a_value_that_does_not_fit_is_told(database: Database, exactly_once: bool) -> None:
    database.create_counts()
    if database.kind == "sqlite":  # takes every value
        write([("a", "not a number")], database.count_sink(exactly_once))
        assert database.rows("SELECT n FROM counts") == [("not a number",)]
        return
    with pytest.raises(MillraceError, match=r"(?s)bigint|integer|column .?n|'n'"):
        write([("a", "not a number")], database.count_sink(exactly_once))


@pytest.mark.turns(5)
def test_changes_without_a_key_are_refused(database: Database) -> None:
    database.create_counts()
    sink = JdbcSink.builder().with_table("counts").with_type_info(COUNT)
    with pytest.raises(MillraceError, match="no key by which"):
        write([Row.of_kind(RowKind.DELETE, "a", 1)], sink.build_at_least_once(database.options))
    with pytest.raises(MillraceError, match="does not fit the columns word, n"):
        write([("a", 1, 2)], database.count_sink())


@pytest.mark.turns(5)
def test_sinks_are_checked_when_they_are_built(database: Database) -> None:
    builder = JdbcSink.builder
    for build, match in (
        (lambda: builder().with_type_info(Types.STRING()), "takes rows"),
        (lambda: builder().build_at_least_once(database.options), "with_table"),
        (lambda: builder().with_table("t").build_at_least_once(database.options), "with_type_info"),
        (lambda: builder().with_table(" "), "a table is a text"),
        (lambda: builder().with_execution_options(5), "JdbcExecutionOptions"),
        (
            lambda: builder().with_query_statement("x").build_exactly_once(database.options),
            "needs with_table",
        ),
        (
            lambda: (
                builder()
                .with_table("t")
                .with_type_info(COUNT)
                .with_key("m")
                .build_at_least_once(database.options)
            ),
            "the key has m",
        ),
        (lambda: JdbcExecutionOptions.builder().with_batch_size(0).build(), "batch_size"),
    ):
        with pytest.raises(JobDefinitionError, match=match):
            build()


@pytest.mark.turns(5)
def test_rows_with_names_are_written_by_name(database: Database) -> None:
    """Whatever the order of their fields, as Arrow columns and dicts are; others are left out."""
    database.run("CREATE TABLE t (a varchar(9), b varchar(9))")
    sink = (
        JdbcSink.builder()
        .with_table("t")
        .with_type_info(Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.STRING()]))
    )
    values = [
        Row(b="b1", a="a1"),
        Row(c="c2", b="b2", a="a2"),
        Row("a3", "b3"),
        Row(x="a4", y="b4"),
    ]
    write(values, sink.build_at_least_once(database.options))
    assert sorted(database.rows("SELECT a, b FROM t")) == [(f"a{i}", f"b{i}") for i in (1, 2, 3, 4)]


@pytest.mark.turns(5)
@GUARANTEES
def test_names_that_need_quotes(database: Database, exactly_once: bool) -> None:
    """Written and read."""
    import sqlalchemy as sa

    names = ["select", "A b%", "ü ?:x", "a%%s"]
    metadata = sa.MetaData()
    columns = [sa.Column(name, sa.String(9), primary_key=name == "select") for name in names]
    table = sa.Table("Order 5%", metadata, *columns)
    database.ask(metadata.create_all)
    row = Types.ROW_NAMED(names, [Types.STRING()] * len(names))
    builder = JdbcSink.builder().with_table("Order 5%").with_type_info(row).with_key("select")
    made = builder.build_exactly_once if exactly_once else builder.build_at_least_once
    values = [("a", "x", "1", "%s"), ("b", "", None, "?")]
    write(values, made(database.options))
    found = database.ask(lambda c: sorted(map(tuple, c.execute(sa.select(table)))))
    assert found == values
    source = JdbcSource.builder().set_connection_options(database.options).set_table("Order 5%")
    [*splits] = source.set_split_column("A b%").build().create_enumerator().discover(0)
    reader_context = ReaderContext(0, 1, lambda: 0)
    readers = [source.build().create_split_reader(each, None, reader_context) for each in splits]
    assert sorted(tuple(r) for each in readers for r in each.read(9).to_rows().values) == values
    for each in readers:
        each.close()


@pytest.mark.turns(5)
@GUARANTEES
def test_deletes_need_only_the_key(database: Database, exactly_once: bool) -> None:
    """As changes come from PostgreSQL; the other columns may be such that must have a value."""
    database.run("CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, s varchar(9) NOT NULL)")
    row = Types.ROW_NAMED(["id", "n", "s"], [Types.LONG(), Types.INT(), Types.STRING()])
    builder = JdbcSink.builder().with_table("t").with_type_info(row).with_key("id")
    made = builder.build_exactly_once if exactly_once else builder.build_at_least_once
    values = [Row(1, 1, "a"), Row(2, 2, "b"), Row.of_kind(RowKind.DELETE, 1, None, None)]
    write(values, made(database.options), parallelism=1)
    assert database.rows("SELECT id, n, s FROM t") == [(2, 2, "b")]
