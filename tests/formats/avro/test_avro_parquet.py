"""Records of an Avro schema in Parquet files: maps, unions and fields of no type."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from millrace.datastream.formats.avro import AvroSchema
from millrace.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters

DATE = {"type": "int", "logicalType": "date"}
POINT = {"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"}]}
SCHEMA = AvroSchema.parse_string(
    json.dumps(
        {
            "type": "record",
            "name": "all",
            "fields": [
                {"name": "m", "type": {"type": "map", "values": ["null", "int"]}},
                {"name": "none", "type": "null"},
                {"name": "u", "type": ["null", "int", "string", "boolean", DATE]},
                {"name": "us", "type": {"type": "array", "items": ["long", POINT]}},
                {
                    "name": "ms",
                    "type": {"type": "array", "items": {"type": "map", "values": "int"}},
                },
                {"name": "n", "type": "long"},
            ],
        }
    )
)
RECORDS: list[dict[str, Any]] = [
    {"m": {"a": 1, "b": None}, "none": None, "u": 1, "us": [2**40, {"x": 1}], "ms": [{}], "n": 1},
    {"m": {}, "none": None, "u": "x", "us": [], "ms": [{"k": 1}], "n": 2},
    {"m": {}, "none": None, "u": True, "us": [], "ms": [], "n": 3},
    {"m": {}, "none": None, "u": dt.date(2020, 1, 2), "us": [], "ms": [], "n": 4},
    {"m": {}, "none": None, "u": None, "us": [], "ms": [], "n": 5},
]


def write(path: Path, records: list[dict[str, Any]]) -> Any:
    factory = pickle.loads(pickle.dumps(AvroParquetWriters.for_generic_record(SCHEMA)))
    with path.open("wb") as stream:
        writer = factory.create(stream)
        writer.add_elements(records)
        writer.finish()
    return factory


def read(path: Path) -> list[Any]:
    parquet = pickle.loads(pickle.dumps(AvroParquetReaders.for_generic_record(SCHEMA)))
    (whole,) = parquet.ranges(str(path), 1_000, 1 << 30)
    reader = parquet.open(str(path), whole, None)
    found: list[Any] = []
    while not reader.finished():
        found += reader.read(2).to_rows().values
    reader.close()
    return found


def test_there_and_back(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", RECORDS)
    assert read(tmp_path / "a.parquet") == RECORDS


def test_files_are_joined(tmp_path: Path) -> None:
    """What they have is stored already, and not to be converted again."""
    factory = write(tmp_path / "a.parquet", RECORDS)
    write(tmp_path / "b.parquet", RECORDS[:1])
    with (
        (tmp_path / "a.parquet").open("rb") as one,
        (tmp_path / "b.parquet").open("rb") as two,
        (tmp_path / "c.parquet").open("wb") as target,
    ):
        factory.join([one, two], target)
    assert read(tmp_path / "c.parquet") == [*RECORDS, RECORDS[0]]


def test_a_value_of_none_of_the_types_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"2.5 is of none of the union's types: int, string"):
        write(tmp_path / "a.parquet", [{**RECORDS[0], "u": 2.5}])
