"""The JDBC source against real databases: every row once, whatever the parts, types and faults."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from databases import Database

from millrace.common import Configuration, Row, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.source import ReaderContext
from millrace.common.types.batch import ColumnBatch
from millrace.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from millrace.connectors.jdbc.table_splits import JdbcSplit, range_splits
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

ORDERS = 500
NO_TIME = WatermarkStrategy.no_watermarks()


@pytest.fixture
def orders(database: Database) -> Database:
    """With a table of orders: ids from 1, with gaps; names repeat, some are missing."""
    database.run("CREATE TABLE orders (id bigint PRIMARY KEY, name varchar(20), day date)")
    rows = []
    for i in range(1, ORDERS + 1):
        name = "NULL" if i % 50 == 0 else f"'name {i % 37:02}'"
        rows.append(f"({i * i}, {name}, '2026-01-{i % 28 + 1:02}')")
    database.run(f"INSERT INTO orders VALUES {', '.join(rows)}")
    return database


def builder(database: Database) -> Any:
    return JdbcSource.builder().set_connection_options(database.options).set_table("orders")


def read(source: JdbcSource, **local: Any) -> list[Any]:
    """What a job reads with two subtasks."""
    with run_local(**local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "read")
        with stream.execute_and_collect() as rows:
            return list(rows)


def expected(database: Database) -> list[tuple[Any, ...]]:
    rows = database.rows("SELECT id, name, day FROM orders")
    return sorted((i, name, date.fromisoformat(str(day))) for i, name, day in rows)


WAYS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda b: b,
    "numbers": lambda b: b.set_split_column("id", splits=7),
    "texts": lambda b: b.set_split_column("name", splits=5),
    "dates": lambda b: b.set_split_column("day", splits=4),
    "conditions": lambda b: b.set_predicates(
        "id < 900",
        "id >= 900 AND name LIKE '%1'",
        "id >= 900 AND (name NOT LIKE '%1' OR name IS NULL)",
    ),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize("way", WAYS)
def test_every_row_is_read_once(orders: Database, way: str) -> None:
    faults = Faults(lost_epochs=0.2, lost_workers=0.1, repeated_tasks=0.1)
    found = read(WAYS[way](builder(orders)).build(), epoch_records=40, faults=faults)
    assert all(type(row) is Row for row in found)
    assert sorted(map(tuple, found)) == expected(orders)  # ids differ


@pytest.mark.turns(5)
@pytest.mark.parametrize("way", ["numbers", "texts", "whole"])
def test_a_reader_goes_on_where_another_stopped(orders: Database, way: str) -> None:
    """At every place, also between rows with equal values of the split column."""
    source = WAYS[way](builder(orders).set_columns("id", "name")).build()
    rng, found = random.Random(1), list[Any]()
    for split in source.create_enumerator().discover(0):
        position = None
        while True:
            reader = source.create_split_reader(split, position, ReaderContext(0, 1, lambda: 0))
            for _ in range(rng.randint(1, 3)):
                found += reader.read(rng.randint(1, 90)).to_rows().values
                if reader.finished():
                    break
            position = reader.position()
            reader.close()
            if reader.finished():
                break
    assert sorted(row["id"] for row in found) == [i * i for i in range(1, ORDERS + 1)]


@pytest.mark.turns(5)
def test_a_reader_goes_on_among_texts_that_the_database_takes_for_equal(database: Database) -> None:
    """At every row, whatever the collation says of case and spaces at the end."""
    ignoring = "COLLATE NOCASE" if database.kind == "sqlite" else ""
    texts = ["a", "A", "a ", "Ab", "aB", "ab", "B", "b", "b ", "c"]
    database.run(f"CREATE TABLE words (id bigint PRIMARY KEY, word varchar(9) {ignoring} NOT NULL)")
    for number, word in enumerate(texts):
        database.run(f"INSERT INTO words VALUES ({number}, '{word}')")
    source = builder(database).set_table("words").set_split_column("word", 1).build()
    context = ReaderContext(0, 1, lambda: 0)
    [split] = source.create_enumerator().discover(0)
    for cut in range(len(texts)):
        first = source.create_split_reader(split, None, context)
        found = first.read(cut).to_rows().values if cut else []
        position = first.position()
        first.close()
        rest = source.create_split_reader(split, position, context)
        found += rest.read(100).to_rows().values
        rest.close()
        assert sorted(row.word for row in found) == sorted(texts), cut


@pytest.mark.turns(5)
def test_a_query_with_parameters(orders: Database) -> None:
    """As with Flink's providers of parameter values: each a part."""
    source = (
        JdbcSource.builder()
        .set_connection_options(orders.options)
        .set_sql("SELECT id, ':x?' AS mark FROM orders WHERE id BETWEEN ? AND ? AND id % 2 = 1")
        .set_parameters((1, 100), (101, 400))
        .set_type_information(Types.ROW_NAMED(["id", "mark"], [Types.LONG(), Types.STRING()]))
        .build()
    )
    found = sorted(map(tuple, read(source)))
    assert found == [(i * i, ":x?") for i in range(1, 21, 2)]


@pytest.mark.turns(5)
def test_types_become_columns(database: Database) -> None:
    at = "timestamp" if database.kind == "postgresql" else "datetime(6)"
    database.run(
        "CREATE TABLE kinds (a smallint, b integer, c bigint, d double precision, e numeric(9, 2), "
        f"f varchar(9), g date, h {'timestamp' if database.kind == 'sqlite' else at}, i boolean)"
    )
    full = "(1, 2, 3, 0.5, 12.25, 'x', '2026-02-03', '2026-02-03 04:05:06.789000', true)"
    database.run(f"INSERT INTO kinds VALUES {full}, (NULL{', NULL' * 8})")
    source = JdbcSource.builder().set_connection_options(database.options).set_table("kinds")
    built = source.build()
    [split] = built.create_enumerator().discover(0)
    batch = built.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0)).read(10)
    assert isinstance(batch, ColumnBatch)
    rows = sorted(map(tuple, batch.to_rows().values), key=lambda row: row[0] is None)
    moment = datetime(2026, 2, 3, 4, 5, 6, 789000)
    assert rows == [
        (1, 2, 3, 0.5, Decimal("12.25"), "x", date(2026, 2, 3), moment, True),
        (None,) * 9,
    ]
    kinds = list(map(str, batch.data.schema.types))
    assert kinds[1:8] == [
        "int32", "int64", "double", "decimal128(9, 2)", "string", "date32[day]", "timestamp[us]",
    ]  # fmt: skip


@pytest.mark.turns(5)
def test_what_only_postgresql_has(postgresql: Any) -> None:
    database = Database(postgresql.url(postgresql.create_database()))
    database.run(
        "CREATE TABLE kinds (a timestamptz, b uuid, c jsonb, d bytea, e int[], f numeric, g real)",
        "INSERT INTO kinds VALUES ('2026-01-01 01:00:00+01', "
        "'00000000-0000-0000-0000-000000000001', '{\"x\": [1]}', '\\x00ff', '{1,2}', 1.5, 0.5)",
    )
    source = JdbcSource.builder().set_connection_options(database.options).set_table("kinds")
    [row] = read(source.build())
    assert tuple(row) == (
        datetime(2026, 1, 1, tzinfo=UTC), "00000000-0000-0000-0000-000000000001", '{"x": [1]}',
        b"\x00\xff", [1, 2], Decimal("1.5"), 0.5,
    )  # fmt: skip
    database.close()


@pytest.mark.turns(5)
def test_parts_are_read_as_of_one_moment(postgresql: Any) -> None:
    database = Database(postgresql.url(postgresql.create_database()))
    database.run("CREATE TABLE orders AS SELECT generate_series(1, 100) AS id")
    source = builder(database).set_split_column("id", 4).set_consistent_snapshot().build()
    enumerator = source.create_enumerator()
    splits = enumerator.discover(0)
    database.run("DELETE FROM orders WHERE id > 50")
    context = ReaderContext(0, 1, lambda: 0)
    readers = [source.create_split_reader(split, None, context) for split in splits]
    assert sum(len(reader.read(1000)) for reader in readers) == 100
    enumerator.close()
    late = source.create_split_reader(splits[0], None, context)
    assert len(late.read(1000)) <= 25
    for reader in (*readers, late):
        reader.close()
    database.close()


@pytest.mark.turns(5)
def test_ranges_are_cut_evenly(database: Database) -> None:
    import sqlalchemy

    database.run("CREATE TABLE t (a varchar(9))", "INSERT INTO t VALUES ('x'), (NULL)")

    def splits(connection: sqlalchemy.Connection) -> list[JdbcSplit]:
        return range_splits(connection, "t", "a", 4)

    assert [(s.lower, s.upper, s.is_null) for s in database.ask(splits)] == [
        (None, None, False),
        (None, None, True),
    ]
    many = ", ".join(f"('{chr(97 + i)}')" for i in range(8))
    database.run("DELETE FROM t", f"INSERT INTO t VALUES {many}")
    assert [s.lower for s in database.ask(splits)] == [None, "c", "e", "g"]


@pytest.mark.turns(5)
def test_runs_on_what_is_available_go_on_behind_each_other(
    database: Database, tmp_path: Path
) -> None:
    """An empty table, then rows, then none, then more; one without a value is read once."""
    database.run("CREATE TABLE orders (id bigint, name varchar(20))")
    source = builder(database).set_split_column("id", splits=3).build()
    settings = {"millrace.available-now": "true"}
    seen: list[list[Any]] = []
    for rows in ((), ("(1, 'a')", "(5, 'b')", "(9, 'c')", "(NULL, 'd')"), (), ("(12, 'e')",)):
        if rows:
            database.run(f"INSERT INTO orders VALUES {', '.join(rows)}")
        with run_local(checkpoint_dir=str(tmp_path / "checkpoints")):
            env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
            stream = env.set_parallelism(2).from_source(source, NO_TIME, "read").uid("read")
            with stream.execute_and_collect("orders") as found:
                seen.append(sorted(row.name for row in found))
    assert seen == [[], ["a", "b", "c", "d"], [], ["e"]]


@pytest.mark.turns(5)
@pytest.mark.parametrize("former", [True, None])
def test_rows_of_a_run_without_an_end_are_not_read_again(
    database: Database, former: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither by a run on what is available, nor if another ordinary run was between them."""
    database.run("CREATE TABLE orders (id bigint)", "INSERT INTO orders VALUES (1), (2)")
    source = builder(database).set_split_column("id", splits=2).build()
    before = source.create_enumerator()
    assert before.discover(0)
    for state in (former or before.snapshot_state(), None):
        after = source.create_enumerator()
        after.restore_state(before.snapshot_state() if state is None else state)
        after.prepare_for_available_now(0)
        assert after.discover(1) == ()
        assert "the last value that it has read is unknown" in caplog.text
        before = after


@pytest.mark.turns(5)
def test_an_ordinary_run_between_others_leaves_their_end(database: Database) -> None:
    database.run("CREATE TABLE orders (id bigint)", "INSERT INTO orders VALUES (1), (2)")
    source = builder(database).set_split_column("id", splits=1).build()
    state = None
    for available in (True, False, True):
        enumerator = source.create_enumerator()
        if state is not None:
            enumerator.restore_state(state)
        if available:
            enumerator.prepare_for_available_now(0)
        found = list(enumerator.discover(1))
        state = enumerator.snapshot_state()
        database.run("INSERT INTO orders VALUES (3)")
    [last] = found
    assert (last.above, last.until) == (2, 3)


@pytest.mark.turns(5)
def test_wrong_use_is_told(database: Database, orders: Database) -> None:
    with pytest.raises(MillraceError, match="no column cents; it has id, name, day"):
        read(builder(orders).set_columns("cents").build())
    with pytest.raises(MillraceError, match="there is no table nowhere"):
        read(builder(orders).set_table("nowhere").build())
    wrong = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.LONG()])
    with pytest.raises(MillraceError, match="column 'name' has values that are not of the type"):
        read(builder(orders).set_type_information(wrong).build())


@pytest.mark.turns(5)
def test_sources_are_checked_when_they_are_built(database: Database) -> None:
    for build, match in (
        (lambda b: b.set_connection_options(JdbcConnectionOptions("")), "set_connection_options"),
        (lambda b: b.set_sql("SELECT 1"), "set_table"),
        (lambda b: b.set_table(None).set_sql("SELECT 1"), "set_type_information"),
        (lambda b: b.set_split_column("a").set_predicates("b"), "not by two"),
        (lambda b: b.set_parameters([1]), "set_sql"),
        (lambda b: b.set_split_column("a", 0), "splits"),
        (lambda b: b.set_type_information(Types.INT()), "gives rows"),
    ):
        with pytest.raises(JobDefinitionError, match=match):
            build(builder(database)).build()
    if database.kind != "postgresql":
        with pytest.raises(JobDefinitionError, match="PostgreSQL only"):
            builder(database).set_consistent_snapshot().build()


@pytest.mark.turns(5)
@pytest.mark.parametrize("kind", ["float8", "numeric"])
def test_a_reader_goes_on_among_values_that_are_no_numbers(postgresql: Any, kind: str) -> None:
    """To PostgreSQL they are equal to each other, and the greatest."""
    database = Database(postgresql.url(postgresql.create_database()))
    database.run(
        f"CREATE TABLE orders (id int PRIMARY KEY, x {kind})",
        "INSERT INTO orders SELECT i, CASE WHEN i > 5 THEN 'nan'::float8 ELSE i END "
        "FROM generate_series(1, 20) AS i",
    )
    source = builder(database).set_columns("id").set_split_column("x", 2).build()
    found: list[int] = []
    for split in source.create_enumerator().discover(0):
        position, finished = None, False
        while not finished:
            reader = source.create_split_reader(split, position, ReaderContext(0, 1, lambda: 0))
            found += [row.id for row in reader.read(3).to_rows().values]
            position, finished = reader.position(), reader.finished()
            reader.close()
    assert sorted(found) == list(range(1, 21))
    database.close()
