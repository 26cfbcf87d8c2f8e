"""Conversion of SQL values to JSON texts for JSON functions: keys in order, times as texts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.text_of import double_text
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.json_document import json_document, quoted, well_formed

__all__ = ["Raw", "json_text", "jsonable"]


class Raw(str):
    """JSON that is inserted into other JSON unchanged."""


def json_text(value: Any) -> str:
    """JSON text without blanks, with keys in their order.

    >>> json_text({"b": Raw("{}"), "a": [1, None, "x"]})
    '{"a":[1,null,"x"],"b":{}}'
    """
    return well_formed(json_document(value, _scalar_text, sort_keys=True))


def _scalar_text(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return str(Decimal(double_text(value)))
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return quoted(_time_text(value))
    if isinstance(value, date | time):
        return quoted(value.isoformat())
    return json.dumps(value, ensure_ascii=False)


def _time_text(value: datetime) -> str:
    """ISO 8601 text of a time, without trailing zeros of the fraction."""
    local = value.replace(tzinfo=None).isoformat()
    return (local.rstrip("0") if value.microsecond else local) + ("Z" if value.tzinfo else "")


def jsonable(kind: LogicalType) -> Callable[[Any], Any]:
    """Function that converts a Python value of a type, which may be None, for `json_text`.

    Raises:
        EvaluationError: values of the type have no form in JSON.
    """
    make = _jsonable(kind)
    return lambda value: None if value is None else make(value)


def _jsonable(kind: LogicalType) -> Callable[[Any], Any]:
    if isinstance(kind, logical.RowType):
        parts = [jsonable(field.type) for field in kind.fields]
        return lambda row: {
            name: part(value) for part, (name, value) in zip(parts, row.items(), strict=True)
        }
    if isinstance(kind, logical.MapType):
        key, inner = jsonable(kind.key_type), jsonable(kind.value_type)
        return lambda pairs: {_key_text(key(name)): inner(value) for name, value in pairs}
    if isinstance(kind, logical.MultisetType):
        item = jsonable(kind.element_type)
        return lambda pairs: {_key_text(item(value)): count for value, count in pairs}
    if isinstance(kind, logical.ArrayType):
        element = jsonable(kind.element_type)
        return lambda items: list(map(element, items))
    if isinstance(kind, (logical.BinaryType, logical.VarBinaryType)):
        return lambda raw: base64.b64encode(raw).decode()
    if isinstance(kind, _WITHOUT_JSON):
        raise EvaluationError(f"JSON has no form for a value of type {kind}: CAST it AS STRING")
    return lambda value: value


_WITHOUT_JSON = (
    logical.BitmapType,
    logical.DayTimeIntervalType,
    logical.YearMonthIntervalType,
)


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) else json_text(key)
