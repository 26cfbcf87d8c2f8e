"""What tests of several formats share."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from millrace.common.types import Row
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.typeinfo import Types

_ROW_TYPE = Types.ROW_NAMED(
    ["s", "b", "i", "l", "d", "n", "day", "at", "raw", "list", "map", "row"],
    [
        Types.STRING(),
        Types.BOOLEAN(),
        Types.INT(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.LONG()),
        Types.MAP(Types.STRING(), Types.INT()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
    ],
)
_VALUES = [
    "é",
    True,
    1,
    1 << 40,
    0.5,
    Decimal("1.5"),
    date(2013, 1, 2),
    datetime(2013, 1, 2, 3, 4, 5, 6),
    b"\x00\xff",
    [1, None],
    {"k": 1},
    Row(x=7),
]


class EveryType(NamedTuple):
    """A row with a field of each type.

    Attributes:
        row_type: its type.
        row: the row.
        from_arrow: its fields, as a column of Arrow gives them.
    """

    row_type: RowTypeInfo
    row: Row
    from_arrow: list[Any]


@pytest.fixture
def every_type() -> EveryType:
    return EveryType(_ROW_TYPE, Row(*_VALUES), [*_VALUES[:10], [("k", 1)], {"x": 7}])
