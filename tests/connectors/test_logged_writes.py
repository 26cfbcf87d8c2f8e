"""Sinks that write from a log: what cannot be written fails its epoch, so that no checkpoint has
it, and what is logged is written however often that is repeated."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.query import PreparedStatement
from pymongo import UpdateOne

from millrace.common import SimpleStringSchema, Types
from millrace.common.errors import JobExecutionError, SerializationError
from millrace.common.sink import (
    CommitRequest,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    WriterContext,
)
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.row import Row, RowKind
from millrace.connectors.cassandra import CassandraSink
from millrace.connectors.cassandra import writer as cassandra_writer
from millrace.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchAction,
    ElasticsearchEmitter,
)
from millrace.connectors.elasticsearch import writer as elasticsearch_writer
from millrace.connectors.jdbc import JdbcConnectionOptions, JdbcError, JdbcSink
from millrace.connectors.jdbc import writer as jdbc_writer
from millrace.connectors.kafka import KafkaError, KafkaRecordSerializationSchema, KafkaSink
from millrace.connectors.kafka import writer as kafka_writer
from millrace.connectors.mongodb import MongoError, MongoSink
from millrace.connectors.mongodb import writer as mongodb_writer
from millrace.datastream import StreamExecutionEnvironment
from millrace.planner.execution.table_factory import TableFactory
from millrace.runtime.write_ahead import (
    LoggableWriter,
    RepeatableSink,
    WriteAheadSink,
    WriteAheadWriter,
)
from millrace.table.connectors.registry import CONNECTORS
from millrace.testing import ManualClock, run_local

BEFORE, AFTER, DELETE = RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


class Target:
    """Stands for the servers of all connectors: what they were told, in order."""

    told: ClassVar[list[Any]] = []

    def close(self, *_: Any) -> None:
        pass

    flush = check = close


class Collection(Target):
    def get_database(self, _: str) -> Collection:
        return self

    def get_collection(self, _: str, **__: Any) -> Collection:
        return self

    def bulk_write(self, operations: list[Any], ordered: bool) -> None:
        for each in operations:
            key = each._filter["_id"]
            key = key["$eq"] if isinstance(key, dict) else key
            self.told.append((type(each).__name__, key, getattr(each, "_doc", None)))


class Bulks(Target):
    def __init__(self, _: Any) -> None:
        pass

    def send(self, actions: list[Any]) -> list[Any]:
        self.told.extend((each.operation, each.document_id, each.document) for each in actions)
        return []


class Producer(Target):
    def __init__(self, _: Any) -> None:
        pass

    def send(self, outgoing: Any) -> None:
        self.told.extend(each["value"] for messages in outgoing.values() for each in messages)


class Database(Target):
    def __init__(self, *_: Any) -> None:
        pass

    def transaction(self, *_: Any) -> None:
        raise AssertionError("nothing is to be sent before the checkpoint")


class Session(Target):
    """A session with the table shop.totals (id int, name text)."""

    types: ClassVar[dict[str, Any]] = {"id": Int32Type, "name": UTF8Type}

    def __init__(self) -> None:
        column = SimpleNamespace(name="id")
        table = SimpleNamespace(primary_key=[column])
        keyspace = SimpleNamespace(tables={"totals": table})
        metadata = SimpleNamespace(keyspaces={"shop": keyspace})
        self.cluster = SimpleNamespace(metadata=metadata, shutdown=lambda: None)

    def prepare(self, text: str) -> PreparedStatement:
        names = [name for name in self.types if f'"{name}"' in text]
        columns = [
            SimpleNamespace(
                name=name, keyspace_name="shop", table_name="totals", type=self.types[name]
            )
            for name in names
        ]
        return PreparedStatement(columns, b"", [0], text, "shop", 4, None, None)


def executed(_: Any, statements: list[Any], **__: Any) -> list[tuple[bool, Any]]:
    for statement, _arguments in statements:
        key, *rest = statement.values
        assert statement.routing_key == key
        word = statement.prepared_statement.query_string.split()[0]
        Target.told.append((word, int.from_bytes(key, "big"), rest[0] if rest else None))
    return [(True, None)] * len(statements)


@pytest.fixture(autouse=True)
def _servers(monkeypatch: pytest.MonkeyPatch) -> None:
    Target.told.clear()
    monkeypatch.setattr(mongodb_writer, "connected", lambda _: Collection())
    monkeypatch.setattr(elasticsearch_writer, "BulkClient", Bulks)
    monkeypatch.setattr(kafka_writer, "BatchProducer", Producer)
    monkeypatch.setattr(jdbc_writer, "JdbcSession", Database)
    monkeypatch.setattr(cassandra_writer, "connect", lambda _: Session())
    monkeypatch.setattr("cassandra.concurrent.execute_concurrent", executed)


def mongodb(function: Callable[[Any], Any] | None = None) -> Sink[Any]:
    made = MongoSink.builder().set_uri("mongodb://h/").set_database("d").set_collection("c")
    made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    return (
        made.set_key("id") if function is None else made.set_serialization_schema(function)
    ).build()


def elasticsearch(emitter: ElasticsearchEmitter | None = None) -> Sink[Any]:
    chosen = emitter or ElasticsearchEmitter.static_index("totals", "id")
    made = Elasticsearch7SinkBuilder().set_hosts("localhost:9200").set_emitter(chosen)
    return made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()


def cassandra() -> Sink[Any]:
    made = CassandraSink.builder().set_host("h").set_table("shop.totals")
    return made.set_retry_interval_ms(0).enable_write_ahead_log().build()


def jdbc() -> Sink[Any]:
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite::memory:")
    named = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    made = JdbcSink.builder().with_table("totals").with_type_info(named).with_key("id")
    return WriteAheadSink(made.build_at_least_once(options.build()))


def kafka(largest: int = 1_000) -> Sink[Any]:
    schema = KafkaRecordSerializationSchema.builder().set_topic("totals")
    schema.set_value_serialization_schema(SimpleStringSchema())
    made = KafkaSink.builder().set_bootstrap_servers("h:1").set_record_serializer(schema.build())
    made.set_property("message.max.bytes", str(largest))
    return WriteAheadSink(made.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).build())


def writer_of(sink: Sink[Any]) -> WriteAheadWriter:
    made = sink.create_writer(WriterContext(0, 1, "run"), None)
    assert isinstance(made, WriteAheadWriter)
    return made


def logged(writer: WriteAheadWriter, *batches: list[Any]) -> list[Any]:
    for values in batches:
        writer.write(RowBatch(values))
    writer.flush(False)
    return list(pickle.loads(pickle.dumps(writer.prepare_commit(False))))


def commit(sink: Sink[Any], committables: list[Any]) -> list[Any]:
    """What a writer of a restarted job makes of the log."""
    Target.told.clear()
    writer = writer_of(sink)
    committer = sink.create_committer(CommitterContext(0, 1, writer))
    assert committer is not None
    committer.commit([CommitRequest(each) for each in committables])
    writer.close()
    return list(Target.told)


def columns(**values: Any) -> ColumnBatch:
    return ColumnBatch(pa.record_batch(values), form="row")


def test_every_writer_behind_a_log_makes_entries() -> None:
    """A connector that is new here belongs into the tests below."""
    sinks = [mongodb(), elasticsearch(), cassandra(), jdbc(), kafka()]
    for sink in sinks:
        made = sink.create_direct_writer(WriterContext(0, 1, "run"))  # type: ignore[attr-defined]
        assert isinstance(made, LoggableWriter)
    known = [each for each in RepeatableSink.__subclasses__() if "millrace." in each.__module__]
    ours = {each.__name__ for each in known}
    assert ours == {type(sink).__name__ for sink in sinks}
    repeating = {
        name
        for name, factory in CONNECTORS.own().items()
        if type(factory).repeats_writes is not TableFactory.repeats_writes
        and type(factory).__module__.startswith("millrace.")
    }
    assert repeating == {"jdbc", "upsert-kafka"}


@pytest.mark.parametrize(
    ("sink", "batch", "error", "said"),
    [
        (mongodb(), RowBatch([{"id": 1, "x": object()}]), SerializationError, "field 'x'"),
        (mongodb(), RowBatch([{"id": 1, "x": 1 << 64}]), SerializationError, "field 'x'"),
        (mongodb(), RowBatch([{"n": 1}]), SerializationError, "no value in 'id'"),
        (mongodb(), RowBatch([{"id": 1, "x": "x" * (1 << 24)}]), MongoError, "cannot store"),
        (
            mongodb(lambda n: UpdateOne({"_id": n}, {"$set": {"x": {1, 2} if n else object()}})),
            RowBatch([1, 0]),
            SerializationError,
            "field '\\$set'",
        ),
        (mongodb(lambda n: n), RowBatch([5]), SerializationError, "not a int"),
        (elasticsearch(), RowBatch([{"id": 1, "x": object()}]), SerializationError, "JSON"),
        (elasticsearch(), RowBatch([{"id": 1, "x": float("nan")}]), SerializationError, "nan"),
        (elasticsearch(), RowBatch([{"x": 1}]), SerializationError, "no value in field 'id'"),
        (cassandra(), RowBatch([{"id": "many"}]), SerializationError, "column 'id'"),
        (cassandra(), RowBatch([{"name": "x"}]), SerializationError, "has no 'id'"),
        (cassandra(), RowBatch([{"id": None}]), SerializationError, "has no 'id'"),
        (jdbc(), RowBatch([(1, "a", "b")]), JdbcError, "does not fit"),
        (jdbc(), columns(a=[1]), JdbcError, "does not fit"),
        (kafka(), RowBatch([5]), AttributeError, "encode"),
        (kafka(), RowBatch(["x" * 1_000]), KafkaError, "1036 bytes"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_written_fails_before_it_is_logged(
    sink: Sink[Any], batch: Batch, error: type[Exception], said: str
) -> None:
    writer = writer_of(sink)
    write: Any = writer.write_columns if isinstance(batch, ColumnBatch) else writer.write
    with pytest.raises(error, match=said):
        write(batch)
    assert Target.told == []


@pytest.mark.parametrize(
    ("sink", "expected"),
    [
        (
            mongodb(),
            [
                ("ReplaceOne", 1, {"id": 1, "name": "b", "_id": 1}),
                ("ReplaceOne", 2, {"id": 2, "name": "c", "_id": 2}),
                ("DeleteOne", 3, None),
                ("DeleteOne", 4, None),
            ],
        ),
        (
            elasticsearch(),
            [
                ("index", "1", b'{"id":1,"name":"b"}'),
                ("index", "2", b'{"id":2,"name":"c"}'),
                ("delete", "3", None),
                ("delete", "4", None),
            ],
        ),
        (
            cassandra(),
            [
                ("INSERT", 1, b"a"),
                ("INSERT", 3, b"d"),
                ("INSERT", 1, b"b"),
                ("INSERT", 2, b"c"),
                ("DELETE", 3, None),
                ("DELETE", 4, None),
            ],
        ),
    ],
    ids=["mongodb", "elasticsearch", "cassandra"],
)
def test_rows_before_an_update_that_no_row_follows_are_deleted(
    sink: Sink[Any], expected: list[Any]
) -> None:
    """As a filter leaves them, or an update of the key. The others are left out: a deletion would
    take away columns that the next row does not have. Rows may follow in another batch."""

    def row(kind: RowKind, id: int, name: str) -> Row:
        return Row.of_kind(kind, id=id, name=name)

    first = [Row(id=1, name="a"), Row(id=3, name="d"), row(BEFORE, 4, "e"), row(BEFORE, 1, "a")]
    second = [row(AFTER, 1, "b"), row(BEFORE, 2, "b"), Row(id=2, name="c"), row(DELETE, 3, "d")]
    committables = logged(writer_of(sink), first, second)
    assert Target.told == []
    assert commit(sink, committables) == expected
    assert commit(sink, committables) == expected
    Target.told.clear()
    at_once = sink.create_direct_writer(WriterContext(0, 1, "run"))  # type: ignore[attr-defined]
    for values in (first, second):
        at_once.write(RowBatch(values))
    at_once.flush(False)
    assert Target.told == expected


def test_functions_are_called_once_for_each_record() -> None:
    calls: list[int] = []

    def operation(n: int) -> UpdateOne:
        calls.append(n)
        return UpdateOne({"_id": n}, {"$set": {"call": len(calls)}})

    sink = mongodb(operation)
    committables = logged(writer_of(sink), [1, 2])
    expected = [("UpdateOne", n, {"$set": {"call": n}}) for n in (1, 2)]
    assert commit(sink, committables) == commit(sink, committables) == expected
    assert calls == [1, 2]


@pytest.mark.parametrize(
    "emitter",
    [
        ElasticsearchEmitter.of(lambda row: [ElasticsearchAction.index("i", row)]),
        ElasticsearchEmitter.static_index("i"),
    ],
    ids=["function", "fields"],
)
def test_documents_without_ids_are_the_same_when_they_are_written_again(
    emitter: ElasticsearchEmitter,
) -> None:
    sink = elasticsearch(emitter)
    committables = logged(writer_of(sink), [{"n": 1}, {"n": 1}])
    once = commit(sink, committables)
    assert once == commit(sink, committables)
    assert len({identifier for _, identifier, _ in once} - {None}) == 2


def test_new_documents_of_mongodb_are_the_same_when_they_are_written_again() -> None:
    made = MongoSink.builder().set_uri("mongodb://h/").set_database("d").set_collection("c")
    sink = made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    committables = logged(writer_of(sink), [{"n": 1}, {"n": 1}])
    once = commit(sink, committables)
    assert once == commit(sink, committables)
    assert len({key for _, key, _ in once}) == 2


def test_kafka_writes_what_was_logged() -> None:
    sink = kafka()
    assert commit(sink, logged(writer_of(sink), ["a"], ["b"])) == [b"a", b"b"]


class Clock:
    """Time goes on with the records, so that there are checkpoints between them."""

    now: ClassVar[ManualClock]


def run(function: Callable[[int], Any], directory: Path, resume: bool) -> None:
    Clock.now = ManualClock()
    with run_local(
        1, clock=Clock.now, epoch_records=2, checkpoint_dir=str(directory), resume=resume
    ):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        env.from_collection(list(range(10))).sink_to(mongodb(function)).uid("sink")
        env.execute("totals")


def operation(n: int) -> UpdateOne:
    Clock.now.advance(10)
    return UpdateOne({"_id": n}, {"$set": {"half": 12 / (n - 5)}})


def mended(n: int) -> UpdateOne:
    return UpdateOne({"_id": n}, {"$set": {"half": 0}}) if n == 5 else operation(n)


def test_a_mended_program_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    """The failure is that of the record, with the function's own traceback."""
    with pytest.raises(JobExecutionError) as failed:
        run(operation, tmp_path, False)
    told = str(failed.value)
    assert "failed for the record 5" in told
    assert "12 / (n - 5)" in told
    before = [key for _, key, _ in Target.told]
    assert before == list(range(len(before)))
    assert 0 < len(before) < 5
    run(mended, tmp_path, True)
    after = [key for _, key, _ in Target.told]
    assert after[len(before) :][-5:] == [5, 6, 7, 8, 9]
    assert set(after) == set(range(10))
