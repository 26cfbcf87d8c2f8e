"""Columns that Arrow reads are what is read field by field, or they are refused."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import ErrorPolicy, Types
from millrace.common.errors import JobDefinitionError
from millrace.common.source import ReaderContext
from millrace.common.types.batch import ColumnBatch
from millrace.connectors import FileSource
from millrace.formats import CsvReaderFormat, CsvSchema, FileRange
from millrace.formats.csv_columns import CsvColumns

SCHEMA = (
    CsvSchema.builder()
    .add_number_column("n")
    .add_string_column("s")
    .add_number_column("f", Types.DOUBLE())
    .add_boolean_column("b")
    .build()
)
PIECES = [
    *("1", "-0", "+1", "007", "1_0", "0x1F", "9223372036854775808", "99999999999999999999"),
    *("1.5", "-.5", "1.", "1e5", "1e400", "5e-324", "nan", "inf", "-Infinity", "0x1p3", "1e"),
    *("true", "False", "tRUE", "yes", "", " ", "\t", "a", "é", "\u0661", "\x0c", "\x85", "\x00"),
    *('"', '"a"', '"a,b"', '"a\nb"', "'", "\\", "#", "\r", "NA", "null", "NULL", "N/A"),
]
fields = st.sampled_from(PIECES) | st.text("019.-+eE_ ", max_size=6)
lines = st.lists(fields, min_size=3, max_size=5).map(",".join) | st.just("")
good = st.tuples(
    st.integers(), st.text("abé ", max_size=4), st.floats(), st.sampled_from(["true", "False", ""])
).map(lambda row: ",".join(map(str, row)))
contents = st.lists(lines | good | good | good, max_size=8).map("\n".join)


def read(path: Path, step: int, *, columnar: bool, arrow: bool) -> Any:
    """Records and what could not be read."""
    file_format = CsvReaderFormat.for_schema(SCHEMA, dict, columnar=columnar)
    with pytest.MonkeyPatch.context() as patched:
        if not arrow:
            patched.setattr(CsvColumns, "read", lambda *_: None)
        reader = file_format.open(str(path), FileRange(0, 1 << 62), None)
        errors: list[Any] = []
        reader.on_malformed = errors.append
        records: list[Any] = []
        while not reader.finished():
            batch = reader.read(step)
            assert len(batch) + reader.skipped <= step
            records += batch.to_rows().values
    reader.close()
    return records, [(e.line, e.offset, e.column, e.raw) for e in errors]


@settings(deadline=None)
@given(content=contents, step=st.sampled_from([1, 3, 100]), newline=st.booleans())
def test_the_same_records_and_errors_with_and_without_arrow(
    content: str, step: int, newline: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "data.csv")
        path.write_bytes((content + "\n" * newline).encode())
        expected = read(path, step, columnar=False, arrow=False)
        assert repr(read(path, step, columnar=False, arrow=True)) == repr(expected)
        records, errors = read(path, step, columnar=True, arrow=True)
        slow = read(path, step, columnar=True, arrow=False)
        assert repr((records, errors)) == repr(slow)
        if all(abs(row["n"] or 0) < 1 << 63 for row in expected[0]):
            assert (repr(records), errors) == (repr(expected[0]), expected[1])


def test_records_stay_in_columns_of_declared_types(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = [f"{i},word {i},{i / 4},{'true' if i % 2 else 'false'}" for i in range(5_000)]
    rows[2_600] = '7,"a, quote",,'
    rows[4_000] = "7,no number follows,x,true"
    path.write_text("".join(f"{row}\n" for row in rows))
    reader = CsvReaderFormat.for_schema(SCHEMA, dict, columnar=True).open(
        str(path), FileRange(0, 1 << 62), None
    )
    reader.on_malformed = lambda error: None
    count = 0
    while not reader.finished():
        batch = reader.read(10_000)
        if len(batch):
            assert isinstance(batch, ColumnBatch)
            assert batch.data.schema.types == [pa.int64(), pa.string(), pa.float64(), pa.bool_()]
        count += len(batch)
    assert count == 4_999


def test_a_number_of_more_than_64_bits_is_malformed_in_columns(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"1,a,1,true\n{1 << 70},a,1,true\n2,b,2,\n")
    records, errors = read(path, 100, columnar=True, arrow=True)
    assert [row["n"] for row in records] == [1, 2]
    assert [(line, offset) for line, offset, *_ in errors] == [(2, 11)]


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("step", [1, 100, 10_000])
def test_records_before_a_place_that_cannot_be_read_are_there_once(
    tmp_path: Path, arrow: bool, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were lost, or there twice, depending on where a batch began."""
    if not arrow:
        monkeypatch.setattr(CsvColumns, "read", lambda *_: None)
    path = tmp_path / "data.csv.gz"
    whole = "".join(f"{i},{i * 7919 % 1000} {i * 104729 % 977},0.5,true\n" for i in range(20_000))
    data = gzip.compress(whole.encode())
    path.write_bytes(data[: len(data) // 2])
    builder = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(SCHEMA, dict), path)
    source = builder.set_error_policy(ErrorPolicy.skip()).build()
    [split] = source.create_enumerator().discover(0)
    reader = source.create_split_reader(split, None, ReaderContext(0, 1, lambda: 0))
    found: list[int] = []
    while not reader.finished():
        found += [row["n"] for row in reader.read(step).to_rows().values]
    assert len(found) > 7_000
    assert found == list(range(len(found)))


def test_types_without_a_column_are_refused() -> None:
    with pytest.raises(JobDefinitionError, match="column 'tags' cannot be read into columns"):
        CsvReaderFormat.for_schema(
            CsvSchema.builder().add_array_column("tags").build(), columnar=True
        )
