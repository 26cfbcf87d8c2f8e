"""Files with damaged lines: never a crash, a hang, or a good record that is lost."""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from pyarrow import orc

from millrace.common import Row, RowKind, Types
from millrace.common.errors import SerializationError
from millrace.formats import (
    CsvReaderFormat,
    CsvSchema,
    JsonLinesFormat,
    MessageLinesFormat,
    OrcColumnarRowInputFormat,
    ParquetColumnarRowInputFormat,
    RawFormatDeserializationSchema,
    RawFormatSerializationSchema,
    StreamFormat,
)
from millrace.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from millrace.formats.avro.codecs import CODECS
from millrace.formats.changes import (
    CanalJsonDeserializationSchema,
    CanalJsonSerializationSchema,
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
    MaxwellJsonDeserializationSchema,
    MaxwellJsonSerializationSchema,
)
from millrace.formats.protobuf import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)

ODD = [
    b"",
    b'"',
    b"\xff",
    b"\x00",
    b",,,",
    b"{" * 3_000,
    b"9" * 5_000,
    b"\r",
    b"\xfe\xff",
    b"NaN",
    b"\\",
    b"#",
    b"'",
]
SCHEMA = CsvSchema.builder().add_string_column("word").add_number_column("n").build()


def mutated(line: bytes, random: random.Random) -> bytes:
    """The line with something odd in place of a piece; still one line."""
    start = random.randrange(len(line) + 1)
    end = min(len(line), start + random.choice((0, 0, 1, 5)))
    return (line[:start] + random.choice(ODD) + line[end:]).replace(b"\n", b"")


def read(
    file_format: Any, path: Path, random: random.Random
) -> tuple[list[Any], list[SerializationError]]:
    """All that can be read, in pieces, with readers that are replaced at any time."""
    size = path.stat().st_size
    values: list[Any] = []
    errors: list[SerializationError] = []
    for piece in file_format.ranges(str(path), size, random.choice((100, 1 << 20))):
        position, finished = None, False
        while not finished:
            reader = file_format.open(str(path), piece, position)
            reader.on_malformed = errors.append
            for _ in range(random.choice((1, 3))):
                values += reader.read(random.choice((1, 7, 5_000))).to_rows().values
            position, finished = reader.position(), reader.finished()
            reader.close()
    return values, errors


def text_line(i: int) -> bytes:
    return f"line {i}".encode()


def json_line(i: int) -> bytes:
    return json.dumps({"id": i, "text": "é" * (i % 3)}).encode()


def csv_line(i: int) -> bytes:
    return f"w{i},{i}".encode() if i % 5 else f'"w{i}, ""q""",{i}'.encode()


LINES: dict[str, tuple[Any, Callable[[int], bytes], Callable[[int], Any]]] = {
    "text": (StreamFormat.text_line_format(), text_line, lambda i: f"line {i}"),
    "json": (JsonLinesFormat(), json_line, lambda i: {"id": i, "text": "é" * (i % 3)}),
    "csv": (
        CsvReaderFormat.for_schema(SCHEMA, record_type=dict),
        csv_line,
        lambda i: {"word": f"w{i}" if i % 5 else f'w{i}, "q"', "n": i},
    ),
}


def fuzz_lines(name: str, path: Path, seed: int) -> None:
    """One damaged line among good ones: these are all there, and in order."""
    file_format, line, record = LINES[name]
    chosen = random.Random(seed)
    count = chosen.choice((3, 50, 300))
    bad = chosen.randrange(1, count)
    lines = [line(i) for i in range(count)]
    lines[bad] = mutated(lines[bad], chosen)
    path.write_bytes(b"\n".join(lines) + b"\n")
    values, errors = read(file_format, path, chosen)
    good = [record(i) for i in range(count) if i != bad]
    left = iter(values)
    assert all(value in left for value in good), (seed, lines[bad])
    assert len(values) - len(good) <= 1, (seed, lines[bad])
    assert len(errors) <= 1, (seed, lines[bad])


def fuzz_parquet(path: Path, seed: int) -> None:
    """Damaged bytes in a row group: the rows of all others are there."""
    chosen = random.Random(seed)
    rows = [{"i": i, "s": f"text {i % 7}"} for i in range(200)]
    pq.write_table(
        pa.Table.from_pylist(rows),
        path,
        row_group_size=50,
        use_dictionary=bool(seed % 2),
        write_page_checksum=True,
    )
    bad = chosen.randrange(4)
    group = pq.ParquetFile(path).metadata.row_group(bad)
    column = group.column(chosen.randrange(2))
    start = min(filter(None, (column.data_page_offset, column.dictionary_page_offset)))
    content = bytearray(path.read_bytes())
    for _ in range(chosen.choice((1, 4, 50))):
        content[start + chosen.randrange(column.total_compressed_size)] = chosen.randrange(256)
    path.write_bytes(content)
    values, _ = read(ParquetColumnarRowInputFormat(record_type=dict), path, chosen)
    others = rows[: 50 * bad] + rows[50 * bad + 50 :]
    left = iter(values)
    assert all(value in left for value in others), seed
    assert len(values) <= 200, seed


def fuzz_parquet_footer(path: Path, seed: int) -> None:
    """A damaged or cut end: an error, or some rows."""
    chosen = random.Random(seed)
    pq.write_table(pa.table({"i": list(range(20))}), path, row_group_size=5)
    content = bytearray(path.read_bytes())
    for _ in range(chosen.choice((1, 4, 50))):
        content[-1 - chosen.randrange(200)] = chosen.randrange(256)
    path.write_bytes(content[: chosen.choice((len(content), chosen.randrange(len(content))))])
    with suppress(SerializationError):
        read(ParquetColumnarRowInputFormat(record_type=dict), path, chosen)


FIXED = {"type": "fixed", "name": "F", "size": 2}
AVRO = AvroSchema(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "i", "type": "long"},
            {"name": "s", "type": ["null", "string"]},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "m", "type": {"type": "map", "values": FIXED}},
        ],
    }
)


def avro_record(i: int) -> dict[str, Any]:
    day = date(2024, 1, 1 + i % 31)
    return {"i": i, "s": f"text {i}", "day": day, "tags": ["t"] * (i % 4), "m": {"k": b"ab"}}


def overwritten(content: bytearray, start: int, end: int, chosen: random.Random) -> None:
    for _ in range(chosen.choice((1, 4, 50))):
        content[chosen.randrange(start, end)] = chosen.randrange(256)


def fuzz_avro(path: Path, seed: int) -> None:
    """Damaged bytes in a block: the records of all others are there."""
    chosen = random.Random(seed)
    codec = chosen.choice(list(CODECS))
    stream = io.BytesIO()
    writer = AvroBulkWriters.for_generic_record(AVRO, codec).create(stream)
    ends = [stream.tell()]
    for start in range(0, 200, 50):
        writer.add_elements([avro_record(i) for i in range(start, start + 50)])
        writer.flush()
        ends.append(stream.tell())
    bad = chosen.randrange(4)
    content = bytearray(stream.getvalue())
    # its marker is left whole: damaged, it would take the block behind it along
    overwritten(content, ends[bad], ends[bad + 1] - 16, chosen)
    path.write_bytes(content)
    values, _ = read(AvroInputFormat(), path, chosen)
    others = [avro_record(i) for i in range(200) if i // 50 != bad]
    left = iter(values)
    assert all(value in left for value in others), seed
    assert len(values) <= 1000, seed


def fuzz_avro_header(path: Path, seed: int) -> None:
    """A damaged header, or anything else: an error, or some records."""
    chosen = random.Random(seed)
    stream = io.BytesIO()
    writer = AvroBulkWriters.for_generic_record(AVRO, "null").create(stream)
    end = stream.tell()
    writer.add_elements([avro_record(i) for i in range(20)])
    writer.finish()
    content = bytearray(stream.getvalue())
    overwritten(content, 0, chosen.choice((end, len(content))), chosen)
    path.write_bytes(content[: chosen.choice((len(content), chosen.randrange(len(content))))])
    with suppress(SerializationError):
        read(AvroInputFormat(), path, chosen)


def fuzz_messages(schema: Any, messages: list[bytes], chosen: random.Random, seed: int) -> None:
    """One damaged message among good ones: an error of ours or another record, and no other."""
    good = [schema.deserialize(message) for message in messages]
    bad = chosen.randrange(len(messages))
    content = bytearray(messages[bad] or b"x")
    overwritten(content, 0, len(content), chosen)
    damaged = bytes(content[: chosen.randrange(len(content) + 1)])
    messages = [*messages[:bad], damaged, *messages[bad + 1 :]]
    with suppress(SerializationError):
        schema.deserialize(messages[bad])
    try:
        batch = schema.deserialize_batch(messages)
    except Exception:  # whoever calls it asks for fewer then
        pass
    else:
        values = batch.to_rows().values
        assert values[:bad] + values[bad + 1 :] == good[:bad] + good[bad + 1 :], seed


def fuzz_avro_messages(path: Path, seed: int) -> None:
    text = AVRO.to_json()
    to_avro = AvroRowSerializationSchema(avro_schema_string=text)
    messages = to_avro.serialize_batch([avro_record(i) for i in range(20)])
    chosen = random.Random(seed)
    fuzz_messages(AvroRowDeserializationSchema(avro_schema_string=text), messages, chosen, seed)


CHANGED = Types.ROW_NAMED(["id", "s"], [Types.LONG(), Types.STRING()])
CHANGES: list[tuple[Any, Any]] = [
    (DebeziumJsonSerializationSchema, DebeziumJsonDeserializationSchema),
    (CanalJsonSerializationSchema, CanalJsonDeserializationSchema),
    (MaxwellJsonSerializationSchema, MaxwellJsonDeserializationSchema),
]


def fuzz_changes(path: Path, seed: int) -> None:
    """One damaged line among good ones: their rows are all there, with their kinds, in order."""
    chosen = random.Random(seed)
    writer, reader = CHANGES[seed % 3]
    kinds = (RowKind.INSERT, RowKind.DELETE)
    rows = [Row.of_kind(kinds[i % 2], id=i, s="é" * (i % 3)) for i in range(50)]
    lines = writer(CHANGED).serialize_batch(rows)
    bad = chosen.randrange(50)
    lines[bad] = mutated(lines[bad], chosen)
    path.write_bytes(b"\n".join(lines) + b"\n")
    values, errors = read(MessageLinesFormat(reader(CHANGED)), path, chosen)
    left = iter(values)
    assert all(row in left for i, row in enumerate(rows) if i != bad), (seed, lines[bad])
    assert len(values) <= 51, (seed, lines[bad])
    assert len(errors) <= 1, (seed, lines[bad])


def fuzz_raw_messages(path: Path, seed: int) -> None:
    kind = (Types.INT(), Types.STRING(), Types.BOOLEAN())[seed % 3]
    row_type = Types.ROW_NAMED(["x"], [kind])
    values = [[i, f"text {i}", i % 2 == 0][seed % 3] for i in range(20)]
    messages = RawFormatSerializationSchema(row_type).serialize_batch([Row(v) for v in values])
    schema = RawFormatDeserializationSchema(row_type)
    fuzz_messages(schema, messages, random.Random(seed), seed)


def fuzz_orc(path: Path, seed: int) -> None:
    """Damaged bytes anywhere: an error, or the rows of other stripes. ORC has no checksums.

    Not among the fuzzers: one file in a thousand ends the process in Arrow's ORC reader.
    """
    chosen = random.Random(seed)
    rows = [{"i": i, "s": f"{i} " + "x" * 400} for i in range(500)]
    compression = chosen.choice(("uncompressed", "zlib", "lz4", "zstd"))
    with orc.ORCWriter(
        str(path), stripe_size=1 << 16, batch_size=100, compression=compression
    ) as writer:
        for start in range(0, 500, 100):
            writer.write(pa.Table.from_pylist(rows[start : start + 100]))
    content = bytearray(path.read_bytes())
    at = chosen.choice((0, len(content) // 2, max(0, len(content) - 400)))
    overwritten(content, at, min(len(content), at + 400), chosen)
    path.write_bytes(content[: chosen.choice((len(content), chosen.randrange(len(content))))])
    columnar = OrcColumnarRowInputFormat(record_type=dict, columnar=bool(seed % 2))
    with suppress(SerializationError):
        values, _ = read(columnar, path, chosen)
        assert len(values) <= 500, seed


SHOP = FileDescriptorSet()
FLAT = SHOP.file.add(name="fuzz.proto", package="fuzz", syntax="proto3").message_type.add(name="F")
for number, (field, kind) in enumerate({"i": 3, "s": 9, "raw": 12, "d": 1}.items(), 1):
    FLAT.field.add(name=field, number=number, type=kind, label=1)
FLAT.field.add(name="tags", number=9, type=9, label=3)


def fuzz_protobuf_messages(path: Path, seed: int) -> None:
    given = SHOP.SerializeToString(), "fuzz.F"
    write = ProtobufRowSerializationSchema.for_descriptor_set(*given)
    schema = ProtobufRowDeserializationSchema.for_descriptor_set(*given)
    messages = [
        write.serialize({"i": i, "s": f"text {i}", "raw": b"x" * i, "d": 0.5, "tags": ["t"] * 3})
        for i in range(20)
    ]
    fuzz_messages(schema, messages, random.Random(seed), seed)


FUZZERS: dict[str, Callable[[Path, int], None]] = {
    "text": lambda path, seed: fuzz_lines("text", path, seed),
    "json": lambda path, seed: fuzz_lines("json", path, seed),
    "csv": lambda path, seed: fuzz_lines("csv", path, seed),
    "parquet": fuzz_parquet,
    "footer": fuzz_parquet_footer,
    "avro": fuzz_avro,
    "avro header": fuzz_avro_header,
    "avro messages": fuzz_avro_messages,
    "changes": fuzz_changes,
    "protobuf messages": fuzz_protobuf_messages,
    "raw messages": fuzz_raw_messages,
}


def seeds(seconds: float, first: int) -> Iterator[int]:
    """As many as there is time for, thirty at least."""
    end = time.monotonic() + seconds
    seed = first
    while seed < first + 30 or time.monotonic() < end:
        yield seed
        seed += 1


@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz(name: str, tmp_path: Path) -> None:
    for seed in seeds(1, 0):
        FUZZERS[name](tmp_path / "data", seed)


def test_damaged_orc_files(tmp_path: Path) -> None:
    for seed in range(30):
        fuzz_orc(tmp_path / "data", seed)


@pytest.mark.torture
@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz_for_a_minute(name: str, tmp_path: Path) -> None:
    for seed in seeds(60, 1_000_000):
        FUZZERS[name](tmp_path / "data", seed)
