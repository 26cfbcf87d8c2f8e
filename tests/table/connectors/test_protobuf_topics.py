"""Topics of Protobuf as tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from kafka_broker import KafkaBroker
from kafka_topics import Topics

from millrace.common.errors import JobDefinitionError
from millrace.table import TableEnvironment


@pytest.fixture
def descriptors(tmp_path: Path) -> str:
    found = FileDescriptorSet()
    file = found.file.add(name="mill.proto", package="mill", syntax="proto3")
    part = file.message_type.add(name="Part")
    part.field.add(name="x", number=1, type=Field.TYPE_INT32, label=1)
    message = file.message_type.add(name="Order")
    plain = (("id", Field.TYPE_INT64), ("word", Field.TYPE_STRING), ("price", Field.TYPE_DOUBLE))
    for number, (name, kind) in enumerate(plain, start=1):
        message.field.add(name=name, number=number, type=kind, label=1)
    kind = Field.TYPE_MESSAGE
    message.field.add(name="part", number=4, type=kind, type_name=".mill.Part", label=1)
    message.field.add(name="tags", number=5, type=Field.TYPE_STRING, label=3)
    entry = message.nested_type.add(name="SizesEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=Field.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=Field.TYPE_INT32, label=1)
    name = ".mill.Order.SizesEntry"
    message.field.add(name="sizes", number=6, type=kind, type_name=name, label=3)
    path = tmp_path / "mill.desc"
    path.write_bytes(found.SerializeToString())
    return str(path)


def declare(t_env: TableEnvironment, servers: str, topic: str, columns: str, more: str) -> None:
    t_env.execute_sql(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{servers}', 'format' = 'protobuf', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', "
        f"{more})"
    )


COLUMNS = (
    "id BIGINT, word STRING, part ROW<x INT>, tags ARRAY<STRING>, sizes MAP<STRING, INT>, "
    "place BIGINT METADATA FROM 'offset' VIRTUAL"
)


def test_fields_go_by_name(
    t_env: TableEnvironment, kafka_broker: KafkaBroker, descriptors: str
) -> None:
    topics = Topics(kafka_broker.bootstrap_servers)
    topic = topics.create()
    options = (
        f"'protobuf.descriptor-set' = '{descriptors}', "
        "'protobuf.message-class-name' = 'mill.Order', 'protobuf.ignore-parse-errors' = 'true'"
    )
    declare(t_env, topics.bootstrap_servers, topic, COLUMNS, options)
    t_env.execute_sql(
        "INSERT INTO t SELECT CAST(1 AS BIGINT), 'ab', CAST(ROW(5) AS ROW<x INT>), ARRAY['y'], "
        "MAP['k', 3]"
    ).wait()
    expected = bytes.fromhex("0801" + "12026162" + "22020805" + "2a0179" + "32050a016b1003")
    assert [message.value() for message in topics.read(topic)] == [expected]
    topics.send(topic, [b"\xff\xff"])
    query = "SELECT id, word, part.x, tags[1], sizes['k'], place FROM t"
    found = [tuple(row) for row in t_env.execute_sql(query).collect()]
    assert found == [(1, "ab", 5, "y", 3, 0)]
    assert [tuple(row) for row in t_env.execute_sql("SELECT word FROM t").collect()] == [("ab",)]


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id BIGINT", "'protobuf.ignore-parse-errors' = 'true'", "protobuf.message-class-name"),
        ("n BIGINT", "'protobuf.message-class-name' = 'mill.Order'", "is not there"),
        (
            "value_1 BIGINT",
            "'protobuf.message-class-name' = 'google.protobuf.wrappers_pb2.Int64Value'",
            "has no field 'value_1' for the column of that name; there are value",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, columns: str, options: str, error: str
) -> None:
    declare(t_env, "localhost:1", "t", columns, options)
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM t")


def test_points_in_time_are_refused_before_anything_is_read(
    t_env: TableEnvironment, tmp_path: Path
) -> None:
    found = FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(found.file.add())
    file = found.file.add(name="at.proto", package="mill", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kind = {"type": Field.TYPE_MESSAGE, "type_name": ".google.protobuf.Timestamp"}
    file.message_type.add(name="At").field.add(name="at_time", number=1, label=1, **kind)
    (tmp_path / "at.desc").write_bytes(found.SerializeToString())
    options = f"'protobuf.descriptor-set' = '{tmp_path}/at.desc', "
    name = "'protobuf.message-class-name' = 'mill.At'"
    declare(t_env, "localhost:1", "t", "at_time TIMESTAMP_LTZ(3)", options + name)
    with pytest.raises(JobDefinitionError, match="column at_time: google.protobuf.Timestamp"):
        t_env.execute_sql("SELECT * FROM t")
