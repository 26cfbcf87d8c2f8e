"""Types allowed for keys. Keys are compared and hashed, so their values must be immutable (Flink
docs, "Working with State", section Keyed DataStream)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.common.types.class_types import ClassTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, UnionTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.type_information import TypeInformation

__all__ = ["key_type_refusal"]


def key_type_refusal(type_info: TypeInformation[Any]) -> str | None:
    """Reason why values of a type cannot be keys, with an alternative; None if they can be keys.

    A list is no such reason where it is the whole key: `key_by` takes the tuple of its items.

    >>> from millrace.common.types.typeinfo import Types
    >>> key_type_refusal(Types.MAP(Types.STRING(), Types.INT()))
    'a map cannot be hashed: use a tuple of pairs'
    """
    if isinstance(type_info, ListTypeInfo):
        return _part_refusal(type_info.element_type)
    return _part_refusal(type_info)


def _part_refusal(type_info: TypeInformation[Any]) -> str | None:
    if isinstance(type_info, ListTypeInfo):
        return "a list in a key cannot be hashed: use a tuple"
    if isinstance(type_info, MapTypeInfo):
        return "a map cannot be hashed: use a tuple of pairs"
    if isinstance(type_info, SetTypeInfo) and not type_info.frozen:
        return "a set cannot be hashed: use a frozenset"
    if isinstance(type_info, ClassTypeInfo) and not _has_hash(type_info.cls):
        name = type_info.cls.__qualname__
        return f"instances of {name} cannot be hashed: make it a @dataclass(frozen=True)"
    return next(filter(None, map(_part_refusal, _parts(type_info))), None)


def _has_hash(cls: Any) -> bool:
    return cls.__hash__ is not None


def _parts(type_info: TypeInformation[Any]) -> Iterator[TypeInformation[Any]]:
    if isinstance(type_info, (ClassTypeInfo, RowTypeInfo, TupleTypeInfo, UnionTypeInfo)):
        yield from type_info.types
    elif isinstance(type_info, (SetTypeInfo, VariadicTupleTypeInfo)):
        yield type_info.element_type
    elif isinstance(type_info, ExternalTypeInfo):
        yield type_info.type_info
