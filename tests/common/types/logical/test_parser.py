from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import (
    DAY_TIME_FIELDS,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowField,
    RowType,
    SmallIntType,
    StructuredType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)
from millrace.common.types.logical.parser import parse_type

NULLABLE = st.booleans()
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
PLAIN = (
    *(BooleanType, TinyIntType, SmallIntType, IntType, BigIntType),
    *(FloatType, DoubleType, DateType, NullType),
)
LENGTHS = st.integers(1, 1000) | st.just(2**31 - 1)
DIGITS = st.integers(0, 9)


def _kept(kind: DayTimeIntervalType) -> bool:
    """Whether the text has all of it: a precision of days is not written without days."""
    days = kind.day_precision == 2 or "DAY" in kind.fields
    return days and (kind.fractional_precision == 6 or "SECOND" in kind.fields)


single: st.SearchStrategy[LogicalType] = st.one_of(
    st.sampled_from(PLAIN).flatmap(lambda made: st.builds(made, nullable=NULLABLE)),
    *(
        st.builds(made, LENGTHS, nullable=NULLABLE)
        for made in (CharType, VarCharType, BinaryType, VarBinaryType)
    ),
    *(
        st.builds(made, DIGITS, nullable=NULLABLE)
        for made in (TimeType, TimestampType, LocalZonedTimestampType, ZonedTimestampType)
    ),
    st.integers(1, 38).flatmap(
        lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p), nullable=NULLABLE)
    ),
    st.builds(YearMonthIntervalType, st.sampled_from(["YEAR", "YEAR TO MONTH"]), st.integers(1, 4)),
    st.builds(
        DayTimeIntervalType, st.sampled_from(DAY_TIME_FIELDS), st.integers(1, 6), DIGITS
    ).filter(_kept),
    st.builds(RawType, TEXT, TEXT, nullable=NULLABLE),
)


def _fields(inner: st.SearchStrategy[LogicalType]) -> st.SearchStrategy[tuple[RowField, ...]]:
    field = st.builds(RowField, TEXT, inner, st.none() | TEXT)
    return st.lists(field, max_size=4, unique_by=lambda f: f.name).map(tuple)


logical_types: st.SearchStrategy[LogicalType] = st.recursive(
    single,
    lambda inner: st.one_of(
        st.builds(ArrayType, inner, nullable=NULLABLE),
        st.builds(MultisetType, inner, nullable=NULLABLE),
        st.builds(MapType, inner, inner, nullable=NULLABLE),
        st.builds(RowType, _fields(inner), nullable=NULLABLE),
        st.builds(StructuredType, _fields(inner), TEXT, nullable=NULLABLE),
    ),
    max_leaves=6,
)


@given(logical_types)
def test_what_is_printed_is_parsed(logical_type: LogicalType) -> None:
    assert parse_type(str(logical_type)) == logical_type


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("int", "INT"),
        ("Integer null", "INT"),
        ("DOUBLE PRECISION not  null", "DOUBLE NOT NULL"),
        ("DEC(7)", "DECIMAL(7, 0)"),
        ("NUMERIC", "DECIMAL(10, 0)"),
        ("VARCHAR", "VARCHAR(1)"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
        ("TIME WITHOUT TIME ZONE", "TIME(0)"),
        ("INT NOT NULL ARRAY MULTISET", "MULTISET<ARRAY<INT NOT NULL>>"),
        ("ROW(a INT, `array` INT ARRAY)", "ROW<`a` INT, `array` ARRAY<INT>>"),
        ("ROW<>", "ROW<>"),
        ("INTERVAL SECOND(3)", "INTERVAL SECOND(3)"),
    ],
)
def test_the_spellings_of_flink_are_read(text: str, shown: str) -> None:
    assert str(parse_type(text)) == shown


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the name of a type expected at position 0, found its end"),
        ("LONG", "found 'LONG'"),
        ("ARRAY<INT", "> expected at position 9, found its end"),
        ("INT INT", "the end expected"),
        ("DECIMAL(a)", "a number expected"),
        ("ROW<INT>", "the name of a type expected"),
        ("MAP<INT>", ", expected"),
        ("INT; DROP", "found '; DROP'"),
        ("DECIMAL(99)", "between 1 and 38"),
        ("ARRAY<" * 100 + "INT", "nested"),
    ],
)
def test_what_is_no_type_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(JobDefinitionError) as refused:
        parse_type(text)
    assert told in str(refused.value)
