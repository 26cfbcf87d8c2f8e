"""Values of declared types, there and back."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pytest

from millrace.common import Types
from millrace.common.time import Instant
from millrace.common.types import Row
from millrace.rest.json_values import dumps, to_json
from millrace.rest.typed_values import typed_value


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.LONG(), 5),
        (Types.STRING(), "x"),
        (Types.DOUBLE(), float("inf")),
        (Types.BIG_DEC(), Decimal("1.50")),
        (Types.SQL_DATE(), dt.date(2026, 11, 21)),
        (Types.SQL_TIME(), dt.time(6, 5)),
        (Types.SQL_TIMESTAMP(), dt.datetime(2026, 11, 21, 6, 5, 4, 3)),
        (Types.INSTANT(), Instant(5, 6)),
        (Types.LIST(Types.TUPLE([Types.STRING(), Types.SQL_DATE()])), [("a", dt.date(1, 2, 3))]),
        (Types.MAP(Types.LONG(), Types.BIG_DEC()), {1: Decimal(2)}),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}),
        (Types.MAP(Types.TUPLE([Types.INT()]), Types.LONG()), {(1,): 1}),
        (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.SQL_DATE()]),
         Row(a=1, b=dt.date(2026, 1, 1))),
        (Types.ROW([Types.INT()]), Row(1)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"xyz"),
        (Types.PICKLED_BYTE_ARRAY(), {"a": [1, b"x"]}),
        (Types.LIST(Types.LONG()), None),
    ],
    ids=str,
)  # fmt: skip
def test_declared_values_come_back(type_info, value) -> None:
    assert typed_value(type_info, json.loads(dumps(to_json(value)))) == value
