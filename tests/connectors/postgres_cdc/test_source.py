"""A source of the changes of real tables."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from captured_database import CapturedDatabase, Churn, RebuiltTable, captured, kinds
from kafka_topics import WallClock

from millrace.common import JobDefinitionError, JobExecutionError, Row, Types, WatermarkStrategy
from millrace.connectors.postgres_cdc import (
    JsonDebeziumDeserializationSchema,
    PostgresCdcError,
    PostgresCdcSource,
    RowDeserializationSchema,
    StartupOptions,
)
from millrace.connectors.postgres_cdc.server_setup import require_wal_level
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

FULL = "alter table {} replica identity full"
ORDERS = "create table orders (id int primary key, item text, price numeric(8, 2))"


def orders(database: CapturedDatabase, full: bool = True) -> None:
    database.run(ORDERS, *([FULL.format("orders")] if full else []))
    database.run("insert into orders values (1, 'pen', 2.50), (2, 'ink', 7)")


@pytest.mark.turns(5)
def test_what_is_there_then_what_changes(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    source = database.builder("public.orders").build()
    assert sorted(kinds(captured(source, tmp_path))) == [
        "+I(1, 'pen', Decimal('2.50'))",
        "+I(2, 'ink', Decimal('7.00'))",
    ]
    database.run(
        "insert into orders values (3, 'pad', null)",
        "update orders set price = 3 where id = 1",
        "delete from orders where id = 2",
        "begin; delete from orders; rollback",
        "update orders set id = 4 where id = 3",
    )
    assert kinds(captured(source, tmp_path, resume=True)) == [
        "+I(3, 'pad', None)",
        "-U(1, 'pen', Decimal('2.50'))",
        "+U(1, 'pen', Decimal('3.00'))",
        "-D(2, 'ink', Decimal('7.00'))",
        "-D(3, 'pad', None)",
        "+I(4, 'pad', None)",
    ]
    assert captured(source, tmp_path, resume=True) == []


@pytest.mark.turns(5)
def test_without_full_identity_updates_are_upserts(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    orders(database, full=False)
    source = database.builder("public.orders").startup_options(StartupOptions.latest()).build()
    assert captured(source, tmp_path) == []
    database.run(
        "update orders set item = 'quill' where id = 1",
        "update orders set id = 3 where id = 2",
        "delete from orders where id = 1",
    )
    assert kinds(captured(source, tmp_path, resume=True)) == [
        "+U(1, 'quill', Decimal('2.50'))",
        "-D(2, None, None)",
        "+I(3, 'ink', Decimal('7.00'))",
        "-D(1, None, None)",
    ]


VALUES = """
(1, 7::smallint, 8::bigint, 1.5::real, 2.25::float8, 12.340, true, 'text', 'c', '2026-05-04',
 '12:34:56.5', '2026-05-04 03:02:01', '2026-05-04 03:02:01.5+02', '1 day 2 hours', '\\x00ff',
 '{"a": [1, null]}', '{"b": 2}', '6f9619ff-8b86-d011-b42d-00c04fc964ff', '{1,null,3}', '{a,"b c"}',
 'happy', 5, '10.0.0.1')
"""


@pytest.mark.turns(5)
def test_values_have_the_same_types_however_they_come(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    """Those of the snapshot come from a query, those of changes from the log."""
    database.run(
        "create type mood as enum ('sad', 'happy')",
        "create domain positive as int check (value > 0)",
        "create table kinds (id int primary key, a smallint, b bigint, c real, d float8, e numeric,"
        " f bool, g text, h char(3), i date, j time, k timestamp, l timestamptz, m interval,"
        " n bytea, o json, p jsonb, q uuid, r int[], s text[], t mood, u positive, v inet)",
        f"insert into kinds values {VALUES}",
    )
    source = database.builder().build()
    [read] = captured(source, tmp_path)
    database.run(f"insert into kinds values {VALUES.replace('(1,', '(2,')}")
    [logged] = captured(source, tmp_path, resume=True)
    assert tuple(read)[1:] == tuple(logged)[1:]
    assert list(map(type, read)) == list(map(type, logged))
    expected = database.rows("select * from kinds where id = 1")[0]
    assert tuple(read) == expected
    database.run(
        "insert into kinds (id) values (3)", "update kinds set k = 'infinity' where id = 3"
    )
    with pytest.raises(JobExecutionError, match=r"public\.kinds has a value that cannot be read"):
        captured(source, tmp_path, resume=True)


@pytest.mark.turns(5)
@pytest.mark.parametrize("full", [False, True])
def test_large_values_that_did_not_change_are_kept(
    database: CapturedDatabase, tmp_path: Path, full: bool
) -> None:
    """The log does not have them."""
    database.run("create table pages (id int primary key, hits int, body text, more text)")
    database.run(
        "alter table pages alter body set storage external", *[FULL.format("pages")] * full
    )
    source = database.builder().startup_options(StartupOptions.latest()).build()
    captured(source, tmp_path)
    body = "x" * 20_000
    database.run(
        f"insert into pages values (1, 0, '{body}', null), (2, 0, '{body}', 'm')",
        "update pages set hits = 1",
        "update pages set id = 3 where id = 1",
        "delete from pages where id = 2",
    )
    found = captured(source, tmp_path, resume=True)
    after = [row for row in found if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER")]
    # the row with key 1 is gone, and the one with key 2, too, by the time they are looked up
    lengths = [(row.id, row.hits, row.body and len(row.body)) for row in after]
    now = 20_000 if full else None
    assert lengths == [(1, 0, 20_000), (2, 0, 20_000), (1, 1, now), (2, 1, now), (3, 1, 20_000)]


@pytest.mark.turns(5)
def test_several_tables_and_metadata(database: CapturedDatabase, tmp_path: Path) -> None:
    database.run(
        "create schema shop",
        'create table shop."Order" ("Id" int primary key)',
        "create table shop.item (id int primary key, n int)",
        "create table hidden (id int primary key)",
        "create table shop.parts (id int, n int, primary key (id, n)) partition by range (n)",
        "create table shop.parts_1 partition of shop.parts for values from (0) to (10)",
        "create table shop.parts_2 partition of shop.parts for values from (10) to (20)",
        'insert into shop."Order" values (1)',
        "insert into shop.parts values (1, 2), (1, 12)",
        "insert into hidden values (1)",
    )
    schema = RowDeserializationSchema(metadata=["schema_name", "table_name", "op_ts", "xid"])
    source = database.builder().table_list(r"shop\..*").deserializer(schema).build()
    read = captured(source, tmp_path)
    assert sorted(kinds(read)) == [
        "+I(1, 'shop', 'Order', 0, 0)",
        "+I(1, 12, 'shop', 'parts', 0, 0)",
        "+I(1, 2, 'shop', 'parts', 0, 0)",
    ]
    database.run(
        "insert into hidden values (2)",
        "insert into shop.item values (5, 6)",
        "insert into shop.parts values (2, 13)",
    )
    item, part = captured(source, tmp_path, resume=True)
    assert (item.table_name, item.n, part.table_name, part.n) == ("item", 6, "parts", 13)
    assert item.op_ts > 1_700_000_000_000
    assert item.xid < part.xid


@pytest.mark.turns(5)
def test_a_column_is_added_while_the_job_runs(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    row_type = Types.ROW_NAMED(["item", "id"], [Types.STRING(), Types.INT()])
    source = database.builder().build()
    typed = (
        database.builder()
        .slot_name(f"typed_{database.slot}")
        .deserializer(RowDeserializationSchema(row_type))
    )
    captured(source, tmp_path / "all")
    captured(typed.build(), tmp_path / "typed")
    database.run(
        "insert into orders values (3, 'old', 1)",
        "alter table orders add column colour text default 'black'",
        "insert into orders values (4, 'new', 1, 'red')",
    )
    assert [row.as_dict() for row in captured(source, tmp_path / "all", resume=True)][1][
        "colour"
    ] == ("red")
    found = captured(typed.build(), tmp_path / "typed", resume=True)
    assert kinds(found) == ["+I('old', 3)", "+I('new', 4)"]
    database.run("alter table orders drop column item", "insert into orders values (5, 1)")
    with pytest.raises(JobExecutionError, match=r"has no column item, which the row_type names"):
        captured(typed.build(), tmp_path / "typed", resume=True)


@pytest.mark.turns(5)
def test_debezium_json(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    database.run("alter table orders add column at timestamp default '1970-01-01 00:00:01'")
    database.run("alter table orders add column day date default '1970-01-11'")
    source = database.builder().deserializer(JsonDebeziumDeserializationSchema()).build()
    read = list(map(json.loads, captured(source, tmp_path)))
    assert [(r["op"], r["before"], r["source"]["snapshot"]) for r in read] == [
        ("r", None, "true")
    ] * 2
    database.run("update orders set price = 1.10 where id = 1", "delete from orders where id = 1")
    update, delete = map(json.loads, captured(source, tmp_path, resume=True))
    pen = {"id": 1, "item": "pen", "price": "2.50", "at": 1_000_000, "day": 10}
    assert (update["op"], update["before"]) == ("u", pen)
    assert update["after"] == {**pen, "price": "1.10"} == delete["before"]
    assert (delete["op"], delete["after"]) == ("d", None)
    assert update["source"]["db"] == database.name
    assert (update["source"]["schema"], update["source"]["table"]) == ("public", "orders")
    assert update["source"]["lsn"] < delete["source"]["lsn"]


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("%s", "int"),
        ("md5(%s::text)::uuid", "uuid"),
        ("translate(%s::text, '0123456789', 'aBbAcCzZéé')", 'text collate "und-x-icu"'),
    ],
    ids=["int", "uuid", "text"],
)
def test_changes_while_the_table_is_read(
    database: CapturedDatabase, tmp_path: Path, key: str, column: str
) -> None:
    """Every change fits what was read before, and in the end the table is the same."""
    database.run(f"create table t (id {column} primary key, name text, amount numeric)")
    database.run(FULL.format("t"))
    fill = key.replace("%%", "%").replace("%s", "i")
    database.run(
        f"insert into t select {fill}, 'first', 1 from generate_series(0, 1999) i "
        "on conflict do nothing"
    )
    churn, stop = Churn(database, "t", 1, 3_000, key), threading.Event()

    def change() -> None:
        while not stop.is_set():
            churn.transaction()

    thread = threading.Thread(target=change)
    thread.start()
    source = database.builder().split_size(250).build()
    faults = Faults(lost_epochs=0.1)
    local: dict[str, Any] = {"workers": 2, "seed": 3, "epoch_records": 120, "faults": faults}
    try:
        found = captured(source, tmp_path, **local)
    finally:
        stop.set()
        thread.join()
        churn.close()
    assert [row for row in found if row.get_row_kind().name != "INSERT"], "nothing changed"
    found += captured(source, tmp_path, resume=True, **local)
    table = RebuiltTable()
    for row in found:
        table.apply(row.get_row_kind(), tuple(row))
    assert sorted(table.rows.values()) == sorted(database.rows("select * from t"))


@pytest.mark.turns(5)
def test_the_source_of_a_snapshot_ends_and_drops_its_slot(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    orders(database)
    source = database.builder().startup_options(StartupOptions.snapshot()).build()
    with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "cdc")
        assert [row.id for row in stream.execute_and_collect()] == [1, 2]
    slots = "select count(*) from pg_replication_slots where database = current_database()"
    assert database.rows(slots) == [(0,)]


@pytest.mark.turns(5)
def test_composite_keys_in_pages(database: CapturedDatabase, tmp_path: Path) -> None:
    database.run("create table t (a text, b int, c text, primary key (a, b))", FULL.format("t"))
    database.run("insert into t select i % 3, i, i from generate_series(1, 100) i")
    source = database.builder().split_size(7).build()
    local: dict[str, Any] = {"epoch_records": 3, "workers": 2, "faults": Faults(lost_epochs=0.2)}
    found = captured(source, tmp_path, seed=4, **local)
    assert sorted(map(tuple, found)) == sorted(database.rows("select * from t"))


@pytest.mark.turns(5)
def test_a_transaction_is_read_over_many_epochs(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    source = database.builder().build()
    captured(source, tmp_path)
    database.run("insert into orders select i, 'many', i from generate_series(10, 509) i")
    local: dict[str, Any] = {"epoch_records": 60, "workers": 3, "faults": Faults(lost_epochs=0.2)}
    found = captured(source, tmp_path, resume=True, seed=2, **local)
    assert [row.id for row in found] == list(range(10, 510))


@pytest.mark.turns(5)
def test_truncate_is_refused_or_passed_over(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    source = database.builder()
    captured(source.build(), tmp_path)
    database.run("truncate orders", "insert into orders values (9, 'new', 1)")
    with pytest.raises(JobExecutionError, match=r"TRUNCATE has emptied table public\.orders"):
        captured(source.build(), tmp_path, resume=True)
    found = captured(source.skip_truncates().build(), tmp_path, resume=True)
    assert kinds(found) == ["+I(9, 'new', Decimal('1.00'))"]
    # who begins anew does not hear of what was before
    database.run("truncate orders")
    assert captured(database.builder().build(), tmp_path / "again") == []


@pytest.mark.turns(5)
def test_the_slot_moves_with_checkpoints(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    source = database.builder().build()
    query = (
        "select confirmed_flush_lsn - '0/0'::pg_lsn from pg_replication_slots "
        f"where slot_name = '{database.slot}'"
    )
    captured(source, tmp_path)
    [(before,)] = database.rows(query)
    database.run("insert into orders select i, 'x', 1 from generate_series(10, 1000) i")
    captured(source, tmp_path, resume=True, epoch_records=50)
    [(after,)] = database.rows(query)
    assert after > before


# -- what is wrong ---------------------------------------------------------------------


def refused(source: Any, directory: Path, match: str, resume: bool = False) -> None:
    with pytest.raises((PostgresCdcError, JobExecutionError), match=match) as error:
        captured(source, directory, resume=resume)
    assert "only-for-the-tests" not in str(error.value)


@pytest.mark.turns(5)
def test_settings_that_do_not_fit(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    database.run("create table loose (id int)", "create table half (id int, n int)")
    b = database.builder
    refused(b("public.nothing").build(), tmp_path, r"no table matches 'public\.nothing'")
    refused(b("public.loose").build(), tmp_path, r"loose has no primary key")
    latest = StartupOptions.latest()
    refused(
        b("public.loose").startup_options(latest).build(),
        tmp_path,
        r'ALTER TABLE "public"\."loose" REPLICA IDENTITY FULL',
    )
    refused(b().password("wrong").build(), tmp_path, r"cannot reach .*password authentication")
    refused(b().port(1).build(), tmp_path, r"cannot reach .*127\.0\.0\.1:1")
    refused(b().database("nowhere").build(), tmp_path, r'"nowhere" does not exist')
    committed = StartupOptions.committed()
    refused(
        b("public.orders").startup_options(committed).build(),
        tmp_path,
        "there is no replication slot",
    )
    database.run("create publication short for table half")
    refused(
        b("public.orders").publication_name("short").build(),
        tmp_path,
        r'ALTER PUBLICATION "short" ADD TABLE "public"\."orders"',
    )
    database.run(f"select pg_create_logical_replication_slot('x_{database.name}', 'test_decoding')")
    refused(
        b("public.orders").slot_name(f"x_{database.name}").build(),
        tmp_path,
        "has plugin test_decoding",
    )


@pytest.mark.turns(5)
def test_a_user_who_may_not(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    role = f"weak_{database.name}"
    database.run(f"create role {role} login password 'weak'")
    weak = database.builder("public.orders").username(role).password("weak")
    refused(weak.build(), tmp_path, "an owner of the tables can: CREATE PUBLICATION")
    database.run(f'create publication "{database.slot}" for table orders')
    refused(weak.build(), tmp_path, "needs the attribute REPLICATION")
    database.run(f"alter role {role} replication")
    refused(weak.build(), tmp_path, "permission denied for table orders")


@pytest.mark.turns(5)
def test_publications_that_leave_something_out(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    database.run(
        "create publication inserts for table orders with (publish = 'insert')",
        "create table parts (id int primary key) partition by range (id)",
        "create publication leaves for table parts",
        f"select pg_create_logical_replication_slot('{database.slot}', 'pgoutput')",
    )
    inserts = database.builder("public.orders").publication_name("inserts")
    refused(inserts.build(), tmp_path, "leaves out some kinds of changes: ALTER PUBLICATION")
    leaves = database.builder("public.parts").publication_name("leaves")
    refused(leaves.build(), tmp_path, "publish_via_partition_root = true")
    refused(database.builder("public.orders").build(), tmp_path, "is older than its publication")


@pytest.mark.turns(5)
def test_a_server_whose_log_has_too_little() -> None:
    connection = Mock()
    connection.execute().fetchone.return_value = ("replica",)
    with pytest.raises(PostgresCdcError, match="ALTER SYSTEM SET wal_level = logical"):
        require_wal_level(connection)


@pytest.mark.turns(5)
def test_a_source_that_is_not_complete() -> None:
    builder = PostgresCdcSource.builder()
    for call, missing in (
        (builder.build, "hostname"),
        (lambda: builder.hostname("h").build(), "database"),
        (lambda: builder.database("d").build(), "slot_name"),
        (lambda: builder.slot_name("Not so"), "small letters"),
        (lambda: builder.slot_name("s").build(), "table_list"),
        (lambda: builder.table_list("("), "regular expressions"),
        (lambda: builder.split_size(0), "at least one row"),
        (lambda: builder.heartbeat_interval(0), "positive"),
        (lambda: builder.startup_options("initial"), "StartupOptions"),  # type: ignore[arg-type]
        (lambda: builder.deserializer("json"), "CdcDeserializationSchema"),  # type: ignore[arg-type]
        (lambda: RowDeserializationSchema(metadata=["when"]), "no metadata when"),
        (lambda: RowDeserializationSchema(Types.STRING()), "names"),
    ):
        with pytest.raises(JobDefinitionError, match=missing):
            call()


@pytest.mark.turns(5)
def test_a_slot_that_is_gone_or_was_read_by_others(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    orders(database)
    source = database.builder("public.orders").build()
    captured(source, tmp_path)
    database.run("insert into orders values (3, 'pad', 1)")
    database.run(
        f"select pg_replication_slot_advance('{database.slot}', pg_current_wal_insert_lsn())"
    )
    with pytest.raises(JobExecutionError, match="has been read beyond the position"):
        captured(source, tmp_path, resume=True)
    database.run(f"select pg_drop_replication_slot('{database.slot}')")
    with pytest.raises(JobExecutionError, match=r"slot '.*' is gone"):
        captured(source, tmp_path, resume=True)


@pytest.mark.turns(5)
def test_a_slot_that_somebody_else_reads(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    source = database.builder("public.orders").connect_timeout(300).build()
    captured(source, tmp_path)
    database.run("insert into orders values (3, 'pad', 1)")
    other = psycopg_replication(database)
    try:
        with pytest.raises(JobExecutionError, match=r"is active for PID"):
            captured(source, tmp_path, resume=True)
    finally:
        other.finish()


def psycopg_replication(database: CapturedDatabase) -> Any:
    from psycopg import pq

    conninfo = f"{database.server.url(database.name)}?replication=database"
    connection = pq.PGconn.connect(conninfo.encode())
    result = connection.exec_(
        f"START_REPLICATION SLOT {database.slot} LOGICAL 0/0 "
        f"(proto_version '1', publication_names '{database.slot}')".encode()
    )
    assert result.status == pq.ExecStatus.COPY_BOTH
    return connection


@pytest.mark.turns(5)
def test_the_password_is_in_no_checkpoint(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    source = database.builder("public.orders").build()
    captured(source, tmp_path)
    written = []
    for path in tmp_path.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):  # what marks a run goes when it ends
            written.append(path.read_bytes())
    assert written
    assert not [content for content in written if database.server.password.encode() in content]
    assert database.server.password not in repr(vars(source))


@pytest.mark.turns(5)
def test_rows_are_rows(database: CapturedDatabase, tmp_path: Path) -> None:
    orders(database)
    [first, _] = sorted(captured(database.builder().build(), tmp_path), key=lambda row: row.id)
    assert isinstance(first, Row)
    assert first.as_dict().keys() == {"id", "item", "price"}


@pytest.mark.turns(5)
def test_tables_that_inherit_are_tables_of_their_own(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    """Their rows are not read twice; the log, too, has them under their own names."""
    database.run(
        "create table parent (id int primary key, x text)",
        "create table child (primary key (id)) inherits (parent)",
        "insert into parent values (1, 'p')",
        "insert into child values (2, 'c')",
    )
    source = database.builder().build()
    assert sorted(kinds(captured(source, tmp_path))) == ["+I(1, 'p')", "+I(2, 'c')"]


@pytest.mark.turns(5)
def test_names_with_percent_signs(database: CapturedDatabase, tmp_path: Path) -> None:
    table, key, body = '"50%s"', '"%id"', '"body %"'
    database.run(
        f'create table {table} ({key} int primary key, "%s" text, {body} text)',
        f"alter table {table} alter {body} set storage external",
        f"insert into {table} select i, 'a', repeat('x', 20000) from generate_series(1, 3) i",
    )
    source = database.builder().split_size(2).build()
    assert len(captured(source, tmp_path)) == 3
    database.run(f"""update {table} set "%s" = 'b' where {key} = 1""")
    [row] = captured(source, tmp_path, resume=True)
    assert (*row,) == (1, "b", "x" * 20_000)


@pytest.mark.turns(5)
@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["drop table orders", ORDERS], "was dropped and created again"),
        (["alter table orders rename to bills"], "is now called public.bills"),
        (["alter publication {} drop table orders"], "lacks tables that are to be captured"),
        (["drop table orders"], None),
    ],
)
def test_tables_whose_changes_would_be_missed(
    database: CapturedDatabase, tmp_path: Path, statements: list[str], message: str | None
) -> None:
    """While the job was stopped; nobody misses what is gone."""
    orders(database)
    database.run("create table more (id int primary key)")
    source = database.builder().build()
    captured(source, tmp_path)
    database.run(*(statement.format(database.slot) for statement in statements))
    database.run("insert into more values (1)")
    if message is None:
        assert kinds(captured(source, tmp_path, resume=True)) == ["+I(1,)"]
    else:
        refused(source, tmp_path, message, resume=True)


@pytest.mark.turns(5)
def test_a_table_that_had_another_name_for_a_while(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    orders(database)
    source = database.builder().build()
    captured(source, tmp_path)
    database.run("insert into orders values (3, 'pad', 1)", "alter table orders rename to bills")
    database.run("insert into bills values (4, 'pad', 1)")
    refused(source, tmp_path, "is now called public.bills", resume=True)
    database.run("alter table bills rename to orders", "insert into orders values (5, 'pad', 1)")
    assert [row.id for row in captured(source, tmp_path, resume=True)] == [3, 4, 5]


@pytest.mark.turns(5)
def test_numbers_that_json_does_not_have(database: CapturedDatabase, tmp_path: Path) -> None:
    database.run("create table t (id int primary key, x float8, y real, z float8[])")
    database.run("insert into t values (1, 'nan', '-infinity', '{infinity,0.5}')")
    source = database.builder().deserializer(JsonDebeziumDeserializationSchema()).build()
    [read] = map(json.loads, captured(source, tmp_path))
    assert read["after"] == {"id": 1, "x": "NaN", "y": "-Infinity", "z": ["Infinity", 0.5]}


@pytest.mark.turns(5)
def test_options_of_the_session_do_not_change_values(
    database: CapturedDatabase, tmp_path: Path
) -> None:
    """The server's own settings neither."""
    database.run(
        f"alter database {database.name} set timezone = 'Asia/Tokyo'",
        "create table t (id int primary key, x timestamptz)",
        "insert into t values (1, '2026-01-01 00:00:00+00')",
    )
    options = {"options": "-c search_path=pg_catalog -c DateStyle=German"}
    source = database.builder().connection_options(options).build()
    [read] = captured(source, tmp_path)
    database.run("update t set id = 2")
    *_, logged = captured(source, tmp_path, resume=True)
    assert read.x.isoformat() == logged.x.isoformat() == "2026-01-01T00:00:00+00:00"
