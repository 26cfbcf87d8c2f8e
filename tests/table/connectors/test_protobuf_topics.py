"""Topics of Protobuf as tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import duration_pb2, timestamp_pb2
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
        "'protobuf.message-class-name' = 'mill.Order', 'protobuf.ignore-parse-errors' = 'true', "
        "'protobuf.write-null-string-literal' = '-', 'protobuf.read-default-values' = 'true'"
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
    t_env.execute_sql(
        "INSERT INTO t SELECT 2, 'c', CAST(NULL AS ROW<x INT>), ARRAY['y', NULL], "
        "MAP['n', CAST(NULL AS INT)]"
    ).wait()
    query = "SELECT part.x, tags[2], sizes['n'] FROM t WHERE id = 2"
    assert [tuple(row) for row in t_env.execute_sql(query).collect()] == [(0, "-", 0)]


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("id BIGINT", "'protobuf.ignore-parse-errors' = 'true'", "protobuf.message-class-name"),
        ("n BIGINT", "'protobuf.message-class-name' = 'mill.Order'", "cannot be imported"),
        (
            "value_1 BIGINT",
            "'protobuf.message-class-name' = 'google.protobuf.wrappers_pb2.Int64Value'",
            "has no field 'value_1' for the column of this name; its fields are value",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    t_env: TableEnvironment, columns: str, options: str, error: str
) -> None:
    declare(t_env, "localhost:1", "t", columns, options)
    with pytest.raises(JobDefinitionError, match=error):
        t_env.execute_sql("SELECT * FROM t")


def test_points_in_time_and_durations(
    t_env: TableEnvironment, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    found = FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(found.file.add())
    duration_pb2.DESCRIPTOR.CopyToProto(found.file.add())
    file = found.file.add(name="at.proto", package="mill", syntax="proto3")
    file.dependency.extend([f"google/protobuf/{name}.proto" for name in ("timestamp", "duration")])
    message = file.message_type.add(name="At")
    names = ("at", "utc", "parts", "took")
    for number, name in enumerate(names, start=1):
        kind = "Duration" if name == "took" else "Timestamp"
        message.field.add(
            **{"name": name, "number": number, "label": 1, "type": Field.TYPE_MESSAGE},
            type_name=f".google.protobuf.{kind}",
        )
    outer = file.message_type.add(name="Outer")
    of_message = {"type": Field.TYPE_MESSAGE, "type_name": ".mill.At"}
    outer.field.add(name="many", number=1, label=3, **of_message)
    outer.field.add(name="id", number=2, label=1, type=Field.TYPE_INT32)
    (tmp_path / "at.desc").write_bytes(found.SerializeToString())
    topics = Topics(kafka_broker.bootstrap_servers)
    topic = topics.create()
    row = "ROW<seconds BIGINT, nanos INT>"
    columns = f"`at` TIMESTAMP_LTZ(9), utc TIMESTAMP(6), parts {row}, took {row}"
    options = f"'protobuf.descriptor-set' = '{tmp_path}/at.desc', 'protobuf.message-class-name' = "
    declare(t_env, topics.bootstrap_servers, topic, columns, f"{options}'mill.At'")
    t_env.execute_sql(
        "INSERT INTO t VALUES (TO_TIMESTAMP_LTZ(1500, 3), TIMESTAMP '1970-01-01 00:00:02.000003', "
        f"CAST(ROW(4, 5) AS {row}), CAST(ROW(-6, -7000) AS {row})), (NULL, NULL, NULL, NULL)"
    ).wait()
    at = b"\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01" + b"\x12\x05\x08\x02\x10\xb8\x17"
    took = b"\x22\x16\x08\xfa" + b"\xff" * 8 + b"\x01\x10\xa8\xc9" + b"\xff" * 7 + b"\x01"
    written = at + b"\x1a\x04\x08\x04\x10\x05" + took
    assert [message.value() for message in topics.read(topic)] == [written, b""]
    query = (
        "SELECT `at` = TO_TIMESTAMP_LTZ(1500, 3), utc = TIMESTAMP '1970-01-01 00:00:02.000003', "
        "parts.nanos, took.seconds, took.nanos FROM t"
    )
    assert [tuple(row) for row in t_env.execute_sql(query).collect()] == [
        (True, True, 5, -6, -7000),
        (None, None, None, None, None),
    ]
    t_env.execute_sql("DROP TABLE t")
    columns = f"many ARRAY<ROW<parts {row}>>"
    declare(t_env, topics.bootstrap_servers, topic, columns, f"{options}'mill.Outer'")
    topics.send(topic, [b"\x0a" + bytes([len(written)]) + written])
    query = "SELECT many[1].parts.seconds FROM t WHERE many[1].parts.nanos = 5"
    assert [tuple(row) for row in t_env.execute_sql(query).collect()] == [(4,)]
    t_env.execute_sql("DROP TABLE t")
    declare(t_env, "localhost:1", "t", "`at` BIGINT", f"{options}'mill.At'")
    with pytest.raises(JobDefinitionError, match="column at is of BIGINT: google.protobuf.Timest"):
        t_env.execute_sql("SELECT * FROM t")
