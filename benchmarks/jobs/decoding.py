"""Avro, Protobuf, Debezium and raw messages: our schemas and plain Python, in turn in one process.

    python decoding.py RECORDS ROUNDS

Prints one JSON line: for each kind, CPU seconds of each run of either.
"""

from __future__ import annotations

import io
import json
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from millrace.common import Types
from millrace.formats import RawFormatDeserializationSchema
from millrace.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroSchema,
)
from millrace.formats.changes import DebeziumJsonDeserializationSchema
from millrace.formats.protobuf import ProtobufRowDeserializationSchema
from millrace.formats.registry import ConfluentRegistryAvroDeserializationSchema
from millrace.formats.registry.registry_client import RegisteredSchema, SchemaRegistryClient
from millrace.formats.registry.registry_config import RegistryConfig

BATCH = 4096
"""Messages that a poll gives."""
AVRO: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "city", "type": ["null", "string"]},
        {"name": "amount", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
PLAIN_AVRO = {
    **AVRO,
    "fields": [*AVRO["fields"][:4], {"name": "at", "type": "long"}],
}
ROW = Types.ROW_NAMED(
    ["id", "customer", "city", "amount", "at"],
    [Types.LONG(), Types.STRING(), Types.STRING(), Types.DOUBLE(), Types.LONG()],
)
NAMES = ROW.get_field_names()
REGISTRY = "http://localhost:1"
Run = Callable[[], int]


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "customer": f"customer-{number % 997}",
        "city": None if number % 7 == 0 else "Zürich",
        "amount": round(number * 0.37, 2),
        "at": 1_700_000_000_000 + number,
    }


def in_batches(schema: Any, messages: list[bytes]) -> Run:
    starts = range(0, len(messages), BATCH)
    return lambda: sum(len(schema.deserialize_batch(messages[i : i + BATCH])) for i in starts)


def avro_messages(orders: list[dict[str, Any]]) -> tuple[list[bytes], Run]:
    schema, messages = fastavro.parse_schema(PLAIN_AVRO), []
    for record in orders:
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, record)
        messages.append(stream.getvalue())
    parsed, read = fastavro.parse_schema(AVRO), fastavro.schemaless_reader
    return messages, lambda: len([read(io.BytesIO(data), parsed) for data in messages])


def avro_file(orders: list[dict[str, Any]], path: Path) -> tuple[Run, Run]:
    with path.open("wb") as stream:
        writer = AvroBulkWriters.for_generic_record(AvroSchema(AVRO), "deflate").create(stream)
        writer.add_elements(orders)
        writer.finish()

    def ours() -> int:
        columns = AvroInputFormat(columnar=True)
        [piece] = columns.ranges(str(path), 1, 1 << 30)
        reader, count = columns.open(str(path), piece, None), 0
        while not reader.finished():
            count += len(reader.read(BATCH))
        reader.close()
        return count

    def plain() -> int:
        with path.open("rb") as stream:
            return len(list(fastavro.reader(stream)))

    return ours, plain


def protobuf(orders: list[dict[str, Any]]) -> tuple[Run, Run]:
    files = FileDescriptorSet()
    message = files.file.add(name="o.proto", package="o", syntax="proto3").message_type.add(
        name="O"
    )
    for number, (name, kind) in enumerate(zip(NAMES, (3, 9, 9, 1, 3), strict=True), 1):
        message.field.add(name=name, number=number, type=kind, label=1)
    schema = ProtobufRowDeserializationSchema.for_descriptor_set(files.SerializeToString(), "o.O")
    kind = schema._message_type.message_class
    messages = [
        kind(**{name: value for name, value in record.items() if value}).SerializeToString()
        for record in orders
    ]

    def plain() -> int:
        read = map(kind.FromString, messages)
        return len([{name: getattr(found, name) for name in NAMES} for found in read])

    return in_batches(schema, messages), plain


def debezium(orders: list[dict[str, Any]]) -> tuple[Run, Run]:
    messages = [
        json.dumps({"before": record, "after": record, "op": "u", "ts_ms": 1}).encode()
        for record in orders
    ]

    def plain() -> int:
        count = 0
        for data in messages:
            found = json.loads(data)
            if found["op"] == "u":
                count += len([(1, found["before"]), (2, found["after"])]) // 2
        return count

    ours = in_batches(DebeziumJsonDeserializationSchema(ROW), messages)
    return lambda: ours() // 2, plain


def kinds(count: int, directory: Path) -> dict[str, tuple[Run, Run]]:
    orders = list(map(order, range(count)))
    messages, plain = avro_messages(orders)
    text = json.dumps(AVRO)
    client = SchemaRegistryClient.of(RegistryConfig.create(REGISTRY))
    client._by_id[7] = RegisteredSchema("AVRO", text)  # it is asked once: not what is measured
    framed = [b"\0\0\0\0\7" + message for message in messages]
    registry = ConfluentRegistryAvroDeserializationSchema.for_generic(AvroSchema(AVRO), REGISTRY)
    numbers = [struct.pack(">q", number) for number in range(count)]
    raw = RawFormatDeserializationSchema(Types.ROW_NAMED(["n"], [Types.LONG()]))
    unpack = struct.Struct(">q").unpack
    avro = AvroRowDeserializationSchema(avro_schema_string=text)
    return {
        "avro messages": (in_batches(avro, messages), plain),
        "avro with a registry": (in_batches(registry, framed), plain),
        "avro file": avro_file(orders, directory / "orders.avro"),
        "protobuf messages": protobuf(orders),
        "debezium messages": debezium(orders),
        "raw messages": (
            in_batches(raw, numbers),
            lambda: len([{"n": unpack(data)[0]} for data in numbers]),
        ),
    }


def cpu_seconds(run: Run, count: int) -> float:
    begun = time.process_time()
    found = run()
    seconds = time.process_time() - begun
    if found != count:
        raise AssertionError(f"{found} records instead of {count}")
    return seconds


def main() -> None:
    count, rounds = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        runs = kinds(count, Path(directory))
        times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in runs}
        for _ in range(rounds):
            for kind, (ours, plain) in runs.items():
                times[kind].append((cpu_seconds(ours, count), cpu_seconds(plain, count)))
    print(json.dumps(times))


if __name__ == "__main__":
    main()
