"""ORC, written and read."""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.typeinfo import Types
from millrace.formats import OrcBulkWriters, OrcColumnarRowInputFormat

NUMBERS = Types.ROW_NAMED(["i", "s"], [Types.LONG(), Types.STRING()])


def rows(count: int) -> list[dict[str, Any]]:
    return [{"i": i, "s": None if i % 5 == 0 else f"text {i}"} for i in range(count)]


def write(path: Path, factory: Any, records: list[Any]) -> None:
    stream = io.BytesIO()
    writer = pickle.loads(pickle.dumps(factory)).create(stream)
    writer.add_elements(records)
    writer.finish()
    path.write_bytes(stream.getvalue())


def in_stripes(path: Path, count: int, stripe: int) -> None:
    """Files of several stripes: the library ends one after 64 KiB at the earliest."""
    table = pa.Table.from_pylist([{"i": i, "s": f"{i} {'x' * 500}"} for i in range(count)])
    with orc.ORCWriter(str(path), stripe_size=1 << 16, batch_size=stripe) as writer:
        for start in range(0, count, stripe):
            writer.write(table.slice(start, stripe))


def read(
    file_format: OrcColumnarRowInputFormat,
    path: Path,
    split_size: int = 1 << 30,
    chosen: random.Random | None = None,
    errors: list[Any] | None = None,
) -> list[Any]:
    values: list[Any] = []
    for piece in file_format.ranges(str(path), path.stat().st_size, split_size):
        position, finished = None, False
        while not finished:
            reader = file_format.open(str(path), piece, position)
            if errors is not None:
                reader.on_malformed = errors.append
            for _ in range(1 << 20 if chosen is None else chosen.choice((1, 3))):
                batch = reader.read(1000 if chosen is None else chosen.choice((1, 70, 1000)))
                values += batch.to_rows().values
                position, finished = reader.position(), reader.finished()
                if finished:
                    break
            reader.close()
    return values


def test_every_type_there_and_back(tmp_path: Path, every_type: Any) -> None:
    path = tmp_path / "a.orc"
    write(path, OrcBulkWriters.for_row_type(every_type.row_type), [every_type.row, [None] * 12])
    one, none = read(OrcColumnarRowInputFormat(), path)
    assert list(one) == list(every_type.row)
    assert list(none) == [None] * 12
    assert orc.read_table(path).num_rows == 2


@pytest.mark.parametrize("compression", ["NONE", "zlib", "SNAPPY", "LZ4", "ZSTD"])
def test_compression(compression: str, tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    factory = OrcBulkWriters.for_row_type(NUMBERS, {"orc.compress": compression})
    write(path, factory, rows(1000))
    name = "UNCOMPRESSED" if compression == "NONE" else compression.upper()
    assert orc.ORCFile(path).compression == name
    assert read(OrcColumnarRowInputFormat(record_type=dict), path) == rows(1000)


@pytest.mark.parametrize("split_size", [1, 100_000, 1 << 30])
def test_stripes_from_any_position(split_size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    in_stripes(path, 2000, 200)
    assert orc.ORCFile(path).nstripes > 3
    for seed in range(3):
        found = read(OrcColumnarRowInputFormat(), path, split_size, random.Random(seed))
        assert [row.i for row in found] == list(range(2000))


def test_some_columns_in_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    write(path, OrcBulkWriters.for_row_type(NUMBERS), rows(10))
    wanted = Types.ROW_NAMED(["s", "i"], [Types.STRING(), Types.LONG()])
    file_format = OrcColumnarRowInputFormat(wanted, columnar=True, batch_size=4)
    reader = file_format.open(str(path), file_format.ranges(str(path), 1000, 1 << 30)[0], None)
    batch = reader.read(1000)
    assert isinstance(batch, ColumnBatch)
    assert batch.data.schema.names == ["s", "i"]
    assert len(batch) == 4
    reader.close()
    assert read(file_format, path) == [Row(s=row["s"], i=row["i"]) for row in rows(10)]
    missing = OrcColumnarRowInputFormat(Types.ROW_NAMED(["x"], [Types.INT()]))
    assert read(missing, path) == [Row(x=None)] * 10


def test_columns_are_written_as_they_are(tmp_path: Path) -> None:
    stream = io.BytesIO()
    writer = OrcBulkWriters.for_row_type(NUMBERS).create(stream)
    writer.add_columns(ColumnBatch(pa.RecordBatch.from_pylist(rows(10))))
    writer.finish()
    (tmp_path / "a.orc").write_bytes(stream.getvalue())
    assert read(OrcColumnarRowInputFormat(record_type=dict), tmp_path / "a.orc") == rows(10)


def test_a_damaged_stripe_costs_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    in_stripes(path, 2000, 200)
    content = bytearray(path.read_bytes())
    content[20_000:20_040] = b"\xff" * 40  # in the texts, which have no checksum
    path.write_bytes(content)
    with pytest.raises(SerializationError, match="stripe 0 is lost"):
        read(OrcColumnarRowInputFormat(), path)
    errors: list[Any] = []
    found = [row.i for row in read(OrcColumnarRowInputFormat(), path, errors=errors)]
    assert len(errors) == 1
    assert found == list(range(found[0], 2000))
    assert 0 < found[0] < 1000


@pytest.mark.parametrize("content", [b"", b"ORC", b"PAR1" * 100, b"ORC" + b"\xff" * 300])
def test_what_is_no_orc_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    path.write_bytes(content)
    with pytest.raises(SerializationError, match="not a complete ORC file"):
        read(OrcColumnarRowInputFormat(), path)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: OrcBulkWriters.for_row_type(Types.INT()), "takes Types.ROW_NAMED"),  # type: ignore[arg-type]
        (
            lambda: OrcBulkWriters.for_row_type(Types.ROW_NAMED(["t"], [Types.SQL_TIME()])),
            "field 't' has no counterpart in ORC",
        ),
        (lambda: OrcBulkWriters.for_row_type(NUMBERS, {"orc.x": "1"}), "no property 'orc.x'"),
        (
            lambda: OrcBulkWriters.for_row_type(NUMBERS, {"orc.compress": "LZO"}),
            "orc.compress is NONE",
        ),
        (
            lambda: OrcBulkWriters.for_row_type(NUMBERS, {"orc.stripe.size": "big"}),
            "number of bytes",
        ),
        (lambda: OrcBulkWriters.for_row_type(NUMBERS, None, {}), "only to the JVM"),
        (lambda: OrcColumnarRowInputFormat(record_type=list), "must be Row or dict"),
    ],
)
def test_arguments(make: Any, says: str) -> None:
    with pytest.raises(JobDefinitionError, match=says):
        make()


def test_records_that_do_not_fit() -> None:
    writer = OrcBulkWriters.for_row_type(NUMBERS).create(io.BytesIO())
    writer.add_elements([{"i": "x", "s": None}])
    with pytest.raises(SerializationError, match="do not fit the Orc columns"):
        writer.finish()
