"""Permitted changes of a type between two runs of a job (Flink docs, "State Schema Evolution").

Plain data of the written type becomes plain data of the present type. Records may gain fields with
defaults, lose fields and reorder them, and numbers may become wider, at any depth. Any other change
is refused with the name of the field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from millrace.common.types.class_types import ClassTypeInfo, EnumTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, UnionTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ARRAY_TYPES,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.bridged import bridge_of, inner, parts_of
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.plain_data import Convert, from_plain, to_plain
from millrace.common.types.serialized_type import SerializedTypeInfo
from millrace.common.types.standard_types import ZonedTimeTypeInfo
from millrace.common.types.type_information import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from millrace.common.types.value_types import BigDecTypeInfo
from millrace.state.serialization.schema import ENUM, VERSION, Schema, has_class, shown, type_of

__all__ = ["TypeChangeError", "key_migration", "migration"]

INTEGERS = (
    logical.TinyIntType(),
    logical.SmallIntType(),
    logical.IntType(),
    logical.BigIntType(),
    logical.DecimalType(38, 0),
)
FLOATS = (logical.FloatType(), logical.DoubleType())
SAME_FORM: set[tuple[LogicalType, LogicalType]] = {
    (logical.CharType(1), logical.VarCharType()),
    (logical.TimestampType(6), logical.ZonedTimestampType(6)),
    (logical.TimeType(6), ZonedTimeTypeInfo().bridged_type),
}
UNTYPED = PickledBytesTypeInfo().bridged_type


class TypeChangeError(Exception):
    """The written type cannot become the declared one; the message begins with the field."""


def migration(written: Schema, present: TypeInformation[Any], at: str = "") -> Convert | None:
    """Conversion from plain data of the written type to plain data of the present one; None if the
    data stays as it is.

    Raises:
        TypeChangeError: that change is not possible. (The function may raise it for a value.)
    """
    return _migration(parse_type(written), present, at)


def _migration(written: LogicalType, present: TypeInformation[Any], at: str) -> Convert | None:
    now, written = present.bridged_type, written.with_nullable(True)
    if written in (now, logical.NullType()):
        return None
    if written == UNTYPED:
        return _declared(present, at)
    if now == UNTYPED:
        return _undeclared(written, at)
    bridge = bridge_of(written)
    known = "enum" if bridge.startswith(ENUM) else bridge or type(written)
    change: _Change = _CHANGES.get(known, _single)
    allowed_change = change(written, present, at)
    if allowed_change is None:
        raise TypeChangeError(f"{_subject(at)} was {shown(str(written))} and is {present.name} now")
    return allowed_change[0]


def key_migration(written: Schema, present: TypeInformation[Any], at: str) -> None:
    """Check that keys stay equal when their type changes, because the key determines an entry's
    subtask and place.

    Raises:
        TypeChangeError: the type changed by more than the width of whole numbers.
    """
    if not _same_keys(parse_type(written), present):
        raise TypeChangeError(
            f"{at} was {shown(written)} and is {present.name} now, but keys cannot change their "
            "type"
        )


def _same_keys(written: LogicalType, present: TypeInformation[Any]) -> bool:
    if written == present.bridged_type:
        return True
    if isinstance(present, TupleTypeInfo) and _is_tuple(written):
        fields = inner(written).children()
        pairs = zip(fields, present.types, strict=False)
        return len(fields) == len(present.types) and all(_same_keys(*pair) for pair in pairs)
    return isinstance(present, BasicTypeInfo) and _widens(written, present.bridged_type)


def _is_tuple(written: LogicalType) -> bool:
    """Whether the written type is a tuple of fields."""
    return bridge_of(written) == "tuple" and isinstance(inner(written), logical.RowType)


def _widens(written: LogicalType, now: LogicalType) -> bool:
    """Whether the new type is a wider type of the same family, so that values stay the same."""
    if (written, now) in SAME_FORM:
        return True
    for family in (INTEGERS, FLOATS):
        if written in family and now in family:
            return family.index(written) < family.index(now)
    return False


_Found = tuple[Convert | None] | None
"""A result in a tuple, because the result None has a meaning of its own: no conversion is
needed."""
_Change = Callable[[Any, TypeInformation[Any], str], _Found]


def _single(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    now = present.bridged_type
    if _widens(written, now):
        return (None,)
    if written in INTEGERS and now in FLOATS:
        return (_each(_exactly_float(written, present, at)),)
    if written in INTEGERS and isinstance(present, BigDecTypeInfo):
        return (_each(lambda value: str(value) if isinstance(value, int) else value),)
    if isinstance(present, UnionTypeInfo):
        return (None,) if written in (part.type for part in parts_of(now)) else None
    return None


def _exactly_float(written: LogicalType, present: TypeInformation[Any], at: str) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, int):
            return value
        try:
            wide = float(value)
        except OverflowError:
            wide = math.inf
        if wide != value:
            raise TypeChangeError(
                f"{_subject(at)} was {shown(str(written))} and is {present.name} now, which cannot "
                f"hold a number of {value.bit_length()} bits exactly that it has; declare BIG_DEC"
            )
        return wide

    return convert


def _each(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _declared(present: TypeInformation[Any], at: str) -> Convert | None:
    """Conversion for state that had no type and gets one: its values must have this type."""
    out = to_plain(present)
    accepts = present.accepts

    def checked(value: Any) -> Any:
        if value is not None and not accepts(value):
            raise TypeChangeError(
                f"{_subject(at)} had no type and holds a {type(value).__qualname__}, which is not "
                f"the declared {present.name}"
            )
        return value if out is None else out(value)

    return checked


def _undeclared(written: LogicalType, at: str) -> Convert | None:
    """Conversion for state that had a type and has none now. Only values of builtin classes can
    be restored."""
    schema = str(written)
    if has_class(schema):
        raise TypeChangeError(
            f"{_subject(at)} was {shown(schema)} and has no type now; declare it again"
        )
    return from_plain(type_of(written))


def _list(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    bridge = bridge_of(written)
    if not isinstance(present, ListTypeInfo) or bridge_of(present.bridged_type) != bridge:
        return None
    parts = (inner(written) if bridge else written).children()
    if not parts:  # of bytes
        return None
    element = _migration(parts[0], present.element_type, f"{at}[]")
    return (element and _whole(list, lambda plain: [element(item) for item in plain]),)


def _set(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, SetTypeInfo) or present.kind.__name__ != bridge_of(written):
        return None
    (part,) = inner(written).children()
    element, kind = _migration(part, present.element_type, f"{at}[]"), present.kind
    return (element and _whole(kind, lambda plain: kind(map(element, plain))),)


def _map(written: logical.MapType, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, MapTypeInfo):
        return None
    key_migration(str(written.key_type), present.key_type, f"the key of {_subject(at)}")
    value = _migration(written.value_type, present.value_type, f"{at}[]")
    return (value and _whole(dict, lambda plain: {k: value(v) for k, v in plain.items()}),)


def _tuple(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    if not _is_tuple(written):
        return _variadic(written, present, at)
    parts = inner(written).children()
    if not isinstance(present, TupleTypeInfo) or len(present.types) != len(parts):
        return None
    pairs = enumerate(zip(parts, present.types, strict=True))
    fields = [_migration(old, new, f"{at}[{index}]") for index, (old, new) in pairs]
    if not any(fields):
        return (None,)
    moves = [_moved(index, field) for index, field in enumerate(fields)]
    return (_whole(tuple, lambda plain: tuple([move(plain) for move in moves])),)


def _variadic(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, VariadicTupleTypeInfo):
        return None
    (part,) = inner(written).children()
    element = _migration(part, present.element_type, f"{at}[]")
    return (element and _whole(tuple, lambda plain: tuple(map(element, plain))),)


def _whole(kind: type, convert: Convert) -> Convert:
    """Conversion that applies ``convert`` to values of exactly the class ``kind``. Other values
    stay unchanged, because they were not of the declared type."""
    return lambda plain: convert(plain) if type(plain) is kind else plain


def _moved(place: int, convert: Convert | None) -> Convert:
    if convert is None:
        return lambda plain: plain[place]
    return lambda plain: convert(plain[place])


def _record(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, (RowTypeInfo, ClassTypeInfo)):
        return None
    row = _row_of(written)
    first = 1 if _has_kind(written) else 0
    old = {field.name: (first + index, field.type) for index, field in enumerate(row)}
    moves: list[Convert] = []
    if isinstance(present, RowTypeInfo):
        moves.append(_moved(0, None) if first else lambda plain: 0)
    defaults = present.defaults() if isinstance(present, ClassTypeInfo) else None
    names = _row_of(present.bridged_type).names
    for name, field in zip(names, present.types, strict=True):
        path = f"{at}.{name}" if at else name
        if name in old:
            place, kind = old[name]
            moves.append(_moved(place, _migration(kind, field, path)))
        else:
            moves.append(_default(name, field, defaults, path))
    if row.names == names and _is_same(written, present):
        return (None,)
    return (_whole(tuple, lambda plain: tuple([move(plain) for move in moves])),)


def _row_of(kind: LogicalType) -> logical.RowType:
    row = inner(kind) if bridge_of(kind) else kind
    assert isinstance(row, logical.RowType)
    return row


def _has_kind(kind: LogicalType) -> bool:
    """Whether the first field of a value's plain data is the row kind."""
    return bool(bridge_of(kind)) or not isinstance(kind, logical.StructuredType)


def _is_same(written: LogicalType, present: RowTypeInfo | ClassTypeInfo) -> bool:
    """Whether the fields have the same order and the same encoding in both types."""
    if _has_kind(written) != isinstance(present, RowTypeInfo):
        return False
    pairs = zip(_row_of(written).children(), present.types, strict=True)
    return all(_migration(old, new, "") is None for old, new in pairs)


def _default(
    name: str,
    field: TypeInformation[Any],
    defaults: Mapping[str, Callable[[], Any]] | None,
    path: str,
) -> Convert:
    """Function that makes the default of an added field: None in rows, the class's own default
    in classes."""
    if defaults is None:
        return lambda plain: None
    make = defaults.get(name)
    if make is None:
        raise TypeChangeError(f"field '{path}' is new and has no default; give it one")
    out = to_plain(field)
    return lambda plain: make() if out is None else out(make())


def _enum(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    if present.bridged_type == logical.VarCharType():
        return (None,)
    if not isinstance(present, EnumTypeInfo):
        return None
    gone = {part.name for part in parts_of(written)} - set(present.cls.__members__)
    if not gone:
        return (None,)

    def checked(plain: Any) -> Any:
        if type(plain) is str and plain in gone:
            raise TypeChangeError(
                f"{_subject(at)} contains '{plain}', which {present.name} no longer has"
            )
        return plain

    return (checked,)


def _union(written: LogicalType, present: TypeInformation[Any], at: str) -> _Found:
    members = {part.type for part in parts_of(written)}
    is_wider = isinstance(present, UnionTypeInfo) and members <= {
        part.type for part in parts_of(present.bridged_type)
    }
    return (None,) if is_wider else None


def _serialized(written: logical.RawType, present: TypeInformation[Any], at: str) -> _Found:
    if present.bridged_type == logical.VarBinaryType():
        return (None,)
    if not isinstance(present, SerializedTypeInfo) or present.label != written.class_name:
        return None
    version = int(written.serializer.removeprefix(VERSION))
    if version > present.version:
        raise TypeChangeError(
            f"{_subject(at)} was written by version {version} of {present.label}, but this "
            f"is version {present.version}"
        )
    return (lambda plain: present.migrated(plain, version),)


_CHANGES: dict[str | type, _Change] = {
    logical.ArrayType: _list,
    **dict.fromkeys(ARRAY_TYPES, _list),
    "set": _set,
    "frozenset": _set,
    "tuple": _tuple,
    logical.MapType: _map,
    "enum": _enum,
    "union": _union,
    logical.RawType: _serialized,
    logical.RowType: _record,
    "Row": _record,
    logical.StructuredType: _record,
}


def _subject(at: str) -> str:
    return f"field '{at}'" if at else "its type"
