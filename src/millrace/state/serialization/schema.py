"""Schemas: logical types as they are stored next to state, in Flink's spelling.

If several Python classes share a logical type, the schema names the class (see
`millrace.common.types.logical.bridged`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
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
from millrace.common.types.logical.bridged import bridge_of, inner, parts_of
from millrace.common.types.logical.logical_type import (
    ArrayType,
    LogicalType,
    MapType,
    RawType,
    RowType,
    StructuredType,
)
from millrace.common.types.logical.parser import parse_type
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
    TypeInformation,
)
from millrace.common.types.value_types import (
    BigDecTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)

__all__ = ["ANY", "Schema", "has_class", "shown", "type_of", "type_of_schema"]

Schema = str
"""The text of a type."""
ANY: Schema = PickledBytesTypeInfo().schema()
"""Schema of values without a type."""
ENUM = "enum "
VERSION = "version "

_SINGLE: dict[LogicalType, TypeInformation[Any]] = {
    info.bridged_type: info
    for info in (
        *map(BasicTypeInfo, PYTHON_TYPES),
        BigDecTypeInfo(),
        DateTypeInfo(),
        DurationTypeInfo(),
        FractionTypeInfo(),
        InstantTypeInfo(),
        PickledBytesTypeInfo(),
        TimestampTypeInfo(),
        TimeTypeInfo(),
        UuidTypeInfo(),
        ZonedTimeTypeInfo(),
        ZonedTimestampTypeInfo(),
    )
}


@lru_cache(maxsize=1024)
def type_of_schema(schema: Schema) -> TypeInformation[Any]:
    """Type that a schema describes, as far as it is known without the program's classes.
    Dataclasses and named tuples become rows, enums become strings, and the output of a serializer
    becomes bytes.

    Example:
        >>> type_of_schema("ARRAY<STRUCTURED<'Point', x BIGINT>>").name
        'LIST(ROW(x: LONG))'

    Raises:
        CheckpointError: it is of a making that is not known here.
        JobDefinitionError: it is not a type.
    """
    kind = parse_type(schema)
    try:
        return type_of(kind)
    except IndexError:  # a set of no type, for example
        raise CheckpointError(f"the checkpoint has state of an unknown type {kind}") from None


def type_of(kind: LogicalType) -> TypeInformation[Any]:
    """Type for a parsed schema, as in `type_of_schema`."""
    kind = kind.with_nullable(True)
    single = _SINGLE.get(kind)
    if single is not None:
        return single
    bridge = bridge_of(kind)
    if bridge.startswith(ENUM):
        return BasicTypeInfo("STRING")
    if bridge in ARRAY_TYPES:
        elements = inner(kind).children()
        element = type_of(elements[0]) if elements else BasicTypeInfo("BYTE")
        return ARRAY_TYPES[bridge](element)
    make = _MADE.get(bridge or type(kind))
    if make is None:
        raise CheckpointError(f"the checkpoint has state of an unknown type {kind}")
    return make(kind)


def _types(row: LogicalType) -> list[TypeInformation[Any]]:
    return list(map(type_of, row.children()))


def _tuple(kind: LogicalType) -> TypeInformation[Any]:
    content = inner(kind)
    if isinstance(content, ArrayType):
        return VariadicTupleTypeInfo(type_of(content.element_type))
    return TupleTypeInfo(_types(content))


_MADE: dict[str | type, Callable[[Any], TypeInformation[Any]]] = {
    ArrayType: lambda kind: ListTypeInfo(type_of(kind.element_type)),
    MapType: lambda kind: MapTypeInfo(*_types(kind)),
    RowType: lambda kind: RowTypeInfo(_types(kind), kind.names),
    StructuredType: lambda kind: RowTypeInfo(_types(kind), kind.names),
    RawType: lambda kind: BasicTypeInfo("BYTES"),
    "Row": lambda kind: RowTypeInfo(_types(inner(kind))),
    "set": lambda kind: SetTypeInfo(_types(inner(kind))[0]),
    "frozenset": lambda kind: SetTypeInfo(_types(inner(kind))[0], frozen=True),
    "tuple": _tuple,
    "union": lambda kind: UnionTypeInfo(tuple(type_of(part.type) for part in parts_of(kind))),
}


def has_class(schema: Schema) -> bool:
    """Whether the values can only be created by a program that has the schema's class."""
    return _has_class(parse_type(schema))


def _has_class(kind: LogicalType) -> bool:
    if kind in _SINGLE:
        return False
    bridge = bridge_of(kind)
    if bridge == "union":
        return any(_has_class(part.type) for part in parts_of(kind))
    if isinstance(kind, RawType) or (isinstance(kind, StructuredType) and not bridge):
        return True
    return bridge.startswith(ENUM) or any(map(_has_class, kind.children()))


def shown(schema: Schema) -> str:
    """Display form of a schema, with the names of classes."""
    return "ANY" if schema == ANY else _shown(parse_type(schema))


def _shown(kind: LogicalType) -> str:
    single = _SINGLE.get(kind.with_nullable(True))
    if single is not None:
        return single.name
    bridge = bridge_of(kind)
    if bridge.startswith(ENUM):
        return bridge.removeprefix(ENUM)
    if isinstance(kind, RawType) or (isinstance(kind, StructuredType) and not bridge):
        return kind.class_name
    if isinstance(kind, RowType) and not bridge:
        return f"ROW({', '.join(f'{field.name}: {_shown(field.type)}' for field in kind)})"
    if bridge == "union":
        return " | ".join(_shown(part.type) for part in parts_of(kind))
    if not bridge:
        name = "LIST" if isinstance(kind, ArrayType) else "MAP"
        return f"{name}({', '.join(map(_shown, kind.children()))})"
    return f"{bridge.upper()}({', '.join(map(_shown, inner(kind).children()))})"
