"""Conversion of values to plain data and back, by a declared type.

Plain data is what marshal keeps as it is. Types are checked where values enter state. What was
stored before its type was declared, or is behind the elements that are looked at, may still be of
another class: it is kept as it is, set apart by a wrapping that plain data of the type never has.
None needs no conversion anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, singledispatch
from operator import attrgetter
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.class_types import ClassTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.row import Row, named_row
from millrace.common.types.serialized_type import SerializedTypeInfo
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.value_types import ConvertedTypeInfo

__all__ = ["Convert", "chained", "from_plain", "to_plain"]

Convert = Callable[[Any], Any]

Fields = tuple[tuple[int, Convert], ...]
"""Position and converter of the fields that need one."""


@singledispatch
def to_plain(type_info: TypeInformation[Any]) -> Convert | None:
    """Function that converts values of a type to plain data; None if they are plain already, or if
    their type is unknown.
    """
    return None


@singledispatch
def from_plain(type_info: TypeInformation[Any]) -> Convert | None:
    """The inverse of `to_plain`."""
    return None


def chained(first: Convert | None, second: Convert | None) -> Convert | None:
    """One converter that applies two converters in order."""
    if first is None or second is None:
        return first or second
    return lambda value: second(first(value))


def _fields(converters: Iterable[Convert | None]) -> Fields:
    return tuple((index, c) for index, c in enumerate(converters) if c is not None)


def _converted(values: Iterable[Any], fields: Fields) -> list[Any]:
    changed = list(values)
    for index, convert in fields:
        if changed[index] is not None:
            changed[index] = convert(changed[index])
    return changed


def _apart(value: Any) -> Any:
    """Wrapper of a value of another type: a frozenset if the value is hashable, so that it can
    be a key, else a list. None stays None."""
    if value is None:
        return None
    try:
        return frozenset((value,))
    except TypeError:
        return [value]


_WRAPPINGS = frozenset({list, frozenset, type(None)})


def _of_apart(plain: Any) -> Any:
    return None if plain is None else next(iter(plain))


@to_plain.register
def _external_out(type_info: ExternalTypeInfo) -> Convert | None:
    return to_plain(type_info.type_info)


@from_plain.register
def _external_in(type_info: ExternalTypeInfo) -> Convert | None:
    return from_plain(type_info.type_info)


@to_plain.register
def _single_out(type_info: ConvertedTypeInfo) -> Convert:
    accepts, encode = type_info.accepts, type_info.encode

    def out(value: Any) -> Any:
        if not accepts(value):
            return _apart(value)
        try:
            return encode(value)
        except SerializationError:  # a time zone of a class of its own
            return _apart(value)

    return out


@from_plain.register
def _single_in(type_info: ConvertedTypeInfo) -> Convert:
    decode = type_info.decode
    return lambda plain: _of_apart(plain) if type(plain) in _WRAPPINGS else decode(plain)


@to_plain.register
def _list_out(type_info: ListTypeInfo) -> Convert | None:
    element = to_plain(type_info.element_type)
    if element is None:
        return None
    return lambda value: (
        [element(item) for item in value]
        if type(value) is list
        else None
        if value is None
        else (value,)
    )


@from_plain.register
def _list_in(type_info: ListTypeInfo) -> Convert | None:
    element = from_plain(type_info.element_type)
    if element is None:
        return None
    return lambda plain: (
        [element(item) for item in plain] if type(plain) is list else _of_apart(plain)
    )


@to_plain.register
def _map_out(type_info: MapTypeInfo) -> Convert | None:
    return _map(to_plain(type_info.key_type), to_plain(type_info.value_type), _apart)


@from_plain.register
def _map_in(type_info: MapTypeInfo) -> Convert | None:
    return _map(from_plain(type_info.key_type), from_plain(type_info.value_type), _of_apart)


def _map(key: Convert | None, value: Convert | None, other: Convert) -> Convert | None:
    if key is None and value is None:
        return None

    def convert(entries: Any) -> Any:
        if type(entries) is not dict:
            return other(entries)
        keys = entries if key is None else map(key, entries)
        values = entries.values() if value is None else map(value, entries.values())
        return dict(zip(keys, values, strict=True))

    return convert


@to_plain.register
def _serialized_out(type_info: SerializedTypeInfo) -> Convert:
    encode = type_info.encode
    return lambda value: None if value is None else encode(value)


@from_plain.register
def _serialized_in(type_info: SerializedTypeInfo) -> Convert:
    decode = type_info.decode
    return lambda plain: None if plain is None else decode(plain)


def _apart_from_sets(value: Any) -> Any:
    return None if value is None else (value,)


@to_plain.register
def _set_out(type_info: SetTypeInfo) -> Convert | None:
    element, kind = to_plain(type_info.element_type), type_info.kind
    if element is None:
        return None
    other = _apart_from_sets if type_info.frozen else _apart
    return lambda value: kind(map(element, value)) if type(value) is kind else other(value)


@from_plain.register
def _set_in(type_info: SetTypeInfo) -> Convert | None:
    element, kind = from_plain(type_info.element_type), type_info.kind
    if element is None:
        return None
    return lambda plain: kind(map(element, plain)) if type(plain) is kind else _of_apart(plain)


@to_plain.register
def _variadic_out(type_info: VariadicTupleTypeInfo) -> Convert | None:
    element = to_plain(type_info.element_type)
    if element is None:
        return None
    return lambda value: tuple(map(element, value)) if type(value) is tuple else _apart(value)


@from_plain.register
def _variadic_in(type_info: VariadicTupleTypeInfo) -> Convert | None:
    element = from_plain(type_info.element_type)
    if element is None:
        return None
    return lambda plain: tuple(map(element, plain)) if type(plain) is tuple else _of_apart(plain)


@to_plain.register
def _tuple_out(type_info: TupleTypeInfo) -> Convert | None:
    fields, width = _fields(map(to_plain, type_info.types)), len(type_info.types)
    if not fields:
        return None

    def out(value: Any) -> Any:
        if type(value) is not tuple or len(value) != width:
            return _apart(value)
        return tuple(_converted(value, fields))

    return out


@from_plain.register
def _tuple_in(type_info: TupleTypeInfo) -> Convert | None:
    fields = _fields(map(from_plain, type_info.types))
    if not fields:
        return None

    def into(plain: Any) -> Any:
        return tuple(_converted(plain, fields)) if type(plain) is tuple else _of_apart(plain)

    return into


@to_plain.register
def _row_out(type_info: RowTypeInfo) -> Convert:
    fields, names = _fields(map(to_plain, type_info.types)), type_info.field_names
    width = len(type_info.types)

    def out(value: Any) -> Any:
        if type(value) is not Row or value._fields != names or len(value._values) != width:
            return _apart(value)
        return (value._row_kind.value, *_converted(value._values, fields))

    return out


@from_plain.register
def _row_in(type_info: RowTypeInfo) -> Convert:
    fields, names = _fields(map(from_plain, type_info.types)), type_info.field_names

    def into(plain: Any) -> Any:
        if type(plain) is not tuple:
            return _of_apart(plain)
        return named_row(names, _converted(plain[1:], fields), plain[0])

    return into


@to_plain.register
def _class_out(type_info: ClassTypeInfo) -> Convert:
    cls, fields = type_info.cls, _fields(map(to_plain, type_info.types))
    values: Convert = tuple if type_info.is_named_tuple else _getter(type_info.field_names)

    has_more = _more_than_fields(type_info)

    def out(value: Any) -> Any:
        if type(value) is not cls or has_more(value):
            return _apart(value)
        return tuple(_converted(values(value), fields)) if fields else values(value)

    return out


def _more_than_fields(type_info: ClassTypeInfo) -> Callable[[Any], bool]:
    """Predicate for values with attributes that would be lost; cached properties do not count."""
    cls, width = type_info.cls, len(type_info.field_names)
    if not cls.__dictoffset__:
        return lambda value: False
    cached = (n for base in cls.__mro__ for n, v in vars(base).items() if _is_cached(v))
    known = frozenset((*type_info.field_names, *cached))
    least = 0 if type_info.is_named_tuple or _has_slots(cls) else width

    def has_more(value: Any) -> bool:
        attributes = value.__dict__
        return len(attributes) > least and not attributes.keys() <= known

    return has_more


def _is_cached(attribute: Any) -> bool:
    return isinstance(attribute, cached_property)


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Function that reads all fields in one call; `attrgetter` gives a tuple only for two fields
    and more."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


@from_plain.register
def _class_in(type_info: ClassTypeInfo) -> Convert:
    make, fields = _maker(type_info), _fields(map(from_plain, type_info.types))

    def into(plain: Any) -> Any:
        if type(plain) is not tuple:
            return _of_apart(plain)
        return make(_converted(plain, fields) if fields else plain)

    return into


def _maker(type_info: ClassTypeInfo) -> Convert:
    cls, names, width = type_info.cls, type_info.field_names, len(type_info.field_names)
    if type_info.is_named_tuple or _has_slots(cls):
        return type_info.make

    def make(values: Sequence[Any]) -> Any:
        if len(values) != width:
            raise SerializationError(f"{len(values)} values for the fields of {type_info.name}")
        made: Any = object.__new__(cls)
        made.__dict__.update(zip(names, values, strict=True))
        return made

    return make


def _has_slots(cls: type) -> bool:
    return any("__slots__" in vars(base) for base in cls.__mro__[:-1])
