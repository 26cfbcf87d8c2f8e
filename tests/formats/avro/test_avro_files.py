"""Avro container files: every codec, cut in pieces, from any position, damaged, and as bombs."""

from __future__ import annotations

import io
import json
import random
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.typeinfo import Types
from millrace.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from millrace.formats.avro.codecs import CODECS
from millrace.formats.avro.container import header_bytes, varint
from millrace.formats.malformed_record import MalformedRecordError

DEFINITION: dict[str, Any] = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "i", "type": "long"},
        {"name": "s", "type": ["null", "string"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    ],
}
SCHEMA = AvroSchema(DEFINITION)


def rows(count: int) -> list[dict[str, Any]]:
    from datetime import date

    return [
        {"i": i, "s": None if i % 3 == 0 else f"text {i}", "day": date(2024, 1, 1 + i % 31)}
        for i in range(count)
    ]


def write(path: Path, factory: Any, *batches: list[Any]) -> None:
    stream = io.BytesIO()
    writer = factory.create(stream)
    for batch in batches:
        writer.add_elements(batch)
    writer.finish()
    path.write_bytes(stream.getvalue())


def written_by_fastavro(path: Path, records: list[Any], codec: str = "null") -> None:
    with path.open("wb") as stream:
        fastavro.writer(
            stream, fastavro.parse_schema(DEFINITION), records, codec=codec, sync_interval=300
        )


def read(
    file_format: AvroInputFormat,
    path: Path,
    split_size: int = 1 << 30,
    chosen: random.Random | None = None,
    errors: list[Any] | None = None,
) -> list[Any]:
    """All records, by readers that are replaced at any position."""
    values: list[Any] = []
    for piece in file_format.ranges(str(path), path.stat().st_size, split_size):
        position, finished = None, False
        while not finished:
            reader = file_format.open(str(path), piece, position)
            if errors is not None:
                reader.on_malformed = errors.append
            finished = reader.finished()
            for _ in range(1 << 20 if chosen is None else chosen.choice((1, 3))):
                if finished:
                    break
                batch = reader.read(1000 if chosen is None else chosen.choice((1, 7, 1000)))
                values += batch.to_rows().values
                position, finished = reader.position(), reader.finished()
            reader.close()
    return values


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    records = rows(5000)
    write(path, AvroBulkWriters.for_generic_record(SCHEMA, codec), records[:1], records[1:])
    assert read(AvroInputFormat(schema=SCHEMA), path) == records
    if codec in ("null", "deflate", "bzip2", "xz"):  # the others need libraries of fastavro's
        with path.open("rb") as stream:
            assert list(fastavro.reader(stream)) == records


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize("split_size", [10, 200, 1000, 1 << 30])
def test_pieces_from_any_position(codec: str, split_size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    written_by_fastavro(path, rows(300), codec)
    for seed in range(3):
        found = read(AvroInputFormat(), path, split_size, random.Random(seed))
        assert found == rows(300)


def test_records_are_dicts_rows_or_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    written_by_fastavro(path, rows(20))
    assert read(AvroInputFormat(record_type=Row), path) == [Row(**fields) for fields in rows(20)]
    columnar = AvroInputFormat(record_type=Row, columnar=True)
    reader = columnar.open(str(path), columnar.ranges(str(path), 1000, 1 << 30)[0], None)
    batch = reader.read(5)
    assert isinstance(batch, ColumnBatch)
    assert batch.to_rows().values == [Row(**fields) for fields in rows(20)][: len(batch)]
    reader.close()
    assert read(AvroInputFormat(columnar=True), path) == rows(20)


def test_files_of_another_schema(tmp_path: Path) -> None:
    wanted: Any = {**DEFINITION, "name": "Other", "fields": [{"name": "i", "type": "double"}]}
    wanted["fields"].append({"name": "more", "type": "string", "default": "x"})
    path = tmp_path / "a.avro"
    written_by_fastavro(path, rows(3))
    found = read(AvroInputFormat(schema=AvroSchema(wanted)), path)
    assert found == [{"i": float(i), "more": "x"} for i in range(3)]


def test_rows_of_a_declared_type(tmp_path: Path) -> None:
    row_type = Types.ROW_NAMED(
        ["n", "tags", "at", "price", "inner"],
        [
            Types.INT(),
            Types.LIST(Types.STRING()),
            Types.SQL_TIMESTAMP(),
            Types.BIG_DEC(),
            Types.ROW_NAMED(["x"], [Types.BOOLEAN()]),
        ],
    )
    from datetime import datetime
    from decimal import Decimal

    record = Row(n=1, tags=["a"], at=datetime(2024, 1, 1), price=Decimal("1.5"), inner=Row(x=True))
    nothing = Row(n=None, tags=None, at=None, price=None, inner=None)
    write(tmp_path / "a.avro", AvroBulkWriters.for_row_type(row_type), [record, nothing])
    assert read(AvroInputFormat(record_type=Row), tmp_path / "a.avro") == [record, nothing]


def test_an_empty_file_of_avro(tmp_path: Path) -> None:
    write(tmp_path / "a.avro", AvroBulkWriters.for_generic_record(SCHEMA))
    assert read(AvroInputFormat(), tmp_path / "a.avro") == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not an Avro file"),
        (b"PAR1", "not an Avro file"),
        (b"Obj\x01", "not a complete Avro file"),
        (header_bytes(SCHEMA, "null")[:-1], "its header ends early"),
        (b"Obj\x01" + varint(1) + varint(1 << 40), "a header of 1099511627776 bytes"),
        (b"Obj\x01" + varint(1 << 50), "not a complete Avro file"),
        (b"Obj\x01" + b"\xff" * 40, "more than 64 bits"),
    ],
)
def test_what_is_no_avro_file(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(content)
    with pytest.raises(SerializationError, match=says):
        read(AvroInputFormat(), path)


def test_a_codec_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(header_bytes(SCHEMA, "null").replace(b"\x08null", b"\x08lz99"))
    with pytest.raises(SerializationError, match="packed by 'lz99'"):
        read(AvroInputFormat(), path)


def test_a_damaged_block_costs_its_records_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    written_by_fastavro(path, rows(200), "deflate")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4] = b"\xff\x00\xff\x00"
    path.write_bytes(content)
    with pytest.raises(MalformedRecordError, match="damaged Avro"):
        read(AvroInputFormat(), path)
    errors: list[Any] = []
    found = read(AvroInputFormat(), path, errors=errors)
    assert len(errors) == 1
    lost = [row for row in rows(200) if row not in found]
    assert 0 < len(lost) < 60
    assert [row for row in rows(200) if row in found] == found
    assert errors[0].offset is not None


def test_a_value_out_of_range_costs_one_record(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    plain = {**DEFINITION, "fields": [*DEFINITION["fields"][:2], {"name": "day", "type": "int"}]}
    records = [{"i": i, "s": "x", "day": 1 << 30 if i == 5 else i} for i in range(20)]
    with path.open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(plain), records)
    for columnar in (False, True):
        errors: list[Any] = []
        wanted = AvroInputFormat(schema=SCHEMA, columnar=columnar)
        found = read(wanted, path, chosen=random.Random(1), errors=errors)
        assert [value["i"] for value in found] == [i for i in range(20) if i != 5]
        assert len(errors) == 1


def block(count: int, packed: bytes) -> bytes:
    return varint(count) + varint(len(packed)) + packed


def bomb(codec: str, count: int, packed: bytes, schema: AvroSchema = SCHEMA) -> bytes:
    header = header_bytes(schema, codec)
    return header + block(count, packed) + header[-16:]


def deflated_zeros(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    parts = [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join(parts) + packer.flush()


EMPTY = AvroSchema({"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]})
BOMBS = {
    "a block that unpacks to a terabyte": bomb("snappy", 1, b"\xff\xff\xff\xff\x0f0000"),
    "records that take no bytes": bomb("null", 1 << 60, b"", EMPTY),
    "more records than bytes": bomb("null", 1 << 60, bytes(100)),
    "a count below nothing": bomb("null", -5, b""),
    "a size beyond the file": header_bytes(SCHEMA, "null") + varint(1) + varint(1 << 59),
    "a text beyond the block": bomb("null", 1, b"\x00\x02\xfe\xff\xff\xff\xff\xff\xff\x7f"),
    "a text of less than nothing": bomb("null", 1, b"\x00\x02\x05"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    path.write_bytes(BOMBS[name])
    with pytest.raises(SerializationError):
        read(AvroInputFormat(), path)


def test_a_block_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.formats.avro.codecs.MAX_BLOCK_BYTES", 4 << 20)
    path = tmp_path / "a.avro"
    path.write_bytes(bomb("deflate", 1, deflated_zeros(6 << 20)))
    with pytest.raises(SerializationError, match="unpacks to more than"):
        read(AvroInputFormat(), path)


def test_a_schema_bomb_in_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    definition: Any = {"type": "array", "items": "null"}
    holder = {**DEFINITION, "fields": [{"name": "x", "type": definition}]}
    content = header_bytes(SCHEMA, "null")
    path.write_bytes(
        b"Obj\x01"
        + varint(1)
        + b"\x16avro.schema"
        + varint(len(json.dumps(holder)))
        + json.dumps(holder).encode()
        + b"\x00"
        + content[-16:]
    )
    with pytest.raises(SerializationError, match="take no bytes"):
        read(AvroInputFormat(), path)


def test_arguments() -> None:
    with pytest.raises(JobDefinitionError, match="codec must be one of null"):
        AvroBulkWriters.for_generic_record(SCHEMA, "lzo")
    with pytest.raises(JobDefinitionError, match="takes AvroSchema"):
        AvroInputFormat("x", {})  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="takes Types.ROW_NAMED"):
        AvroBulkWriters.for_row_type(Types.INT())  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="has no counterpart|no counterpart in Avro"):
        AvroBulkWriters.for_row_type(Types.ROW_NAMED(["x"], [Types.PICKLED_BYTE_ARRAY()]))
    assert AvroInputFormat("x", SCHEMA).get_produced_type() == GenericRecordAvroTypeInfo(SCHEMA)


def test_a_record_that_does_not_fit_the_schema() -> None:
    writer = AvroBulkWriters.for_generic_record(SCHEMA).create(io.BytesIO())
    with pytest.raises(SerializationError, match="schema R: field 'i'"):
        writer.add_elements([{"i": "x", "s": None, "day": None}])
