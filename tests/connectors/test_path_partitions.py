"""Columns that stand in paths, written and read with every format."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common import Row, Types, WatermarkStrategy
from millrace.common.error_policy import ErrorPolicy
from millrace.common.errors import JobDefinitionError, MillraceError, SerializationError
from millrace.common.types.batch import ColumnBatch
from millrace.connectors import BucketAssigner, FileSink, FileSource
from millrace.connectors.path_partitions import PathPartitions
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    JsonLinesEncoder,
    JsonLinesFormat,
    OrcBulkWriters,
    OrcColumnarRowInputFormat,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
    StreamFormat,
)
from millrace.formats.avro import AvroBulkWriters, AvroInputFormat
from millrace.testing import run_local

PARTITIONS = Types.ROW_NAMED(
    ["day", "shop", "big"], [Types.SQL_DATE(), Types.STRING(), Types.BOOLEAN()]
)
STORED = Types.ROW_NAMED(["n", "word"], [Types.LONG(), Types.STRING()])
CSV = CsvSchema.builder().add_number_column("n").add_string_column("word").build()
ROWS = [
    {
        "n": i,
        "word": f"w{i}",
        "day": date(2024, 2, 28 + i % 2),
        "shop": [None, "a/b", "é=1"][i % 3],
        "big": i > 10,
    }
    for i in range(30)
]
FORMATS: dict[str, tuple[Any, list[Any]]] = {
    "avro": (
        AvroBulkWriters.for_row_type(STORED),
        [AvroInputFormat(), AvroInputFormat(columnar=True), AvroInputFormat(record_type=Row)],
    ),
    "csv": (
        CsvBulkWriters.for_schema(CSV),
        [
            CsvReaderFormat.for_schema(CSV, record_type=dict),
            CsvReaderFormat.for_schema(CSV, columnar=True),
        ],
    ),
    "orc": (
        OrcBulkWriters.for_row_type(STORED),
        [OrcColumnarRowInputFormat(), OrcColumnarRowInputFormat(columnar=True)],
    ),
    "parquet": (
        ParquetBulkWriters.for_row_type(STORED),
        [ParquetColumnarRowInputFormat(), ParquetColumnarRowInputFormat(columnar=True)],
    ),
}


def written(path: Path, builder: Any) -> None:
    sink = builder.with_bucket_assigner(BucketAssigner.partition_by("day", "shop", "big")).build()
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection(ROWS).sink_to(sink)
        env.execute("write")


def read(file_format: Any, path: Path, partitions: Any = PARTITIONS) -> list[Any]:
    source = FileSource.for_bulk_file_format(file_format, path)
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(
            source.set_partition_columns(partitions).build(),
            WatermarkStrategy.no_watermarks(),
            "read",
        )
        return list(stream.execute_and_collect("read"))


def plain(record: Any) -> Any:
    return record.as_dict() if isinstance(record, Row) else record


@pytest.mark.parametrize("name", FORMATS)
def test_there_and_back_with_every_bulk_format(name: str, tmp_path: Path) -> None:
    factory, readers = FORMATS[name]
    written(tmp_path, FileSink.for_bulk_format(str(tmp_path), factory))
    assert (tmp_path / "day=2024-02-28" / "shop=a%2Fb").is_dir()
    for file_format in readers:
        found = list(map(plain, read(file_format, tmp_path)))
        assert sorted(found, key=lambda row: row["n"]) == ROWS


def test_lines(tmp_path: Path) -> None:
    written(tmp_path, FileSink.for_row_format(str(tmp_path), JsonLinesEncoder()))
    found = read(JsonLinesFormat(), tmp_path)
    assert sorted(found, key=lambda row: row["n"]) == ROWS


def test_what_the_file_has_of_that_name_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "x=7").mkdir()
    pq.write_table(pa.table({"x": ["old"], "y": [1]}), tmp_path / "x=7" / "a.parquet")
    kinds = Types.ROW_NAMED(["x"], [Types.INT()])
    for columnar in (False, True):
        file_format = ParquetColumnarRowInputFormat(columnar=columnar)
        assert read(file_format, tmp_path, kinds) == [Row(x=7, y=1)]


def test_columns_stay_columns(tmp_path: Path) -> None:
    (tmp_path / "x=7").mkdir()
    pq.write_table(pa.table({"y": [1, 2]}), tmp_path / "x=7" / "a.parquet")
    source = (
        FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(columnar=True), tmp_path)
        .set_partition_columns(Types.ROW_NAMED(["x"], [Types.SHORT()]))
        .build()
    )
    from millrace.common.source import ReaderContext

    source = pickle.loads(pickle.dumps(source))
    [split] = source.create_enumerator().discover(0)
    reader = source.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0))
    batch = reader.read(10)
    assert isinstance(batch, ColumnBatch)
    assert batch.data.schema.field("x").type == pa.int16()
    reader.close()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/data/part-0", r"no directory x=\.\.\. is in its path"),
        ("/data/x=1.parquet", r"no directory x=\.\.\. is in its path"),
        ("/data/x=one/part-0", "x=one in its path is not of type INT"),
        ("/data/x=2147483648/part-0", "x=2147483648 .*of type INT: .* does not fit into 32 bits"),
    ],
)
def test_paths_that_do_not_say_it(path: str, says: str) -> None:
    with pytest.raises(SerializationError, match=says):
        PathPartitions(Types.ROW_NAMED(["x"], [Types.INT()])).values(path)


def test_a_file_in_a_wrong_place_is_a_bad_file(tmp_path: Path) -> None:
    """The error names it; an error policy goes on without it."""
    for name in ("x=1", "x=one"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jsonl").write_text('{"n": 1}\n')
    kinds = Types.ROW_NAMED(["x"], [Types.INT()])
    with pytest.raises(MillraceError, match="x=one/a.jsonl.*not of type INT"):
        read(JsonLinesFormat(), tmp_path, kinds)
    source = FileSource.for_record_stream_format(JsonLinesFormat(), tmp_path)
    source.set_partition_columns(kinds).set_error_policy(ErrorPolicy.skip())
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "read")
        assert list(stream.execute_and_collect("read")) == [{"n": 1, "x": 1}]


def test_records_without_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x=1").mkdir()
    (tmp_path / "x=1" / "a.txt").write_text("line\n")
    with pytest.raises(MillraceError, match="records with named fields"):
        read(StreamFormat.text_line_format(), tmp_path, Types.ROW_NAMED(["x"], [Types.INT()]))


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        (Types.INT(), "takes Types.ROW_NAMED"),
        (Types.ROW([Types.INT()]), "takes Types.ROW_NAMED"),
        (Types.ROW_NAMED(["x"], [Types.PICKLED_BYTE_ARRAY()]), "cannot be written as text"),
    ],
)
def test_arguments(kinds: Any, says: str) -> None:
    with pytest.raises(JobDefinitionError, match=says):
        FileSource.for_record_stream_format(JsonLinesFormat(), "x").set_partition_columns(kinds)
