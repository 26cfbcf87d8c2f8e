"""The law: a text is a number or a time in every format exactly if it is one in Flink."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import SerializationError
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.common.types.value_types import BigDecTypeInfo
from millrace.connectors.path_partitions import PathPartitions
from millrace.formats.csv_columns import CsvColumns
from millrace.formats.csv_fields import parse_columns
from millrace.formats.csv_schema import CsvSchema
from millrace.formats.csv_texts import text_reader
from millrace.formats.json_reading import READING_ERRORS, field_reader
from millrace.formats.scalar_text import scalar_text

PYTHONS_OWN = ("1_000", "\u0661", "0x1", "inf", "nan", "NAN", "+inf", "Infinity_", "1__0")
"""Texts that Python or Arrow takes for a number in some place, and Flink in none."""
BEYOND = {"BYTE": "128", "SHORT": "-32769", "INT": "2147483648", "LONG": "9223372036854775808"}
NUMBERS = (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.FLOAT(), Types.DOUBLE())


def of_csv(kind: TypeInformation[Any], text: str) -> Any:
    schema = CsvSchema.builder().add_number_column("x", kind).build()
    return parse_columns(schema, [0], 1, [[text]])[0][0]


def of_csv_array(kind: TypeInformation[Any], text: str) -> Any:
    schema = CsvSchema.builder().add_array_column("x", ";", kind).build()
    return parse_columns(schema, [0], 1, [[text]])[0][0][0]


def of_csv_with_arrow(kind: TypeInformation[Any], text: str) -> Any:
    if isinstance(kind, BigDecTypeInfo):
        return of_csv(kind, text)  # it has no columns
    schema = CsvSchema.builder().add_number_column("x", kind).build()
    batch = CsvColumns(schema, [0], True).read(f"{text}\n".encode())
    if batch is None:  # the row parser reads it
        return of_csv(kind, text)
    return batch.column(0)[0].as_py()


def of_csv_row(kind: TypeInformation[Any], text: str) -> Any:
    read = text_reader(kind)
    assert read is not None
    return read(text)


def of_json(kind: TypeInformation[Any], text: str) -> Any:
    row_type = Types.ROW_NAMED(["x"], [kind])
    return field_reader(row_type, kind, strict=False)(text)


def of_json_key(kind: TypeInformation[Any], text: str) -> Any:
    read = field_reader(Types.ROW([]), Types.MAP(kind, Types.STRING()), strict=False)
    return next(iter(read({text: "v"})))


def of_a_path(kind: TypeInformation[Any], text: str) -> Any:
    return PathPartitions(Types.ROW_NAMED(["x"], [kind])).values(f"/d/x={text}/part-0")["x"]


READERS = (
    of_csv,
    of_csv_array,
    of_csv_with_arrow,
    of_csv_row,
    of_json,
    of_json_key,
    of_a_path,
)
ERRORS = (SerializationError, *READING_ERRORS)
Reader = Callable[[TypeInformation[Any], str], Any]


@pytest.mark.parametrize("kind", [*NUMBERS, Types.BIG_INT(), Types.BIG_DEC()], ids=str)
@pytest.mark.parametrize("read", READERS)
def test_numbers_of_python_alone_are_refused(read: Reader, kind: TypeInformation[Any]) -> None:
    for text in PYTHONS_OWN:
        if text == "\u0661" and isinstance(kind, BigDecTypeInfo):
            continue  # Java's BigDecimal takes the digits of all scripts
        with pytest.raises(ERRORS, match=re.escape(text)):
            read(kind, text)


@pytest.mark.parametrize("read", [r for r in READERS if r not in (of_json_key, of_a_path)])
@pytest.mark.parametrize("label", BEYOND)
def test_numbers_beyond_their_type_are_refused(read: Reader, label: str) -> None:
    with pytest.raises(ERRORS, match=f"{BEYOND[label]} does not fit into"):
        read(getattr(Types, label)(), BEYOND[label])


@pytest.mark.parametrize("read", READERS)
@given(st.integers(-128, 127), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_of_both_are_read(read: Reader, whole: int, fraction: float) -> None:
    for kind in (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.BIG_INT()):
        assert read(kind, str(whole)) == whole
    assert read(Types.INT(), "+7") == 7
    assert read(Types.DOUBLE(), repr(fraction)) == fraction
    assert read(Types.BIG_DEC(), repr(fraction)) == Decimal(repr(fraction))


@pytest.mark.parametrize("read", READERS)
def test_javas_words_for_infinity_are_read(read: Reader) -> None:
    assert read(Types.DOUBLE(), "-Infinity") == float("-inf")
    assert str(read(Types.DOUBLE(), "NaN")) == "nan"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Types.SQL_DATE(), "20240102"),
        (Types.SQL_DATE(), "2024-W01-2"),
        (Types.SQL_TIME(), "10"),
        (Types.SQL_TIME(), "1030"),
        (Types.SQL_TIME(), "T10:30"),
        (Types.SQL_TIMESTAMP(), "20240102T103000"),
        (Types.SQL_TIMESTAMP(), "2024-W01-2"),
        (Types.SQL_TIMESTAMP(), "2024-01-02 10"),
    ],
    ids=str,
)
def test_times_of_python_alone_are_refused(kind: TypeInformation[Any], text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a date|is not a time"):
        scalar_text(kind).read(text)


def test_times_of_both_are_read() -> None:
    assert scalar_text(Types.SQL_DATE()).read("2024-01-02") == date(2024, 1, 2)
    assert scalar_text(Types.SQL_TIME()).read("10:30") == time(10, 30)
    for text in ("2024-01-02 10:30:00", "2024-01-02T10:30"):
        assert scalar_text(Types.SQL_TIMESTAMP()).read(text) == datetime(2024, 1, 2, 10, 30)
    assert scalar_text(Types.SQL_TIMESTAMP()).read("2024-01-02") == datetime(2024, 1, 2)
