"""Values of an Avro schema in Parquet's form: a union of several types is a group with a member
per type, and a field of type null is left out. Parquet's library for Avro:
``AvroSchemaConverter``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
from millrace.formats.avro.avro_type import AvroType
from millrace.formats.avro.row_types import type_info_of
from millrace.formats.records import field_values

__all__ = ["read_conversion", "stored_row_type", "write_conversion"]

Convert = Callable[[Any], Any]

_CLASSES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float,),
    "double": (float,),
    "string": (str,),
    "enum": (str,),
    "bytes": (bytes, bytearray),
    "fixed": (bytes, bytearray),
    "array": (list, tuple),
    "map": (Mapping,),
    "date": (dt.date,),
    "time-millis": (dt.time,),
    "time-micros": (dt.time,),
    "timestamp-millis": (dt.datetime,),
    "timestamp-micros": (dt.datetime,),
    "local-timestamp-millis": (dt.datetime,),
    "local-timestamp-micros": (dt.datetime,),
    "decimal": (Decimal,),
    "uuid": (str,),
}


def stored_row_type(kind: AvroType) -> RowTypeInfo:
    """Row type of a record's columns, without fields of type null."""
    fields = [entry for entry in kind.fields if entry.type.kind != "null"]
    return Types.ROW_NAMED([e.name for e in fields], [_stored(e.type) for e in fields])


def _stored(kind: AvroType) -> TypeInformation[Any]:
    if kind.kind == "record":
        return stored_row_type(kind)
    if kind.kind == "union":
        return Types.ROW_NAMED(_members(kind), [_stored(branch) for branch in kind.branches])
    if kind.kind == "array" and kind.element is not None:
        return Types.LIST(_stored(kind.element))
    if kind.kind == "map" and kind.element is not None:
        return Types.MAP(Types.STRING(), _stored(kind.element))
    return type_info_of(kind)


def _members(kind: AvroType) -> list[str]:
    return [f"member{number}" for number in range(len(kind.branches))]


def write_conversion(kind: AvroType) -> Convert | None:
    """Conversion of a value to its stored form; None if they are equal."""
    return _conversion(kind, _written_record, _written_union)


def read_conversion(kind: AvroType) -> Convert | None:
    """Conversion of the stored form to the value; None if they are equal."""
    return _conversion(kind, _read_record, _read_union)


def _conversion(
    kind: AvroType,
    of_record: Callable[[AvroType], Convert | None],
    of_union: Callable[[AvroType], Convert],
) -> Convert | None:
    made: Convert | None = None
    if kind.kind == "record":
        made = of_record(kind)
    elif kind.kind == "union":
        made = of_union(kind)
    elif kind.element is not None:
        element = _conversion(kind.element, of_record, of_union)
        if kind.kind == "map":
            convert_value = element or (lambda value: value)
            # a program may give a map as pairs
            made = lambda entries: {k: convert_value(v) for k, v in dict(entries).items()}  # noqa: E731
        elif element is not None:
            convert = element
            made = lambda items: list(map(convert, items))  # noqa: E731
    if made is None:
        return None
    conversion = made
    return lambda value: None if value is None else conversion(value)


def _written_record(kind: AvroType) -> Convert | None:
    names = tuple(entry.name for entry in kind.fields)
    stored = {e.name: write_conversion(e.type) for e in kind.fields if e.type.kind != "null"}
    if len(stored) == len(names) and not any(stored.values()):
        return None

    def convert(record: Any) -> dict[str, Any]:
        values = zip(names, field_values(names, record), strict=True)
        return {name: _converted(stored[name], value) for name, value in values if name in stored}

    return convert


def _read_record(kind: AvroType) -> Convert | None:
    made = {entry.name: read_conversion(entry.type) for entry in kind.fields}
    if not any(made.values()) and all(entry.type.kind != "null" for entry in kind.fields):
        return None
    return lambda record: {
        name: _converted(convert, record.get(name)) for name, convert in made.items()
    }


def _converted(convert: Convert | None, value: Any) -> Any:
    return value if convert is None else convert(value)


def _written_union(kind: AvroType) -> Convert:
    members = _members(kind)
    made = [write_conversion(branch) for branch in kind.branches]

    def convert(value: Any) -> dict[str, Any]:
        for member, branch, conversion in zip(members, kind.branches, made, strict=True):
            if _takes(branch, value):
                return {**dict.fromkeys(members), member: _converted(conversion, value)}
        names = ", ".join(branch.logical or branch.kind for branch in kind.branches)
        raise ValueError(f"{value!r:.200} is of none of the union's types: {names}")

    return convert


def _takes(branch: AvroType, value: Any) -> bool:
    name = branch.logical or branch.kind
    if name == "record":
        fields = {entry.name for entry in branch.fields}
        return not isinstance(value, Mapping) or fields == set(value)
    if isinstance(value, bool):
        return name == "boolean"
    if name == "int" and isinstance(value, int):
        return -(2**31) <= value < 2**31
    if name == "date" and isinstance(value, dt.datetime):
        return False
    return isinstance(value, _CLASSES[name])


def _read_union(kind: AvroType) -> Convert:
    members = _members(kind)
    made = [read_conversion(branch) for branch in kind.branches]

    def convert(stored: Any) -> Any:
        for member, conversion in zip(members, made, strict=True):
            if stored[member] is not None:
                return _converted(conversion, stored[member])
        return None

    return convert
