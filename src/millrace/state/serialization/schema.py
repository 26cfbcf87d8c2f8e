"""Schemas: types in plain data, as they are written next to state.

A schema is a name (``"LONG"``, ``"BIG_DEC"``) or a tuple of a kind and parts::

    ("LIST", element)  ("ARRAY", kind, element)  ("SET", element)  ("FROZENSET", element)
    ("MAP", key, value)  ("TUPLE", (field, ...))  ("TUPLE_OF", element)  ("UNION", (member, ...))
    ("ROW", names or None, (field, ...))
    ("DATACLASS", class, names, (field, ...))  ("NAMED_TUPLE", class, names, (field, ...))
    ("ENUM", class, names)  ("SERIALIZED", serializer, version)  ("OTHER", name)

``"ANY"`` is what has no type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.errors import CheckpointError
from millrace.common.types.collection_types import SetTypeInfo, UnionTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ARRAY_TYPES,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.standard_types import (
    DurationTypeInfo,
    FractionTypeInfo,
    UuidTypeInfo,
    ZonedTimestampTypeInfo,
    ZonedTimeTypeInfo,
)
from millrace.common.types.type_information import (
    PYTHON_TYPES,
    BasicTypeInfo,
    PickledBytesTypeInfo,
    Schema,
    TypeInformation,
)
from millrace.common.types.value_types import (
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)

__all__ = ["ANY", "has_class", "shown", "type_of_schema"]

ANY: Schema = "ANY"

_CLASSES = frozenset({"DATACLASS", "NAMED_TUPLE", "ENUM", "SERIALIZED"})

_SINGLE: dict[str, TypeInformation[Any]] = {
    info.name: info
    for info in (
        *map(BasicTypeInfo, PYTHON_TYPES),
        BigDecTypeInfo(),
        DateTypeInfo(),
        DurationTypeInfo(),
        FractionTypeInfo(),
        InstantTypeInfo(),
        TimestampTypeInfo(),
        TimeTypeInfo(),
        UuidTypeInfo(),
        ZonedTimeTypeInfo(),
        ZonedTimestampTypeInfo(),
    )
}


def type_of_schema(schema: Schema) -> TypeInformation[Any]:
    """The type that a schema describes, as far as it is known without the program: dataclasses
    and named tuples are rows, enums are strings, and what a serializer wrote is bytes.

    Raises:
        CheckpointError: it is of a making that is not known here.
    """
    if isinstance(schema, str):
        return _SINGLE.get(schema, PickledBytesTypeInfo())
    make = _MADE.get(schema[0])
    if make is None:
        raise CheckpointError(f"the checkpoint has state of an unknown type {shown(schema)}")
    return make(*schema[1:])


def _all(schemas: Any) -> tuple[TypeInformation[Any], ...]:
    return tuple(map(type_of_schema, schemas))


_MADE: dict[str, Callable[..., TypeInformation[Any]]] = {
    "LIST": lambda element: ListTypeInfo(type_of_schema(element)),
    "ARRAY": lambda kind, element: ARRAY_TYPES[kind](type_of_schema(element)),
    "SET": lambda element: SetTypeInfo(type_of_schema(element)),
    "FROZENSET": lambda element: SetTypeInfo(type_of_schema(element), frozen=True),
    "MAP": lambda key, value: MapTypeInfo(type_of_schema(key), type_of_schema(value)),
    "TUPLE": lambda fields: TupleTypeInfo(_all(fields)),
    "TUPLE_OF": lambda element: VariadicTupleTypeInfo(type_of_schema(element)),
    "UNION": lambda members: UnionTypeInfo(_all(members)),
    "ROW": lambda names, fields: RowTypeInfo(_all(fields), names and tuple(names)),
    "DATACLASS": lambda cls, names, fields: RowTypeInfo(_all(fields), tuple(names)),
    "NAMED_TUPLE": lambda cls, names, fields: RowTypeInfo(_all(fields), tuple(names)),
    "ENUM": lambda cls, names: BasicTypeInfo("STRING"),
    "SERIALIZED": lambda name, version: BasicTypeInfo("BYTES"),
    "OTHER": lambda name: PickledBytesTypeInfo(),
}


def has_class(schema: Schema) -> bool:
    """Whether values of it can be made by the program only that has their class."""
    if isinstance(schema, str):
        return False
    if schema[0] in _CLASSES:
        return True
    return any(has_class(part) for part in _parts(schema))


def _parts(schema: Schema) -> list[Schema]:
    """The schemas inside of one."""
    kind = schema[0]
    if kind in ("TUPLE", "UNION"):
        return list(schema[1])
    if kind == "ROW":
        return list(schema[2])
    if kind == "MAP":
        return [schema[1], schema[2]]
    return [schema[-1]] if kind != "OTHER" else []


def shown(schema: Schema) -> str:
    """As it is shown to people; classes by their names."""
    if isinstance(schema, str):
        return schema
    kind = schema[0]
    if kind in _CLASSES or kind == "OTHER":
        return str(schema[1])
    if kind == "ROW":
        names = schema[1] or [f"f{index}" for index in range(len(schema[2]))]
        pairs = zip(names, schema[2], strict=True)
        return f"ROW({', '.join(f'{name}: {shown(field)}' for name, field in pairs)})"
    return f"{kind}({', '.join(map(shown, _parts(schema)))})"
