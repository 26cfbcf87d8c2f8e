"""Conversion of Protobuf message values to Python values, and back (Protobuf docs, "Language
Guide", "Well-Known Types")."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from operator import attrgetter, index
from typing import Any

from millrace.common.time.amounts import Instant
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.row import named_row
from millrace.common.types.typeinfo import TypeInformation, Types
from millrace.formats.records import field_values
from millrace.formats.single_precision import single_precision

__all__ = ["Get", "Set", "getter_of", "row_type_of", "setter_of"]

Convert = Callable[[Any], Any]
Get = Callable[[Any], Any]
"""Function that reads a field's value from a message."""
Set = Callable[[Any, Any], None]
"""Function that writes a value other than None into a message."""

_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
}
_JSON = {f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue")}
_TIMESTAMP = "google.protobuf.Timestamp"
_DURATION = "google.protobuf.Duration"

_UNSIGNED_64 = (4, 6)
"""Numbers of uint64 and fixed64 in ``FieldDescriptorProto.Type``."""
_PARTS = ("seconds", "nanos")
_MICROSECOND = timedelta(microseconds=1)


def row_type_of(descriptor: Any) -> RowTypeInfo:
    """Row type of the messages."""
    names = [field.name for field in descriptor.fields]
    return Types.ROW_NAMED(names, list(map(_type_of, descriptor.fields)))


def _type_of(field: Any) -> TypeInformation[Any]:
    if _is_map(field):
        key, value = field.message_type.fields
        return Types.MAP(_single_type(key), _single_type(value))
    return Types.LIST(_single_type(field)) if field.is_repeated else _single_type(field)


def _single_type(field: Any) -> TypeInformation[Any]:
    kind = field.cpp_type
    if kind == field.CPPTYPE_MESSAGE:
        return _message_type(field.message_type)
    if field.type == field.TYPE_BYTES:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return {
        field.CPPTYPE_BOOL: Types.BOOLEAN,
        field.CPPTYPE_DOUBLE: Types.DOUBLE,
        field.CPPTYPE_ENUM: Types.STRING,
        field.CPPTYPE_FLOAT: Types.FLOAT,
        field.CPPTYPE_INT32: Types.INT,
        field.CPPTYPE_INT64: Types.LONG,
        field.CPPTYPE_STRING: Types.STRING,
        field.CPPTYPE_UINT32: Types.LONG,
        field.CPPTYPE_UINT64: Types.BIG_INT,
    }[kind]()


def _message_type(descriptor: Any) -> TypeInformation[Any]:
    name = descriptor.full_name
    if name in _WRAPPERS:
        return _single_type(descriptor.fields[0])
    if name in _JSON:
        return Types.STRING()
    if name == _TIMESTAMP:
        return Types.INSTANT()
    return Types.of(timedelta) if name == _DURATION else row_type_of(descriptor)


def _is_map(field: Any) -> bool:
    message = field.message_type
    return bool(field.is_repeated and message is not None and message.GetOptions().map_entry)


# -- from messages -------------------------------------------------------------------------


def getter_of(field: Any, defaults: bool = False) -> Get:
    """Function that reads a field's value from a message. If the field is not set, the value is
    None, or with ``defaults`` the field's default."""
    name, get = field.name, attrgetter(field.name)
    if _is_map(field):
        key, value = (_reader_of(part, defaults) or _same for part in field.message_type.fields)
        return lambda message: {key(k): value(v) for k, v in get(message).items()}
    convert = _reader_of(field, defaults)
    if field.is_repeated:
        if convert is None:
            return lambda message: list(get(message))
        return lambda message: list(map(convert, get(message)))
    if defaults or not field.has_presence:
        return get if convert is None else lambda message: convert(get(message))
    if convert is None:
        return lambda message: get(message) if message.HasField(name) else None
    return lambda message: convert(get(message)) if message.HasField(name) else None


def _same(value: Any) -> Any:
    return value


def _reader_of(field: Any, defaults: bool) -> Convert | None:
    """Conversion of a single value of the field; None if the value is used unchanged."""
    if field.cpp_type == field.CPPTYPE_ENUM:
        names = {value.number: value.name for value in field.enum_type.values}
        # a number that a later version of the enum names
        return lambda number: names.get(number) or str(number)
    if field.cpp_type != field.CPPTYPE_MESSAGE:
        return None
    descriptor = field.message_type
    name = descriptor.full_name
    if name in _WRAPPERS:
        return attrgetter("value")
    if name in _JSON:
        return _json_text
    if name == _TIMESTAMP:
        return _instant
    if name == _DURATION:
        return lambda value: timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return row_reader(descriptor, defaults)


def row_reader(descriptor: Any, defaults: bool = False) -> Convert:
    """Conversion of a message to its row."""
    names = tuple(field.name for field in descriptor.fields)
    getters = [getter_of(field, defaults) for field in descriptor.fields]
    return lambda message: named_row(names, [get(message) for get in getters])


def _instant(value: Any) -> Instant:
    return Instant(value.seconds, value.nanos)


def _json_text(value: Any) -> str:
    from google.protobuf.json_format import MessageToDict

    return json.dumps(MessageToDict(value), ensure_ascii=False, separators=(",", ":"))


# -- into messages -------------------------------------------------------------------------


def setter_of(field: Any, null_text: str | None = None) -> Set:
    """Function that sets a field's value in a message.

    Args:
        null_text: text that is written for None in lists and maps of texts, because Protobuf
            has no null there; other types get their default. None if None is refused.
    """
    name, get = field.name, attrgetter(field.name)
    if _is_map(field):
        return _map_setter(field, null_text)
    fill = _filler_of(field, null_text)
    if fill is not None:
        if field.is_repeated:
            fill_item = _filling(fill, null_text)

            def add(message: Any, values: Any) -> None:
                items = get(message)
                for value in values:
                    fill_item(items.add(), value)

            return add

        def fill_field(message: Any, value: Any) -> None:
            part = get(message)
            part.SetInParent()
            fill(part, value)

        return fill_field
    if field.is_repeated:
        convert_item = _item_writer(field, null_text)
        return lambda message, values: get(message).extend(map(convert_item, values))
    convert = _writer_of(field)
    return lambda message, value: setattr(message, name, convert(value))


def _map_setter(field: Any, null_text: str | None) -> Set:
    get = attrgetter(field.name)
    key_field, value_field = field.message_type.fields
    key, fill = _item_writer(key_field, null_text), _filler_of(value_field, null_text)
    if fill is not None:
        fill_value = _filling(fill, null_text)

        def fill_entries(message: Any, entries: Any) -> None:
            message_entries = get(message)
            for name, value in dict(entries).items():
                fill_value(message_entries[key(name)], value)

        return fill_entries
    convert = _item_writer(value_field, null_text)

    def set_entries(message: Any, entries: Any) -> None:
        message_entries = get(message)
        for name, value in dict(entries).items():
            message_entries[key(name)] = convert(value)

    return set_entries


def _item_writer(field: Any, null_text: str | None) -> Convert:
    """Conversion to a value in a list or map."""
    convert = _writer_of(field)
    if null_text is None:
        return lambda value: convert(_required(value))
    absent = _value_of_null(field, null_text)
    return lambda value: absent if value is None else convert(value)


def _filling(fill: Set, null_text: str | None) -> Set:
    """Function that fills a message in a list or map. For None, if None is allowed there, it
    leaves the message empty."""
    if null_text is None:
        return lambda message, value: fill(message, _required(value))

    def fill_if(message: Any, value: Any) -> None:
        if value is not None:
            fill(message, value)

    return fill_if


def _value_of_null(field: Any, null_text: str) -> Any:
    if field.type == field.TYPE_BYTES:
        return b""
    if field.cpp_type == field.CPPTYPE_STRING:
        return null_text
    if field.cpp_type == field.CPPTYPE_ENUM:
        return field.enum_type.values[0].number
    return False if field.cpp_type == field.CPPTYPE_BOOL else 0


def _required(value: Any) -> Any:
    if value is None:
        raise ValueError("None in a list or a map, for which Protobuf has no value")
    return value


def _writer_of(field: Any) -> Convert:
    """Conversion to a single value of the field; the library checks types and ranges."""
    if field.cpp_type == field.CPPTYPE_ENUM:
        numbers = {value.name: value.number for value in field.enum_type.values}

        def number_of(value: Any) -> int:
            if isinstance(value, str):
                number = numbers.get(value)
                return int(value) if number is None else number
            return index(value)

        return number_of
    if field.cpp_type == field.CPPTYPE_FLOAT:
        return single_precision
    if field.cpp_type == field.CPPTYPE_DOUBLE:
        return float
    return _same


def _filler_of(field: Any, null_text: str | None) -> Set | None:
    """Function that fills the field's message; None if the field is not a message."""
    if field.cpp_type != field.CPPTYPE_MESSAGE:
        return None
    descriptor = field.message_type
    name = descriptor.full_name
    if name in _WRAPPERS:
        return setter_of(descriptor.fields[0], null_text)
    if name in _JSON:
        return _parse_json
    if name == _TIMESTAMP:
        return _fill_timestamp
    return _fill_duration if name == _DURATION else row_writer(descriptor, null_text)


def row_writer(descriptor: Any, null_text: str | None = None) -> Set:
    """Function that fills a message from a row, tuple, dict or dataclass instance."""
    names = tuple(field.name for field in descriptor.fields)
    setters = [setter_of(field, null_text) for field in descriptor.fields]

    def fill(message: Any, record: Any) -> None:
        values = field_values(names, record)
        for name, put, value in zip(names, setters, values, strict=True):
            if value is not None:
                try:
                    put(message, value)
                except (TypeError, ValueError, AttributeError, OverflowError) as error:
                    raise ValueError(f"field {name!r}: {error}") from None

    return fill


def _fill_timestamp(message: Any, value: Any) -> None:
    if isinstance(value, Instant):
        message.seconds, message.nanos = value.seconds, value.nanos
    elif isinstance(value, datetime):
        message.FromDatetime(value)
    else:  # a row of both
        message.seconds, message.nanos = field_values(_PARTS, value)


def _fill_duration(message: Any, value: Any) -> None:
    if not isinstance(value, timedelta):
        message.seconds, message.nanos = field_values(_PARTS, value)
        return
    seconds, micros = divmod(value // _MICROSECOND, 1_000_000)
    if seconds < 0 and micros:  # both parts have the same sign there
        seconds, micros = seconds + 1, micros - 1_000_000
    message.seconds, message.nanos = seconds, micros * 1000


def _parse_json(message: Any, value: str) -> None:
    from google.protobuf.json_format import Parse

    Parse(value, message)
