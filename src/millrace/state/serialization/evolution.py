"""How a type may change between two runs of a job (Flink docs, "State Schema Evolution").

Plain data that was written with one type becomes plain data of another: records may gain fields
that have defaults, lose fields and have them in another order; numbers may become wider; all that
at any depth. What else changed is refused with the name of the field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from millrace.common.types.class_types import ClassTypeInfo, EnumTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, UnionTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.plain_data import Convert, from_plain, to_plain
from millrace.common.types.serialized_type import SerializedTypeInfo
from millrace.common.types.type_information import BasicTypeInfo, Schema, TypeInformation
from millrace.state.serialization.schema import has_class, shown, type_of_schema

__all__ = ["TypeChangeError", "key_migration", "migration"]

INTEGERS = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
FLOATS = ("FLOAT", "DOUBLE")
SAME_FORM = {("CHAR", "STRING"), ("SQL_TIMESTAMP", "TIMESTAMP"), ("SQL_TIME", "TIME")}
RECORDS = ("ROW", "DATACLASS", "NAMED_TUPLE")


class TypeChangeError(Exception):
    """What was written with one type cannot become another; the text begins with the field."""


def migration(written: Schema, present: TypeInformation[Any], at: str = "") -> Convert | None:
    """From plain data of the written type to plain data of the present one; None: no change.

    Raises:
        TypeChangeError: that change is not possible. (The function may raise it for a value.)
    """
    now = present.schema()
    if written in (now, "NONE"):
        return None
    if written == "ANY":
        return _declared(present, at)
    if now == "ANY":
        return _undeclared(written, at)
    if isinstance(written, str):
        return _single(written, present, at)
    change = _CHANGES.get(written[0])
    found = change(written, present, at) if change is not None else None
    if found is None:
        raise _refused(written, present, at)
    return found[0]


def key_migration(written: Schema, present: TypeInformation[Any], at: str) -> None:
    """Keys must stay equal to what they were, for their place depends on them.

    Raises:
        TypeChangeError: the type changed by more than the width of whole numbers.
    """
    if not _same_keys(written, present):
        raise TypeChangeError(
            f"{at} was {shown(written)} and is {present.name} now, but keys cannot change their "
            "type"
        )


def _same_keys(written: Schema, present: TypeInformation[Any]) -> bool:
    if written == present.schema():
        return True
    if isinstance(present, TupleTypeInfo) and written[0] == "TUPLE":
        pairs = list(zip(written[1], present.types, strict=False))
        return len(written[1]) == len(present.types) and all(_same_keys(*pair) for pair in pairs)
    return isinstance(present, BasicTypeInfo) and _widens(written, present.label)


def _widens(written: Schema, label: str) -> bool:
    """Whether it is the same value in a wider type of the same family."""
    if (written, label) in SAME_FORM:
        return True
    for family in (INTEGERS, FLOATS):
        if written in family and label in family:
            return family.index(written) < family.index(label)
    return False


def _single(written: str, present: TypeInformation[Any], at: str) -> Convert | None:
    now = present.schema()
    if (written, now) in SAME_FORM or (isinstance(now, str) and _widens(written, now)):
        return None
    if written in INTEGERS and now in FLOATS:
        return _each(_exactly_float(written, present, at))
    if written in INTEGERS and now == "BIG_DEC":
        return _each(lambda value: str(value) if isinstance(value, int) else value)
    if isinstance(present, UnionTypeInfo) and written in now[1]:
        return None
    raise _refused(written, present, at)


def _exactly_float(written: str, present: TypeInformation[Any], at: str) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, int):
            return value
        try:
            wide = float(value)
        except OverflowError:
            wide = math.inf
        if wide != value:
            raise TypeChangeError(
                f"{_subject(at)} was {written} and is {present.name} now, which cannot hold a "
                f"number of {value.bit_length()} bits exactly that it has; declare BIG_DEC"
            )
        return wide

    return convert


def _each(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _declared(present: TypeInformation[Any], at: str) -> Convert | None:
    """State that had no type gets one: its values must be of it."""
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


def _undeclared(written: Schema, at: str) -> Convert | None:
    """State that had a type has none any more: values of builtin classes can be made still."""
    if has_class(written):
        raise TypeChangeError(
            f"{_subject(at)} was {shown(written)} and has no type now; declare it again"
        )
    return from_plain(type_of_schema(written))


_Found = tuple[Convert | None] | None
"""In a tuple, for None is a result of its own: nothing has to be done."""


def _list(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, ListTypeInfo) or present.schema()[:-1] != written[:-1]:
        return None
    element = migration(written[-1], present.element_type, f"{at}[]")
    return (element and _whole(list, lambda plain: [element(item) for item in plain]),)


def _set(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, SetTypeInfo) or present.schema()[0] != written[0]:
        return None
    element, kind = migration(written[1], present.element_type, f"{at}[]"), present.kind
    return (element and _whole(kind, lambda plain: kind(map(element, plain))),)


def _variadic(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, VariadicTupleTypeInfo):
        return None
    element = migration(written[1], present.element_type, f"{at}[]")
    return (element and _whole(tuple, lambda plain: tuple(map(element, plain))),)


def _map(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, MapTypeInfo):
        return None
    key_migration(written[1], present.key_type, f"the key of {_subject(at)}")
    value = migration(written[2], present.value_type, f"{at}[]")
    return (value and _whole(dict, lambda plain: {k: value(v) for k, v in plain.items()}),)


def _tuple(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, TupleTypeInfo) or len(present.types) != len(written[1]):
        return None
    pairs = enumerate(zip(written[1], present.types, strict=True))
    fields = [migration(old, new, f"{at}[{index}]") for index, (old, new) in pairs]
    if not any(fields):
        return (None,)
    moves = [_moved(index, field) for index, field in enumerate(fields)]
    return (_whole(tuple, lambda plain: tuple([move(plain) for move in moves])),)


def _whole(kind: type, convert: Convert) -> Convert:
    """Values that were not of the declared type were set apart, and stay so."""
    return lambda plain: convert(plain) if type(plain) is kind else plain


def _moved(place: int, convert: Convert | None) -> Convert:
    if convert is None:
        return lambda plain: plain[place]
    return lambda plain: convert(plain[place])


def _record(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if not isinstance(present, (RowTypeInfo, ClassTypeInfo)):
        return None
    old = _written_fields(written)
    moves: list[Convert] = []
    if isinstance(present, RowTypeInfo):
        moves.append(_moved(0, None) if written[0] == "ROW" else lambda plain: 0)
    defaults = present.defaults() if isinstance(present, ClassTypeInfo) else None
    for name, field in zip(_names(present), present.types, strict=True):
        path = f"{at}.{name}" if at else name
        if name in old:
            place, schema = old[name]
            moves.append(_moved(place, migration(schema, field, path)))
        else:
            moves.append(_default(name, field, defaults, path))
    if _written_names(written) == _names(present) and _is_same(written, present):
        return (None,)
    return (_whole(tuple, lambda plain: tuple([move(plain) for move in moves])),)


def _is_same(written: Schema, present: RowTypeInfo | ClassTypeInfo) -> bool:
    """Whether the fields are at the same places, in the same form."""
    if (written[0] == "ROW") != isinstance(present, RowTypeInfo):
        return False
    return all(
        migration(old, new) is None for old, new in zip(written[-1], present.types, strict=True)
    )


def _names(present: RowTypeInfo | ClassTypeInfo) -> tuple[str, ...]:
    if isinstance(present, RowTypeInfo):
        return tuple(present.get_field_names())
    return present.field_names


def _written_names(written: Schema) -> tuple[str, ...]:
    names, types = written[-2], written[-1]
    return tuple(names) if names is not None else tuple(f"f{i}" for i in range(len(types)))


def _written_fields(written: Schema) -> dict[str, tuple[int, Schema]]:
    """Place and type of each field."""
    first = 1 if written[0] == "ROW" else 0
    names = _written_names(written)
    return {
        name: (first + index, schema)
        for index, (name, schema) in enumerate(zip(names, written[-1], strict=True))
    }


def _default(
    name: str,
    field: TypeInformation[Any],
    defaults: Mapping[str, Callable[[], Any]] | None,
    path: str,
) -> Convert:
    """What a field that was not there begins with: None in rows, its default in classes."""
    if defaults is None:
        return lambda plain: None
    make = defaults.get(name)
    if make is None:
        raise TypeChangeError(f"field '{path}' is new and has no default; give it one")
    out = to_plain(field)
    return lambda plain: make() if out is None else out(make())


def _enum(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if present.schema() == "STRING":
        return (None,)
    if not isinstance(present, EnumTypeInfo):
        return None
    gone = set(written[2]) - set(present.cls.__members__)
    if not gone:
        return (None,)

    def checked(plain: Any) -> Any:
        if type(plain) is str and plain in gone:
            raise TypeChangeError(f"{_subject(at)} holds '{plain}', which {present.name} lost")
        return plain

    return (checked,)


def _union(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    is_wider = isinstance(present, UnionTypeInfo) and set(written[1]) <= set(present.schema()[1])
    return (None,) if is_wider else None


def _serialized(written: Schema, present: TypeInformation[Any], at: str) -> _Found:
    if present.schema() == "BYTES":
        return (None,)
    if not isinstance(present, SerializedTypeInfo) or present.label != written[1]:
        return None
    version: int = written[2]
    if version > present.version:
        raise TypeChangeError(
            f"{_subject(at)} was written by version {version} of {present.label}, this is version "
            f"{present.version}"
        )
    return (lambda plain: present.migrated(plain, version),)


_Change = Callable[[Schema, TypeInformation[Any], str], _Found]

_CHANGES: dict[str, _Change] = {
    "LIST": _list,
    "ARRAY": _list,
    "SET": _set,
    "FROZENSET": _set,
    "TUPLE_OF": _variadic,
    "TUPLE": _tuple,
    "MAP": _map,
    "ENUM": _enum,
    "UNION": _union,
    "SERIALIZED": _serialized,
    **dict.fromkeys(RECORDS, _record),
}


def _refused(written: Schema, present: TypeInformation[Any], at: str) -> TypeChangeError:
    return TypeChangeError(f"{_subject(at)} was {shown(written)} and is {present.name} now")


def _subject(at: str) -> str:
    return f"field '{at}'" if at else "its type"
