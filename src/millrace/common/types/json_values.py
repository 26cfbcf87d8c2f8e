"""Conversion of Python values to JSON, and back to values of a declared type.

==========================================  ===================================================
``None``, bool, int, float, str             themselves; NaN and the infinities ``{"float": "NaN"}``,
                                            integers of over 4,300 digits ``{"int": "0x12.."}``
list, tuple, set, frozenset, array          an array; sets in the order of their items' JSON
dict with text keys, named row, dataclass,  an object
named tuple, any object with attributes
any other dict                              ``{"map": [[key, value], ...]}``
bytes                                       ``{"bytes": "<base64>"}``
Decimal, Fraction, UUID, date, time,        text: ``"1.50"``, ``"2026-11-21"``; fractions of over
datetime                                    4,300 digits ``"0x12../0x34.."``
timedelta                                   a number of seconds
Enum                                        its name
==========================================  ===================================================

A dict whose only key is one of the tags is written as a ``map``, so a tag is never ambiguous.
JSON does not say which of its classes a value had: `from_json` takes that from the type.
"""

from __future__ import annotations

import base64
import datetime as dt
import enum
import json
import math
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch
from typing import Any

from millrace.common.time.amounts import Instant
from millrace.common.types.class_types import ClassTypeInfo, EnumTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.record_fields import declared_names
from millrace.common.types.row import Row, named_row
from millrace.common.types.standard_types import (
    DurationTypeInfo,
    FractionTypeInfo,
    UuidTypeInfo,
    ZonedTimestampTypeInfo,
    ZonedTimeTypeInfo,
)
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.value_types import (
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)

__all__ = ["MAX_BITS", "TAGS", "dumps", "from_json", "json_text", "to_json", "untagged"]

TAGS = frozenset({"bytes", "map", "float", "int"})
MAX_DEPTH = 32
MAX_BITS = 14_000
"""Longest integer written in decimal digits: Python reads and writes up to 4,300 of them."""
_TEXT = (Decimal, uuid.UUID)
_ISO = (dt.date, dt.time)


def dumps(value: Any) -> bytes:
    """UTF-8 text of a value that consists of JSON's types."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "replace"
    )


def json_text(value: Any) -> str:
    """A JSON document for any value, for people to read.

    >>> json_text((1, None, {"a": dt.date(2026, 11, 21)}))
    '[1, null, {"a": "2026-11-21"}]'
    """
    text = json.dumps(to_json(value), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace").decode()  # lone surrogates cannot be printed


def to_json(value: Any, depth: int = 0) -> Any:
    """The value in JSON's types, for `dumps`. Values without a JSON form, or nested too deep,
    become a description in words.

    Example:
        >>> to_json({"when": dt.date(2026, 11, 21), "parts": (1, b"x")})
        {'when': '2026-11-21', 'parts': [1, {'bytes': 'eA=='}]}
    """
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if value.bit_length() <= MAX_BITS else {"int": hex(value)}
    if depth > MAX_DEPTH:
        return f"(nested too deep: {type(value).__name__})"
    plain = _scalar(value)
    return _container(value, depth + 1) if plain is None else plain


def _scalar(value: Any) -> Any:
    """JSON form of a value without parts; None if it has parts."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, _TEXT):
        return str(value)
    if isinstance(value, Fraction):
        return _fraction_text(value)
    if isinstance(value, _ISO):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, int):
        return to_json(int(value))
    return str(value) if isinstance(value, str) else None


def _fraction_text(value: Fraction) -> str:
    parts = value.numerator, value.denominator
    if any(part.bit_length() > MAX_BITS for part in parts):
        return "/".join(map(hex, parts))
    return str(value)


def _fraction(text: Any) -> Fraction:
    if isinstance(text, str) and "x" in text:
        return Fraction(*(int(part, 16) for part in text.split("/")))
    return Fraction(text)


def _container(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return _dict(value, depth)
    names = declared_names(value)
    if names is not None:
        return _dict({name: getattr(value, name) for name in names}, depth)
    if isinstance(value, (set, frozenset)):  # in one order in all processes
        return sorted((to_json(item, depth) for item in value), key=dumps)
    if isinstance(value, (list, tuple, Row)):
        return [to_json(item, depth) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of numpy, array.array
        return to_json(value.tolist(), depth)
    attributes = getattr(value, "__dict__", None)
    if attributes:
        return _dict(attributes, depth)
    try:
        return repr(value)
    except Exception:  # it is the user's, or has a number in it that is too long for Python
        return f"({type(value).__name__})"


def _dict(value: dict[Any, Any], depth: int) -> Any:
    tagged = len(value) == 1 and next(iter(value)) in TAGS
    if not tagged and all(type(key) is str for key in value):
        return {key: to_json(item, depth) for key, item in value.items()}
    return {"map": [[to_json(key, depth), to_json(item, depth)] for key, item in value.items()]}


def untagged(value: Any) -> Any:
    """Parsed JSON in which tags for bytes, maps, special floats and long integers are replaced by
    the values.

    Raises:
        ValueError: a tag has something else than it should.
    """
    if isinstance(value, list):
        return [untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        tag, content = next(iter(value.items()))
        if tag == "bytes":
            return base64.b64decode(content, validate=True)
        if tag == "float":
            return float(content)
        if tag == "int":
            return int(content, 16)
        if tag == "map":
            return {hashable(untagged(key)): untagged(item) for key, item in content}
    return {key: untagged(item) for key, item in value.items()}


def hashable(value: Any) -> Any:
    """The value with tuples in place of lists; raises TypeError for a dict."""
    if isinstance(value, list):
        return tuple(map(hashable, value))
    hash(value)
    return value


def from_json(value: Any, type_info: TypeInformation[Any]) -> Any:
    """The value of a type from parsed JSON (`to_json`). A value whose type JSON cannot restore
    (pickled values, unions) stays lists and dicts.

    Raises:
        ValueError, TypeError, LookupError: it stands for no value of the type.

    Example:
        >>> from millrace.common.types.typeinfo import Types
        >>> from_json(["a", "2026-11-21"], Types.TUPLE([Types.STRING(), Types.SQL_DATE()]))
        ('a', datetime.date(2026, 11, 21))
    """
    return None if value is None else _read(type_info, value)


_READERS: dict[type[TypeInformation[Any]], Callable[[Any], Any]] = {
    BigDecTypeInfo: Decimal,
    DateTypeInfo: dt.date.fromisoformat,
    DurationTypeInfo: lambda value: dt.timedelta(seconds=value),
    FractionTypeInfo: _fraction,
    InstantTypeInfo: lambda value: Instant(value["seconds"], value["nanos"]),
    TimeTypeInfo: dt.time.fromisoformat,
    TimestampTypeInfo: dt.datetime.fromisoformat,
    UuidTypeInfo: uuid.UUID,
    ZonedTimeTypeInfo: dt.time.fromisoformat,
    ZonedTimestampTypeInfo: dt.datetime.fromisoformat,
}


@singledispatch
def _read(type_info: TypeInformation[Any], value: Any) -> Any:
    return _READERS.get(type(type_info), untagged)(value)


@_read.register
def _read_list(type_info: ListTypeInfo, value: Any) -> Any:
    if not isinstance(value, list):  # an array of bytes
        return untagged(value)
    return [from_json(item, type_info.element_type) for item in value]


@_read.register
def _read_set(type_info: SetTypeInfo, value: Any) -> Any:
    return type_info.kind(from_json(item, type_info.element_type) for item in value)


@_read.register
def _read_variadic(type_info: VariadicTupleTypeInfo, value: Any) -> Any:
    return tuple(from_json(item, type_info.element_type) for item in value)


@_read.register
def _read_map(type_info: MapTypeInfo, value: Any) -> Any:
    pairs = value["map"] if list(value) == ["map"] else value.items()
    return {
        hashable(from_json(key, type_info.key_type)): from_json(item, type_info.value_type)
        for key, item in pairs
    }


@_read.register
def _read_tuple(type_info: TupleTypeInfo, value: Any) -> Any:
    return tuple(_fields(type_info.types, value))


@_read.register
def _read_row(type_info: RowTypeInfo, value: Any) -> Any:
    if isinstance(value, dict):
        value = [value.get(name) for name in type_info.get_field_names()]
    return named_row(type_info.field_names, _fields(type_info.types, value))


@_read.register
def _read_class(type_info: ClassTypeInfo, value: Any) -> Any:
    if isinstance(value, dict):
        value = [value[name] for name in type_info.field_names]
    return type_info.make(_fields(type_info.types, value))


@_read.register
def _read_enum(type_info: EnumTypeInfo, value: Any) -> Any:
    return type_info.cls[value]


@_read.register
def _read_external(type_info: ExternalTypeInfo, value: Any) -> Any:
    return from_json(value, type_info.type_info)


def _fields(types: Sequence[TypeInformation[Any]], values: Sequence[Any]) -> list[Any]:
    return [from_json(item, field) for item, field in zip(values, types, strict=True)]
