"""The Cassandra sink against a real node."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cassandra_node import CassandraNode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from killed_job import executors
from service import free_ports

from millrace.common import ErrorPolicy, Row, RowKind
from millrace.common.errors import SerializationError
from millrace.common.sink import WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.cassandra import (
    CassandraError,
    CassandraSink,
    CassandraUnavailableError,
    ConsistencyLevel,
    MapperOptions,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

from ..upsert_driver import UpsertDriver
from ..upsert_job import sums_of

pytestmark = pytest.mark.connectors

KINDS = st.sampled_from([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE])


def builder(node: CassandraNode) -> Any:
    made = CassandraSink.builder().set_host("127.0.0.1", node.port)
    return made.set_credentials(node.user, node.password)


class Writer:
    """Writes epochs over one session, as a subtask does."""

    def __init__(self, sink: Any) -> None:
        self._writer = sink.create_writer(WriterContext(0, 1, "run"), None)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def run_epoch(self, values: list[Any]) -> None:
        self._writer.write(RowBatch(values))
        self._writer.flush(False)


def epoch(sink: Any, values: list[Any]) -> None:
    with Writer(sink) as writer:
        writer.run_epoch(values)


def found(session: Any, table: str) -> dict[str, Any]:
    rows = session.execute(f"SELECT key, total, note FROM {table}")
    return {row.key: (row.total, row.note) for row in rows}


def write(values: list[Any], sink: Any, **local: Any) -> None:
    """A job that writes the values."""
    with run_local(**local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(1)
        keyed = env.from_collection(values).key_by(lambda value: value["key"])
        keyed.map(lambda value: value).sink_to(sink)
        env.execute("write")


def test_what_was_written_again_replaces_itself(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    """Epochs fail after their rows were sent."""
    values = [{"key": str(i % 90), "total": i} for i in range(300)]
    sink = builder(cassandra_node).set_table(table).build()
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.2)
    write(values, sink, epoch_records=50, faults=faults)
    assert found(session, table) == {value["key"]: (value["total"], None) for value in values}


def test_a_table_follows_a_changelog(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    """Whatever of it is on its way at once: like a dict that gets the same changes."""
    sink = builder(cassandra_node).set_table(table).set_max_concurrent_requests(16).build()
    with Writer(sink) as writer:

        @settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
        @given(changes=st.lists(st.tuples(KINDS, st.integers(0, 4), st.integers(0, 99))))
        def follows(changes: list[Any]) -> None:
            prefix = uuid.uuid4().hex
            expected: dict[str, Any] = {}
            rows = []
            for kind, number, total in changes:
                key = f"{prefix}-{number}"
                rows.append(Row.of_kind(kind, key=key, total=total))
                if kind is RowKind.DELETE:
                    expected.pop(key, None)
                else:
                    expected[key] = total, None
            writer.run_epoch(rows)
            mine = {k: v for k, v in found(session, table).items() if k.startswith(prefix)}
            assert mine == expected

        follows()


def test_values_of_many_types(cassandra_node: CassandraNode, session: Any) -> None:
    name = f"tests.t{uuid.uuid4().hex[:12]}"
    columns = {
        "a b": "uuid",
        "n": "int",
        "d": "decimal",
        "at": "timestamp",
        "day": "date",
        "raw": "blob",
        "tags": "list<text>",
        "m": "map<text, double>",
        "flag": "boolean",
    }
    listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    session.execute(f'CREATE TABLE {name} ({listed}, PRIMARY KEY (("a b"), n))')
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    values = (uuid.uuid4(), 7, Decimal("1.50"), at, date(2026, 1, 2), b"\0\xff", ["x"], {"y": 0.5})
    row = dict(zip(columns, (*values, True), strict=True))
    epoch(builder(cassandra_node).set_table(name).build(), [row])
    [stored] = session.execute(f"SELECT * FROM {name}")
    assert (stored.a_b, stored.n, stored.d, stored.raw, stored.flag) == (
        *(row["a b"], 7, Decimal("1.50"), b"\0\xff", True),
    )
    assert stored.at == at.replace(tzinfo=None)
    assert stored.day.date() == date(2026, 1, 2)
    assert (stored.tags, dict(stored.m)) == (["x"], {"y": 0.5})
    gone = Row.of_kind(RowKind.DELETE, **{"a b": row["a b"], "n": 7})
    epoch(builder(cassandra_node).set_table(name).build(), [gone])
    assert session.execute(f"SELECT * FROM {name}").all() == []


def test_nulls_are_deletes_unless_they_are_ignored(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    made = builder(cassandra_node).set_table(table)
    rows = [{"key": "a", "total": 1, "note": "n"}, {"key": "b", "total": 1, "note": "n"}]
    epoch(made.build(), [*rows, {"key": "a", "total": 2, "note": None}])
    ignoring = made.enable_ignore_null_fields().build()
    epoch(ignoring, [{"key": "b", "total": 2, "note": None}])
    assert found(session, table) == {"a": (2, None), "b": (2, "n")}


def test_rows_vanish_after_their_time(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    made = builder(cassandra_node).set_consistency_level(ConsistencyLevel.ONE)
    epoch(made.set_table(table).set_ttl(500).build(), [{"key": "a", "total": 1}])
    [row] = session.execute(f"SELECT ttl(total) FROM {table}")
    assert 400 < row[0] <= 500


def test_statements_take_fields_by_place_or_name(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    query = f"INSERT INTO {table} (key, total) VALUES (?, ?) USING TTL 900"
    sink = builder(cassandra_node).set_query(query).build()
    epoch(sink, [("a", 1), Row("b", 2), {"total": 3, "key": "c", "more": 0}, Row(x="d", y=4)])
    totals = {key: total for key, (total, _) in found(session, table).items()}
    assert totals == {"a": 1, "b": 2, "c": 3, "d": 4}
    with pytest.raises(SerializationError, match="has 3 fields, and statement .* needs 2"):
        epoch(sink, [(1, 2, 3)])
    with pytest.raises(SerializationError, match="fields key has no 'total'"):
        epoch(sink, [{"key": "x"}])


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"key": "a", "total": "many"}, "column 'total' of tests.* is bigint .* a str: many"),
        ({"key": "a", "total": 2**70}, "column 'total' of tests.* is bigint .* an? int"),
        ({"key": "a", "raw": 5}, "column 'raw' of tests.* is blob .* an? int: 5"),
        ({"key": "a", "flag": 7}, "column 'flag' of tests.* is boolean .* an? int: 7"),
        (
            {"key": "a", "day": datetime(2026, 1, 2, 3)},
            "column 'day' of tests.* is date .* a datet",
        ),
        ({"key": "a", "day": 5}, "column 'day' of tests.* is date .* an? int: 5"),
        (Row.of_kind(RowKind.DELETE, total=1), "has no 'key', which is in the primary key"),
        (5, "has no field names"),
    ],
)
def test_records_that_do_not_fit(
    cassandra_node: CassandraNode, session: Any, table: str, record: Any, said: str
) -> None:
    with pytest.raises(SerializationError, match=said):
        epoch(builder(cassandra_node).set_table(table).build(), [record])


def test_what_the_cluster_does_not_have(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    for name, record, said in (
        ("nowhere.t", {"key": "a"}, "there is no keyspace 'nowhere'"),
        ("tests.nothing", {"key": "a"}, f"no table 'nothing' in the keyspace 'tests'.*{table[6:]}"),
        (table, {"key": "a", "colour": 1}, f"table {table} cannot be written.*colour"),
    ):
        with pytest.raises(CassandraError, match=said):
            epoch(builder(cassandra_node).set_table(name).build(), [record])
    with pytest.raises(CassandraError, match=r"cannot be written: Cassandra says of 'nonsense'"):
        epoch(builder(cassandra_node).set_query("nonsense").build(), [("a",)])


def test_what_the_cluster_refuses(cassandra_node: CassandraNode, session: Any, table: str) -> None:
    wrong = builder(cassandra_node).set_credentials("cassandra", "guess").set_table(table).build()
    with pytest.raises(
        CassandraError, match=r"refuses the user or .* set_credentials\(\)"
    ) as refused:
        epoch(wrong, [{"key": "a"}])
    assert "guess" not in str(refused.value)
    session.execute("CREATE ROLE reader WITH PASSWORD = 'r' AND LOGIN = true")
    session.execute(f"GRANT SELECT ON {table} TO reader")
    reading = builder(cassandra_node).set_credentials("reader", "r").set_table(table)
    with pytest.raises(CassandraError, match="grant the user of set_cred.*and 1 more"):
        epoch(reading.build(), [{"key": "a"}, {"key": "b"}])
    epoch(reading.set_error_policy(ErrorPolicy.skip()).build(), [{"key": "a"}])
    assert found(session, table) == {}


def test_too_few_replicas_and_nodes_that_are_away(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    made = builder(cassandra_node).set_table(table).set_max_retries(1).set_retry_interval_ms(1)
    strict = made.set_consistency_level(ConsistencyLevel.TWO).build()
    with pytest.raises(CassandraUnavailableError, match=r"tried 2 times.*set_consistency_level"):
        epoch(strict, [{"key": "a"}])
    [port] = free_ports(1)
    away = made.set_host("127.0.0.1", port).build()
    with pytest.raises(CassandraUnavailableError, match=rf"127.0.0.1:{port} did not.*tried 2"):
        epoch(away, [{"key": "a"}])


@executors
def test_the_driver_is_killed(
    executor: str, cassandra_node: CassandraNode, session: Any, table: str, tmp_path: Path
) -> None:
    place = f"{cassandra_node.port} {cassandra_node.user} {cassandra_node.password} {table}"
    UpsertDriver("cassandra", place, tmp_path, 2_000, executor).run_through_kills()
    assert {key: total for key, (total, _) in found(session, table).items()} == sums_of(2_000)


@executors
def test_nothing_of_a_lost_epoch_stays_with_a_log(
    executor: str, cassandra_node: CassandraNode, session: Any, table: str, tmp_path: Path
) -> None:
    place = f"{cassandra_node.port} {cassandra_node.user} {cassandra_node.password} {table}"
    UpsertDriver("cassandra", place, tmp_path, 2_000, executor, logged=True).run_through_kills()
    assert sorted(total for total, _ in found(session, table).values()) == list(range(2_000))


def test_a_node_that_is_killed_is_waited_for(tmp_path: Path) -> None:
    """While a job writes; what was acknowledged before is there afterwards."""
    with CassandraNode(tmp_path / "node") as node:
        session = node.session()
        session.execute(
            "CREATE KEYSPACE tests WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.execute("CREATE TABLE tests.t (key text PRIMARY KEY, total bigint, note text)")
        values = [{"key": str(i), "total": i} for i in range(3_000)]
        sink = builder(node).set_table("tests.t").set_max_retries(100).set_retry_interval_ms(300)
        sink.set_request_timeout(3_000)
        job = threading.Thread(
            target=write, args=(values, sink.build()), kwargs={"epoch_records": 50}
        )
        job.start()
        node.wait_until(lambda: len(found(session, "tests.t")) > 300)
        assert job.is_alive()
        node.kill()
        session.cluster.shutdown()
        node.resume()
        job.join(120)
        assert not job.is_alive()
        session = node.session()
        assert found(session, "tests.t") == {v["key"]: (v["total"], None) for v in values}
        session.cluster.shutdown()


def test_mapper_options_are_what_the_node_does(
    cassandra_node: CassandraNode, session: Any, table: str
) -> None:
    """A row that is there stays as it is; an older time loses, and time-to-live is kept."""

    def write_with(options: MapperOptions, *values: dict[str, Any]) -> None:
        made = builder(cassandra_node).set_table(table).set_mapper_options(options)
        epoch(made.build(), list(values))

    write_with(MapperOptions().if_not_exists(True).ttl(600), {"key": "a", "total": 1})
    new = MapperOptions().if_not_exists(True)
    write_with(new, {"key": "a", "total": 2}, {"key": "b", "total": 3})
    assert found(session, table) == {"a": (1, None), "b": (3, None)}
    past = MapperOptions().timestamp(5).ttl(100).consistency_level(ConsistencyLevel.ONE)
    write_with(past, {"key": "b", "total": 9}, {"key": "c", "total": 9})
    assert found(session, table) == {"a": (1, None), "b": (3, None), "c": (9, None)}
    [row] = session.execute(
        f"SELECT WRITETIME(total) AS at, TTL(total) AS ttl FROM {table} WHERE key = 'c'"
    )
    assert row.at == 5
    assert 0 < row.ttl <= 100
