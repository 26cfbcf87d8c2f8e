"""Options of the MongoDB connector: what is refused, and what is never shown."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from millrace.common import ErrorPolicy, OutputTag, Row, RowKind, Types
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.sink import CommitMode, DeliveryGuarantee, WriterContext
from millrace.connectors.mongodb import MongoError, MongoSink, MongoSource, PartitionStrategy
from millrace.connectors.mongodb.operations import FunctionOperations, KeyedOperations
from millrace.connectors.row_changes import ReplacedRows

SECRET = "pa%2Fss"
URI = f"mongodb://app:{SECRET}@db-1:27017,db-2/?authSource=admin"


def sink() -> Any:
    return MongoSink.builder().set_uri(URI).set_database("shop").set_collection("orders")


def source() -> Any:
    return MongoSource.builder().set_uri(URI).set_database("shop").set_collection("orders")


def test_secrets_are_not_shown() -> None:
    for made in (sink().build(), source().build()):
        assert repr(made).endswith("(collection shop.orders at db-1:27017,db-2)")
        assert SECRET not in repr(vars(made))
        pickle.dumps(made)


def test_secrets_in_options_are_not_shown() -> None:
    """Nor what stands behind an @ of theirs."""
    uri = "mongodb://db-1/?tlsCertificateKeyFilePassword=se@cret"
    assert "at db-1)" in repr(sink().set_uri(uri).build())
    assert "at db-1)" in repr(sink().set_uri(uri.replace("/?", "?")).build())


@pytest.mark.parametrize("options", ["?w=0", "?retryWrites=true&w=0", "?w=0&appName=x"])
def test_writes_are_acknowledged(options: str) -> None:
    with pytest.raises(JobDefinitionError, match="remove w=0"):
        sink().set_uri(f"mongodb://db/{options}").build()
    sink().set_uri(f"mongodb://db/{options.replace('w=0', 'w=01')}").build()


def test_a_key_is_no_condition() -> None:
    """A document of another key would be deleted."""
    row = Row.of_kind(RowKind.DELETE, id={"$gte": ""})
    [(_, operation)] = KeyedOperations(("id",)).of([row], ReplacedRows())
    assert operation._filter == {"_id": {"$eq": {"$gte": ""}}}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda b: b.set_uri(f"postgres://app:{SECRET}@db"), "mongodb://user:password@host"),
        (lambda b: b.set_database(""), "a database is a name"),
        (lambda b: b.set_collection(None), "a collection is a name"),
    ],
)
@pytest.mark.parametrize("builder", [MongoSink.builder, MongoSource.builder])
def test_places_are_checked(builder: Callable[[], Any], wrong: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said) as refused:
        wrong(builder())
    assert SECRET not in str(refused.value)
    with pytest.raises(JobDefinitionError, match=r"needs set_uri\(\)"):
        builder().build()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda b: b.set_key(), "at least one field"),
        (lambda b: b.set_key(1), "a field is a name"),
        (lambda b: b.set_batch_size(0), "batch_size must be"),
        (lambda b: b.set_max_retries(-1), "max_retries must be"),
        (lambda b: b.set_retry_interval_ms(None), "retry_interval_ms must be"),
        (lambda b: b.set_serialization_schema("x"), "takes a function"),
        (lambda b: b.set_delivery_guarantee("once"), "takes a DeliveryGuarantee"),
        (lambda b: b.set_error_policy(ErrorPolicy.side_output(OutputTag("x"))), "no side output"),
    ],
)
def test_sinks_refuse_wrong_options(wrong: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        wrong(sink())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda b: b.set_filter("x"), "takes a dict"),
        (lambda b: b.set_limit(0), "limit must be"),
        (lambda b: b.set_fetch_size(0), "fetch_size must be"),
        (lambda b: b.set_partition_strategy("sample"), "takes a PartitionStrategy"),
        (lambda b: b.set_partition_size(0), "size must be"),
        (lambda b: b.set_partition_record_size(0), "records must be"),
        (lambda b: b.set_type_information(Types.LONG()), "gives rows"),
        (lambda b: b.set_deserialization_schema(1), "takes a function"),
        (
            lambda b: (
                b.set_type_information(Types.ROW_NAMED(["a"], [Types.LONG()]))
                .set_projected_fields("a")
                .build()
            ),
            "reads the fields of the type",
        ),
    ],
)
def test_sources_refuse_wrong_options(wrong: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        wrong(source())


def test_options_of_flink_programs_are_taken() -> None:
    sink().set_batch_interval_ms(500).set_delivery_guarantee(DeliveryGuarantee.NONE).build()
    source().set_no_cursor_timeout(True).set_limit(-1).build()
    assert set(PartitionStrategy.__members__) == {"SINGLE", "PAGINATION", "DEFAULT"}


def test_a_connection_string_that_cannot_be_read_is_not_repeated() -> None:
    bad = MongoSink.builder().set_uri("mongodb://app:pa%ss@db-1/").set_database("a")
    with pytest.raises(
        MongoError, match="cannot be read .InvalidURI.: are special characters"
    ) as said:
        bad.set_collection("b").build().create_writer(WriterContext(0, 1, "r"), None)
    assert "pa%ss" not in str(said.value)
    assert said.value.__suppress_context__


def test_kinds_of_rows_become_upserts_and_deletes() -> None:
    rows = [
        Row(id=1, name="ada"),
        Row.of_kind(RowKind.UPDATE_BEFORE, id=1, name="ada"),
        Row.of_kind(RowKind.UPDATE_AFTER, id=1, name="Ada"),
        Row.of_kind(RowKind.DELETE, id=2, name="bob"),
    ]
    made = list(KeyedOperations(("id",)).of(rows, ReplacedRows()))
    assert [token for token, _ in made] == [1, 1, 2]
    assert made[1][1]._doc == {"id": 1, "name": "Ada", "_id": 1}
    assert [type(operation).__name__ for _, operation in made] == [
        "ReplaceOne",
        "ReplaceOne",
        "DeleteOne",
    ]
    [(_, compound)] = KeyedOperations(("b", "a")).of([{"a": 1, "b": 2}], ReplacedRows())
    assert list(compound._filter["_id"]["$eq"].items()) == [("b", 2), ("a", 1)]


def test_documents_without_a_key_are_new_and_inputs_stay_as_they_are() -> None:
    record = {"n": 1}
    tokens = [token for token, _ in KeyedOperations().of([record, record], ReplacedRows())]
    assert len(set(tokens)) == 2
    assert record == {"n": 1}
    numbers = [{"_id": key} for key in (1, 1.0, True)]
    one, same, true = (token for token, _ in KeyedOperations().of(numbers, ReplacedRows()))
    assert one == same != true


@pytest.mark.parametrize(
    ("key", "record", "said"),
    [
        (("id",), {"n": 1}, "fields n has no value in 'id'"),
        (("id",), {"id": None}, "has no value in 'id'"),
        (("a", "b"), {"a": 1}, "has no value in 'b'"),
        ((), Row.of_kind(RowKind.DELETE, n=1), "has no value in '_id'"),
        ((), Row.of_kind(RowKind.UPDATE_BEFORE, n=1), "has no value in '_id'"),
        ((), Row(1, 2), "name its fields"),
        ((), 5, "5 is not a document"),
    ],
)
def test_records_that_are_no_documents(key: Any, record: Any, said: str) -> None:
    with pytest.raises(SerializationError, match=said):
        list(KeyedOperations(key).of([record], ReplacedRows()))


def test_functions_return_operations() -> None:
    from pymongo import DeleteOne, InsertOne

    made = FunctionOperations(lambda n: [InsertOne({"n": n}), DeleteOne({})] if n else None)
    assert len(list(made.of([0, 1, 2], ReplacedRows()))) == 4
    with pytest.raises(SerializationError, match="not a dict"):
        list(FunctionOperations(lambda n: {"n": n}).of([1], ReplacedRows()))


def test_exactly_once_writes_by_commits() -> None:
    made = sink().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    assert made.commit_mode is CommitMode.IN_SUBTASK
    assert sink().build().commit_mode is CommitMode.BEFORE_NEXT_EPOCH
