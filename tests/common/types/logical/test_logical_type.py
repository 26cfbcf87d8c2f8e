from __future__ import annotations

import pickle

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import (
    ArrayType,
    BigIntType,
    BinaryType,
    CharType,
    DayTimeIntervalType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    SmallIntType,
    StructuredType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
)

PRINTED = [
    (BigIntType(nullable=False), "BIGINT NOT NULL"),
    (CharType(3), "CHAR(3)"),
    (VarCharType(), "STRING"),
    (VarCharType(20), "VARCHAR(20)"),
    (BinaryType(4), "BINARY(4)"),
    (VarBinaryType(), "BYTES"),
    (DecimalType(10, 2), "DECIMAL(10, 2)"),
    (TimeType(), "TIME(0)"),
    (TimestampType(3), "TIMESTAMP(3)"),
    (LocalZonedTimestampType(), "TIMESTAMP_LTZ(6)"),
    (ZonedTimestampType(), "TIMESTAMP(6) WITH TIME ZONE"),
    (YearMonthIntervalType(), "INTERVAL YEAR(2) TO MONTH"),
    (YearMonthIntervalType("MONTH"), "INTERVAL MONTH"),
    (DayTimeIntervalType(), "INTERVAL DAY(2) TO SECOND(6)"),
    (DayTimeIntervalType("HOUR TO MINUTE"), "INTERVAL HOUR TO MINUTE"),
    (ArrayType(IntType(nullable=False)), "ARRAY<INT NOT NULL>"),
    (MultisetType(IntType()), "MULTISET<INT>"),
    (MapType(VarCharType(), IntType(), nullable=False), "MAP<STRING, INT> NOT NULL"),
    (RowType((RowField("a`b", IntType(), "it's"),)), "ROW<`a``b` INT 'it''s'>"),
    (StructuredType((RowField("x", IntType()),), "Point"), "STRUCTURED<'Point', `x` INT>"),
    (RawType("object", "pickle"), "RAW('object', 'pickle')"),
]


@pytest.mark.parametrize(("logical_type", "text"), PRINTED)
def test_types_print_as_flink_prints_them(logical_type: LogicalType, text: str) -> None:
    assert str(logical_type) == repr(logical_type) == text


def test_types_compare_by_structure_and_hash() -> None:
    assert RowType.of(("a", IntType())) == RowType.of(("a", IntType()))
    assert RowType.of(("a", IntType())) != RowType.of(("b", IntType()))
    assert IntType() != SmallIntType()
    assert IntType() != IntType(nullable=False)
    assert len({IntType(), IntType(), IntType(nullable=False), CharType(1), BinaryType(1)}) == 4


@pytest.mark.parametrize(("logical_type", "text"), PRINTED)
def test_types_travel_to_other_processes(logical_type: LogicalType, text: str) -> None:
    assert pickle.loads(pickle.dumps(logical_type)) == logical_type


def test_nullability_changes_nothing_else() -> None:
    assert DecimalType(5, 1).not_null() == DecimalType(5, 1, nullable=False)
    assert DecimalType(5, 1).not_null().with_nullable(True) == DecimalType(5, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CharType(0),
        lambda: DecimalType(39, 0),
        lambda: DecimalType(5, 6),
        lambda: TimestampType(10),
        lambda: DayTimeIntervalType("SECOND TO DAY"),
        lambda: RowType.of(("a", IntType()), ("a", IntType())),
    ],
)
def test_what_flink_refuses_is_refused(make: object) -> None:
    with pytest.raises(JobDefinitionError):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("precision", "unit"), [(0, "s"), (1, "ms"), (3, "ms"), (4, "us"), (6, "us"), (7, "ns")]
)
def test_the_unit_holds_the_digits(precision: int, unit: str) -> None:
    assert TimestampType(precision).unit == unit
