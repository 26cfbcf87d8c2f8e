"""Records that know their file and their place in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common import ErrorPolicy
from millrace.connectors import FileSource
from millrace.connectors.file_origin import FileOrigin
from millrace.formats import (
    CsvReaderFormat,
    JsonLinesFormat,
    ParquetColumnarRowInputFormat,
    StreamFormat,
)


def origins(harness: Any, path: Path, file_format: Any, step: int = 2) -> list[Any]:
    builder = FileSource.for_record_stream_format(file_format, path).with_origin()
    source = builder.set_error_policy(ErrorPolicy.skip()).build()
    return harness(source).read_all(step, [True] * 20)


@pytest.mark.parametrize("step", [1, 2, 100])
def test_lines_have_their_offset(source_harness: Any, tmp_path: Path, step: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    status = path.stat()
    assert origins(source_harness, path, StreamFormat.text_line_format(), step) == [
        (text, FileOrigin(str(path), offset, status.st_size, status.st_mtime))
        for text, offset in (("one", 0), ("two", 4), ("three", 8))
    ]


def test_malformed_records_are_counted_in(source_harness: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("1\nno\n2\n")
    pairs = origins(source_harness, path, JsonLinesFormat())
    assert [(value, origin.offset) for value, origin in pairs] == [(1, 0), (2, 5)]


def test_csv_and_parquet(source_harness: Any, tmp_path: Path) -> None:
    csv = tmp_path / "a.csv"
    csv.write_text("x\n1\n2\n")
    pairs = origins(source_harness, csv, CsvReaderFormat.for_header())
    assert [(value, origin.offset) for value, origin in pairs] == [({"x": "1"}, 2), ({"x": "2"}, 4)]
    parquet = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [5, 6, 7]}), parquet)
    pairs = origins(source_harness, parquet, ParquetColumnarRowInputFormat(record_type=dict))
    assert [(value["x"], origin.offset) for value, origin in pairs] == [(5, 0), (6, 1), (7, 2)]
