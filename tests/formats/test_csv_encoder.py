"""Writing CSV."""

import io
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.typeinfo import Types
from millrace.formats import CsvBulkWriters, CsvEncoder, CsvReaderFormat, CsvSchema

SCHEMA = (
    CsvSchema.builder()
    .add_string_column("text")
    .add_number_column("i")
    .add_number_column("f", Types.DOUBLE())
    .add_boolean_column("b")
    .add_array_column("a", "|", Types.INT())
    .set_use_header()
    .set_null_value("NULL")
    .build()
)
records = st.fixed_dictionaries(
    {
        "text": st.none()
        | st.text(st.characters(codec="utf-8", exclude_characters="\x00")).filter(
            lambda text: text != "NULL"
        ),
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False),
        "b": st.none() | st.booleans(),
        "a": st.none() | st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1),
    }
)


@dataclass
class Word:
    """A record of a user's own type."""

    word: str
    n: int


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
@given(st.lists(records, max_size=6))
def test_what_is_written_is_read(tmp_path: Path, written: list[dict[str, Any]]) -> None:
    encoder = CsvEncoder(SCHEMA)
    path = tmp_path / "data.csv"
    path.write_bytes(encoder.header() + encoder.encode_all(written))
    csv_format = CsvReaderFormat.for_schema(SCHEMA, record_type=dict)
    [file_range] = csv_format.ranges(str(path), 1, 1)
    assert csv_format.open(str(path), file_range, None).read(100).to_rows().values == written


@pytest.mark.parametrize(
    "record",
    [("x", 1), ["x", 1], Row("x", 1), Row(n=1, word="x"), {"n": 1, "word": "x"}, Word("x", 1)],
)
def test_records_of_many_kinds(record: Any) -> None:
    assert CsvEncoder.for_columns("word", "n").encode(record) == b"x,1\n"


@pytest.mark.parametrize("record", [("x",), {"word": "x", "m": 1}, "x", Row(a=1, b=2)])
def test_records_with_other_fields_are_refused(record: Any) -> None:
    with pytest.raises(SerializationError):
        CsvEncoder.for_columns("word", "n").encode(record)


def test_carriage_returns_are_quoted() -> None:
    encoded = CsvEncoder.for_columns("a").encode_all([("x\ry",), ("z",)])
    assert encoded == b'"x\ry"\nz\n'


def test_a_missing_key_is_no_value() -> None:
    assert CsvEncoder.for_columns("word", "n").encode({"word": "x"}) == b"x,\n"


def test_a_separator_without_quotes_or_escape_is_refused() -> None:
    schema = CsvSchema.builder().add_string_column("a").disable_quote_char().build()
    with pytest.raises(SerializationError, match="set a quote or escape character"):
        CsvEncoder(schema).encode(("x,y",))


def test_header_only_where_it_is_wanted() -> None:
    assert CsvEncoder.for_columns("a", header=False).header() == b""


def test_the_bulk_writer_writes_a_whole_file() -> None:
    stream = io.BytesIO()
    schema = CsvSchema.builder().add_string_column("a").set_use_header().build()
    writer = CsvBulkWriters.for_schema(schema).create(stream)
    writer.add_elements([("x",), ("y",)])
    writer.flush()
    writer.finish()
    assert stream.getvalue() == b"a\nx\ny\n"


def test_lists_are_read_back(tmp_path: Path) -> None:
    """Booleans as Flink writes them; without a separator there is one element."""
    columns = CsvSchema.builder().add_array_column("bs", ":", Types.BOOLEAN())
    schema = columns.add_array_column("one", "", Types.STRING()).build()
    line = CsvEncoder(schema).encode(Row(bs=[True, False], one=["a:b"]))
    assert line == b"true:false,a:b\n"
    path = tmp_path / "data.csv"
    path.write_bytes(line)
    csv_format = CsvReaderFormat.for_schema(schema)
    [file_range] = csv_format.ranges(str(path), len(line), 1)
    reader = csv_format.open(str(path), file_range, None)
    assert reader.read(2).to_rows().values == [Row(bs=[True, False], one=["a:b"])]


@settings(deadline=None)
@given(st.lists(records, max_size=6), st.sampled_from(["dict", "row", "tuple"]))
def test_columns_become_the_same_lines_as_their_records(
    written: list[dict[str, Any]], form: str
) -> None:
    types = [pa.string(), pa.string(), pa.float64(), pa.bool_(), pa.list_(pa.string())]
    arrays = [
        pa.array([_text_of(record[name]) for record in written], kind)
        for name, kind in zip(SCHEMA.names, types, strict=True)
    ]
    batch = ColumnBatch(pa.record_batch(arrays, list(SCHEMA.names)), form=form)
    encoder = CsvEncoder(SCHEMA)
    assert encoder.encode_columns(batch) == encoder.encode_all(batch.to_rows().values)


def _text_of(value: Any) -> Any:
    """Whole numbers as text: they may be too big for a column."""
    if isinstance(value, list):
        return [str(item) for item in value]
    return str(value) if type(value) is int else value


@pytest.mark.parametrize("form", ["dict", "tuple"])
def test_other_columns_are_refused(form: str) -> None:
    batch = ColumnBatch(pa.record_batch({"word": ["x"], "m": [1], "o": [2]}), form=form)
    with pytest.raises(SerializationError, match="column"):
        CsvEncoder.for_columns("word", "n").encode_columns(batch)


def test_columns_whose_records_are_single_values_are_taken_one_by_one() -> None:
    batch = ColumnBatch(pa.record_batch({"value": [{"word": "x", "n": 1}]}), form="value")
    assert CsvEncoder.for_columns("word", "n").encode_columns(batch) == b"x,1\n"


class WithoutText:
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = object.__repr__


SOLD = (
    CsvSchema.builder()
    .add_number_column("n")
    .add_array_column("xs")
    .add_boolean_column("b")
    .add_string_column("text")
    .build()
)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("n", "abc", "'abc' is not a number"),
        ("n", True, "True is not a number"),
        ("n", date(2026, 1, 1), "is not a number"),
        ("xs", 2, "not iterable"),
        ("xs", "abc", "is a text, not a list"),
        ("xs", ["a", None], "a list with None in it"),
        ("xs", ["a;b"], "'a;b' in a list contains the separator of lists ';'"),
        ("b", "maybe", "'maybe' is not a boolean"),
        ("b", 1, "1 is not a boolean"),
        ("text", "\ud800", "surrogates not allowed"),
        ("text", WithoutText(), "no text"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_column_and_record(
    column: str, value: Any, reason: str
) -> None:
    """What the same schema could not read again was written, or the error named neither."""
    good = {"n": 7, "xs": [1], "b": True, "text": "x"}
    encoder = CsvEncoder(SOLD)
    with pytest.raises(SerializationError) as caught:
        encoder.encode_all([good, {**good, "n": 8, column: value}, good])
    message = str(caught.value)
    assert message.startswith(f"column '{column}' (")
    assert reason in message
    assert "of the record {'n': " in message
    assert "{'n': 7" not in message


def test_what_can_be_read_again_is_written() -> None:
    rows = [
        (1.5, [], False, ""),
        (Decimal("2.50"), None, None, None),
        ("12", ["a"], "TRUE", 7),
        (np.int64(3), [1], np.True_, np.float64(0.5)),
        ("", [1, 2], "", True),
    ]
    lines = CsvEncoder(SOLD).encode_all(rows).decode().splitlines()
    assert lines == ["1.5,,false,", "2.50,,,", "12,a,TRUE,7", "3,1,True,0.5", ",1;2,,true"]


def test_a_wrong_value_in_a_column_is_named_with_its_record() -> None:
    batch = ColumnBatch(pa.record_batch({"a": ["1", "x"]}), form="dict")
    schema = CsvSchema.builder().add_number_column("a").build()
    with pytest.raises(SerializationError, match=r"column 'a' \(number\) of the record .*'x'"):
        CsvEncoder(schema).encode_columns(batch)


def test_times_are_written_as_flink_does() -> None:
    """Without zeros at the end of a fraction, and with a Z in a zone."""
    encoder = CsvEncoder.for_columns("a", "b", "c", header=False)
    at = datetime(1970, 1, 1, 0, 0, 1, 500_000)
    zone = timezone(timedelta(hours=1))
    found = encoder.encode((at, at.replace(tzinfo=zone), time(10)))
    assert found == b"1970-01-01 00:00:01.5,1969-12-31 23:00:01.5Z,10:00:00\n"


def test_numbers_of_numpy_are_written_as_those_of_python() -> None:
    builder = CsvSchema.builder().add_number_column("n", Types.INT())
    encoder = CsvEncoder(builder.add_number_column("x", Types.DOUBLE()).build())
    assert encoder.encode((np.int64(7), np.float64("nan"))) == b"7,NaN\n"
    assert encoder.encode((None, np.float32("-inf"))) == b",-Infinity\n"
    with pytest.raises(SerializationError, match="does not fit into"):
        encoder.encode((np.int64(1 << 40), 0.0))


def test_an_array_may_come_one_by_one() -> None:
    builder = CsvSchema.builder().add_number_column("n")
    encoder = CsvEncoder(builder.add_array_column("a", ";", Types.INT()).build())
    assert encoder.encode((1, iter([1, 2]))) == b"1,1;2\n"
