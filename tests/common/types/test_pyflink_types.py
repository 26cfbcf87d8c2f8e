"""Types that PyFlink programs make by class: they construct, compare, hash and print as there."""

from __future__ import annotations

import pickle
from datetime import date, datetime, time
from typing import Any

import pytest

from millrace.common import Row
from millrace.common.errors import JobDefinitionError
from millrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    SqlTimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from millrace.common.types.arrow_values import from_arrow, to_arrow
from millrace.common.types.row_conversion import row_conversion
from millrace.common.types.type_check import mismatch

STRING, INT = Types.STRING(), Types.INT()

# what the wheel of apache-flink 2.3 prints for the same
PRINTED: list[tuple[TypeInformation[Any], str]] = [
    (Types.STRING(), "String"),
    (Types.BYTE(), "Byte"),
    (Types.BOOLEAN(), "Boolean"),
    (Types.SHORT(), "Short"),
    (Types.INT(), "Integer"),
    (Types.LONG(), "Long"),
    (Types.FLOAT(), "Float"),
    (Types.DOUBLE(), "Double"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.LIST(INT), "ListTypeInfo<Integer>"),
    (Types.MAP(INT, STRING), "MapTypeInfo<Integer, String>"),
    (Types.PRIMITIVE_ARRAY(INT), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(INT), "BasicArrayTypeInfo<Integer>"),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
    (Types.TUPLE([STRING, INT]), "TupleTypeInfo(String, Integer)"),
    (Types.ROW([STRING, INT]), "RowTypeInfo(String, Integer)"),
    (Types.ROW_NAMED(["a", "b"], [STRING, STRING]), "RowTypeInfo(a: String, b: String)"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), "LocalTimeTypeInfo<LOCAL_DATE>"),
    (ExternalTypeInfo(Types.LONG()), "ExternalTypeInfo<Long>"),
]


@pytest.mark.parametrize(("type_info", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_types_print_as_pyflink_prints_them(type_info: TypeInformation[Any], text: str) -> None:
    assert str(type_info) == repr(type_info) == text
    assert pickle.loads(pickle.dumps(type_info)) == type_info


@pytest.mark.parametrize(
    ("made", "same"),
    [
        (BasicTypeInfo(BasicType.LONG), Types.LONG()),
        (BasicTypeInfo(BasicType.STRING), Types.STRING()),
        (PickledBytesTypeInfo(), Types.PICKLED_BYTE_ARRAY()),
        (PrimitiveArrayTypeInfo(INT), Types.PRIMITIVE_ARRAY(INT)),
        (BasicArrayTypeInfo(INT), Types.BASIC_ARRAY(INT)),
        (ObjectArrayTypeInfo(INT), Types.OBJECT_ARRAY(INT)),
        (ListTypeInfo(INT), Types.LIST(INT)),
        (MapTypeInfo(INT, STRING), Types.MAP(INT, STRING)),
        (TupleTypeInfo([STRING, INT]), Types.TUPLE([STRING, INT])),
        (RowTypeInfo([STRING, INT]), Types.ROW([STRING, INT])),
        (RowTypeInfo([STRING], ["a"]), Types.ROW_NAMED(["a"], [STRING])),
        (RowTypeInfo(field_types=[STRING], field_names=["a"]), Types.ROW([STRING])),
        (SqlTimeTypeInfo.DATE(), Types.SQL_DATE()),
        (SqlTimeTypeInfo.TIME(), Types.SQL_TIME()),
        (SqlTimeTypeInfo.TIMESTAMP(), Types.SQL_TIMESTAMP()),
    ],
    ids=repr,
)
def test_types_made_by_class_are_those_of_types(
    made: TypeInformation[Any], same: TypeInformation[Any]
) -> None:
    assert made == same
    assert hash(made) == hash(same)
    assert type(made) is type(same)


def test_kinds_of_arrays_differ() -> None:
    arrays = [PrimitiveArrayTypeInfo(INT), BasicArrayTypeInfo(INT), ObjectArrayTypeInfo(INT)]
    assert len({*arrays, ListTypeInfo(INT)}) == 4
    assert ListTypeInfo(INT).elem_type == INT


def test_row_types_tell_their_fields() -> None:
    row = RowTypeInfo([STRING, INT], ["a", "b"])
    assert row.get_field_names() == ["a", "b"]
    assert row.get_field_types() == [STRING, INT]
    assert row != RowTypeInfo([STRING, STRING], ["a", "b"])
    assert row == RowTypeInfo([STRING, INT], ["c", "d"])
    with pytest.raises(JobDefinitionError, match="one name per field"):
        RowTypeInfo([STRING], ["a", "b"])


@pytest.mark.parametrize("basic_type", [BasicType.BIG_DEC, BasicType.INSTANT])
def test_two_basic_types_have_classes_of_their_own(basic_type: BasicType) -> None:
    with pytest.raises(JobDefinitionError, match=f"Types.{basic_type.name}"):
        BasicTypeInfo(basic_type)


KINDS = LocalTimeTypeInfo.TimeType


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (KINDS.LOCAL_DATE, date(2026, 1, 2)),
        (KINDS.LOCAL_TIME, time(3, 4, 5)),
        (KINDS.LOCAL_DATE_TIME, datetime(2026, 1, 2, 3, 4, 5)),
    ],
)
def test_local_times_are_those_of_python(kind: Any, value: Any) -> None:
    local = LocalTimeTypeInfo(kind)
    assert local.from_internal_type(local.to_internal_type(value)) == value
    assert from_arrow(to_arrow([value, None], local), local) == [value, None]
    assert mismatch(local, value) is None
    assert mismatch(local, "a") is not None


def test_external_types_are_what_is_inside() -> None:
    inner = Types.ROW_NAMED(["a"], [INT])
    external = ExternalTypeInfo(inner)
    assert external.schema() == inner.schema()
    assert external.logical_type == inner.logical_type
    assert from_arrow(to_arrow([Row(a=1)], external), external) == [Row(a=1)]
    assert mismatch(external, Row(a="x")) == "field a is 'x' (str), not INT"
    convert = row_conversion(external)
    assert convert is not None
    assert convert((1,)) == Row(a=1)
