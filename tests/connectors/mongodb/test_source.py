"""The MongoDB source against a real server of the protocol."""

from __future__ import annotations

import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from bson.objectid import ObjectId
from ferretdb import FerretDB
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common import Types, WatermarkStrategy
from millrace.connectors.mongodb import MongoError, MongoSource, PartitionStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import Faults, run_local

pytestmark = pytest.mark.connectors

IDS = st.one_of(
    st.integers(-100, 100),
    st.text(alphabet="abcXYZ", max_size=3),
    st.binary(min_size=1, max_size=2),  # the server takes an empty one for an empty text
    st.booleans(),
    st.integers(0, 10**9).map(lambda n: ObjectId(f"{n:024x}")),
    # a time near 1970 is the number of its ms to the server
    st.integers(10**6, 10**9).map(lambda n: datetime(2020, 1, 1).fromtimestamp(n)),
)


def builder(server: FerretDB, collection: Any) -> Any:
    made = MongoSource.builder().set_uri(server.uri).set_database("tests")
    return made.set_collection(collection.name)


@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    ids=st.lists(IDS, min_size=1, max_size=25, unique_by=lambda value: (type(value), value)),
    size=st.integers(1, 9),
    step=st.integers(1, 7),
    restarts=st.lists(st.booleans(), max_size=20),
)
def test_every_document_once_whatever_its_id(
    ferretdb: FerretDB,
    collection: Any,
    source_harness: Any,
    ids: list[Any],
    size: int,
    step: int,
    restarts: list[bool],
) -> None:
    """In parts and with readers that start anew anywhere, ids of several types side by side."""
    collection = collection.database[f"c{uuid.uuid4().hex[:12]}"]
    collection.insert_many([{"_id": key} for key in ids])
    source = builder(ferretdb, collection).set_partition_record_size(size).build()
    harness = source_harness(source)
    read = [document["_id"] for document in harness.read_all(step, restarts)]
    assert read == [document["_id"] for document in collection.find().sort("_id", 1)]
    harness.restart_enumerator()
    assert harness.discover() == []


def test_filters_fields_and_limits(
    ferretdb: FerretDB, collection: Any, source_harness: Any
) -> None:
    collection.insert_many([{"_id": i, "n": i, "in": {"x": -i, "y": 0}} for i in range(40)])
    chosen = builder(ferretdb, collection).set_filter({"n": {"$gte": 10}})
    chosen.set_projected_fields("n", "in.x").set_partition_record_size(7).set_fetch_size(3)
    whole = source_harness(chosen.build())
    assert len(whole.discover()) == 6
    expected = [{"n": i, "in": {"x": -i}} for i in range(10, 40)]
    assert source_harness(chosen.build()).read_all(4, [True] * 10) == expected
    limited = chosen.set_limit(11).build()
    assert source_harness(limited).read_all(4, [True] * 10) == expected[:11]
    single = builder(ferretdb, collection).set_partition_strategy(PartitionStrategy.SINGLE)
    assert len(source_harness(single.build()).discover()) == 1
    small = builder(ferretdb, collection).set_partition_size(1_000)
    assert len(source_harness(small.build()).discover()) > 1


def test_functions_make_records(ferretdb: FerretDB, collection: Any, source_harness: Any) -> None:
    collection.insert_many([{"_id": i} for i in range(3)])
    source = builder(ferretdb, collection).set_deserialization_schema(str).build()
    assert source_harness(source).read_all() == ["{'_id': 0}", "{'_id': 1}", "{'_id': 2}"]


def rows_of(source: Any, path: Path, **local: Any) -> list[Any]:
    with run_local(checkpoint_dir=str(path), **local):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.enable_checkpointing(1)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "documents")
        with stream.execute_and_collect() as results:
            return list(results)


def test_rows_of_a_type_come_through_failures(
    ferretdb: FerretDB, collection: Any, tmp_path: Path
) -> None:
    keys = [ObjectId() for _ in range(200)]
    collection.insert_many(
        [{"_id": key, "n": i, "tags": ["a"], "more": 1} for i, key in enumerate(keys)]
    )
    row = Types.ROW_NAMED(
        ["_id", "n", "tags", "absent"],
        [Types.STRING(), Types.LONG(), Types.LIST(Types.STRING()), Types.DOUBLE()],
    )
    source = builder(ferretdb, collection).set_type_information(row)
    made = source.set_partition_record_size(60).build()
    faults = Faults(lost_epochs=0.3, lost_workers=0.2)
    rows = rows_of(made, tmp_path, epoch_records=30, faults=faults)
    expected = [(str(key), i, ["a"], None) for i, key in enumerate(keys)]
    assert sorted(map(tuple, rows), key=lambda values: values[1]) == expected


def test_a_type_that_does_not_fit_is_told(
    ferretdb: FerretDB, collection: Any, source_harness: Any
) -> None:
    collection.insert_one({"_id": 1, "n": "many"})
    row = Types.ROW_NAMED(["n"], [Types.LONG()])
    source = builder(ferretdb, collection).set_type_information(row).build()
    harness = source_harness(source)
    [split] = harness.discover()
    with pytest.raises(MongoError, match=r"column 'n' has values .* set_type_information\(\)"):
        harness.reader(split).read(10)


def test_missing_collections_are_told_of(
    ferretdb: FerretDB, collection: Any, source_harness: Any
) -> None:
    source = builder(ferretdb, collection).build()
    with pytest.raises(MongoError, match=rf"there is no collection tests.{collection.name} at 127"):
        source_harness(source).discover()


def test_a_cursor_that_was_lost_is_opened_where_reading_was(
    collection: Any, source_harness: Any, tmp_path: Path
) -> None:
    """The server is killed between two reads."""
    import pymongo

    with FerretDB(tmp_path / "server") as server:
        client: Any = pymongo.MongoClient(server.uri)
        client["tests"][collection.name].insert_many([{"_id": i} for i in range(50)])
        client.close()
        harness = source_harness(builder(server, collection).set_fetch_size(5).build())
        [split] = harness.discover()
        reader = harness.reader(split)
        values = reader.read(20).values
        server.kill()
        server.resume()
        while not reader.finished():
            values += reader.read(20).values
        reader.close()
    assert [document["_id"] for document in values] == list(range(50))
