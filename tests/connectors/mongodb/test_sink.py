"""The MongoDB sink against a real server of the protocol."""

from __future__ import annotations

import threading
import uuid
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest
from bson import Binary
from ferretdb import FerretDB
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo import InsertOne, UpdateOne
from service import free_ports

from millrace.common import ErrorPolicy, Row, RowKind
from millrace.common.errors import JobExecutionError, SerializationError
from millrace.connectors.mongodb import MongoError, MongoSink, MongoUnavailableError
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

pytestmark = pytest.mark.connectors

KINDS = st.sampled_from([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE])


def builder(uri: str, collection: Any, *key: str) -> Any:
    made = MongoSink.builder().set_uri(uri).set_database("tests").set_collection(collection.name)
    return made.set_key(*key) if key else made


def found(collection: Any) -> dict[Any, Any]:
    return {document.pop("_id"): document for document in collection.find()}


def write(values: list[Any], sink: Any, **local: Any) -> None:
    """A job that writes the values."""
    with run_local(**local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(1)
        keyed = env.from_collection(values).key_by(lambda value: value["id"])
        keyed.map(lambda value: value).sink_to(sink)
        env.execute("write")


def test_what_was_written_again_replaces_itself(ferretdb: FerretDB, collection: Any) -> None:
    """Epochs fail after their documents were sent."""
    values = [{"id": i, "n": i * i} for i in range(300)]
    faults = Faults(lost_epochs=0.3, lost_workers=0.2, repeated_tasks=0.2)
    sink = builder(ferretdb.uri, collection, "id").build()
    write(values, sink, epoch_records=50, faults=faults)
    assert found(collection) == {value["id"]: value for value in values}


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    changes=st.lists(st.tuples(KINDS, st.integers(0, 4), st.integers(0, 999)), max_size=30),
    size=st.integers(1, 20),
)
def test_a_collection_follows_a_changelog(
    ferretdb: FerretDB, collection: Any, sink_harness: Any, changes: Any, size: int
) -> None:
    """Whatever of it is in one bulk: like a dict that gets the same changes."""
    collection = collection.database[f"c{uuid.uuid4().hex[:12]}"]
    expected: dict[str, Any] = {}
    rows = []
    for kind, key, number in changes:
        rows.append(Row.of_kind(kind, id=str(key), n=number))
        if kind is RowKind.DELETE:
            expected.pop(str(key), None)
        else:
            expected[str(key)] = {"id": str(key), "n": number}
    sink = builder(ferretdb.uri, collection, "id").set_batch_size(size).build()
    sink_harness(sink).run_epoch(rows)
    assert found(collection) == expected


def test_values_of_many_types(ferretdb: FerretDB, collection: Any, sink_harness: Any) -> None:
    record = Row(
        id="a",
        at=datetime(2026, 1, 2, 3, 4, 5, 678_000),
        day=date(2026, 1, 2),
        clock=time(3, 4),
        raw=b"\x00\xff",
        inner=Row(x=1.5, tags=("p", "q")),
        flag=numpy.bool_(True),
        number=numpy.int64(7),
        none=None,
        uid=uuid.UUID(int=5),
    )
    sink_harness(builder(ferretdb.uri, collection, "id").build()).run_epoch([record])
    assert found(collection)["a"] == {
        "id": "a",
        "at": datetime(2026, 1, 2, 3, 4, 5, 678_000),
        "day": datetime(2026, 1, 2),
        "clock": "03:04:00",
        "raw": b"\x00\xff",
        "inner": {"x": 1.5, "tags": ["p", "q"]},
        "flag": True,
        "number": 7,
        "none": None,
        "uid": Binary.from_uuid(uuid.UUID(int=5)),
    }


def test_functions_say_what_is_done_in_order(
    ferretdb: FerretDB, collection: Any, sink_harness: Any
) -> None:
    """Also behind an operation that is refused and left out."""

    def add(word: str) -> Any:
        if word == "refused":
            return InsertOne({"_id": "a"})
        return UpdateOne({"_id": word}, {"$inc": {"n": 1}}, upsert=True)

    sink = builder(ferretdb.uri, collection).set_serialization_schema(add)
    harness = sink_harness(sink.set_error_policy(ErrorPolicy.skip()).build())
    harness.run_epoch(["a", "b", "refused", "a", "c"])
    assert found(collection) == {"a": {"n": 2}, "b": {"n": 1}, "c": {"n": 1}}
    strict = sink.set_error_policy(ErrorPolicy.fail()).build()
    with pytest.raises(MongoError, match=r"refuses the document .*E11000.*ErrorPolicy.skip\(\)"):
        sink_harness(strict).run_epoch(["refused"])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (10**20, "8-byte ints"),
        (Decimal("1." + "1" * 40), "34 digits"),
        (object(), "object"),
        ({1: 2}, "only string keys"),
    ],
)
def test_a_value_that_does_not_fit_is_named(
    ferretdb: FerretDB, collection: Any, sink_harness: Any, value: Any, said: str
) -> None:
    records = [{"id": 1, "good": 1}, {"id": 2, "bad": value}]
    sink = builder(ferretdb.uri, collection, "id").build()
    with pytest.raises(SerializationError, match=rf"field 'bad' of the document 2 .*{said}"):
        sink_harness(sink).run_epoch(records)


def test_wrong_passwords_and_servers_that_are_away(
    ferretdb: FerretDB, collection: Any, sink_harness: Any
) -> None:
    wrong = builder(ferretdb.uri.replace("only", "never"), collection, "id").build()
    with pytest.raises(MongoError, match=r"refuses the job .Auth.*see user, password") as refused:
        sink_harness(wrong).run_epoch([{"id": 1}])
    assert "never-for" not in str(refused.value)
    [port] = free_ports(1)
    away = builder(
        f"mongodb://app:secret@127.0.0.1:{port}/?serverSelectionTimeoutMS=200", collection, "id"
    )
    away = away.set_max_retries(1).set_retry_interval_ms(1).build()
    with pytest.raises(MongoUnavailableError, match=rf"127.0.0.1:{port} does not.*tried 2") as gone:
        sink_harness(away).run_epoch([{"id": 1}])
    assert "secret" not in str(gone.value)
    with pytest.raises(JobExecutionError, match="is the server running"):
        write([{"id": 1}], away)


def test_a_server_that_is_killed_is_waited_for(
    ferretdb: FerretDB, collection: Any, tmp_path: Path
) -> None:
    """While a job writes; what was acknowledged before is there afterwards."""
    server = FerretDB(tmp_path / "server")
    with server:
        values = [{"id": str(i), "n": i} for i in range(1_000)]
        uri = f"{server.uri}?serverSelectionTimeoutMS=1000"
        sink = builder(uri, collection, "id").set_batch_size(50).set_max_retries(60)
        job = threading.Thread(
            target=write,
            args=(values, sink.set_retry_interval_ms(200).build()),
            kwargs={"epoch_records": 100},
        )
        job.start()
        import pymongo

        client: Any = pymongo.MongoClient(server.uri)
        mine = client["tests"][collection.name]
        for _ in range(2):
            seen = mine.count_documents({})
            server.wait_until(lambda before=seen: mine.count_documents({}) >= before + 100)
            assert job.is_alive()
            server.kill()
            server.resume()
        job.join(120)
        assert not job.is_alive()
        assert found(mine) == {value["id"]: value for value in values}
        client.close()
