"""Types from type hints: ``Types.of(Account)``."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NewType, TypeVar, Union
from uuid import UUID

from millrace.common.errors import JobDefinitionError
from millrace.common.time.amounts import Instant
from millrace.common.types.class_types import ClassTypeInfo, EnumTypeInfo
from millrace.common.types.collection_types import SetTypeInfo, UnionTypeInfo, VariadicTupleTypeInfo
from millrace.common.types.composite_types import ListTypeInfo, MapTypeInfo, TupleTypeInfo
from millrace.common.types.row import Row
from millrace.common.types.standard_types import (
    DurationTypeInfo,
    FractionTypeInfo,
    UuidTypeInfo,
    ZonedTimestampTypeInfo,
    ZonedTimeTypeInfo,
)
from millrace.common.types.type_information import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from millrace.common.types.value_types import BigDecTypeInfo, DateTypeInfo, InstantTypeInfo

__all__ = ["type_of"]

_SINGLE: dict[Any, TypeInformation[Any]] = {
    None: BasicTypeInfo("NONE"),
    type(None): BasicTypeInfo("NONE"),
    bool: BasicTypeInfo("BOOLEAN"),
    int: BasicTypeInfo("LONG"),
    float: BasicTypeInfo("DOUBLE"),
    complex: BasicTypeInfo("COMPLEX"),
    str: BasicTypeInfo("STRING"),
    bytes: BasicTypeInfo("BYTES"),
    Decimal: BigDecTypeInfo(),
    Fraction: FractionTypeInfo(),
    date: DateTypeInfo(),
    datetime: ZonedTimestampTypeInfo(),
    time: ZonedTimeTypeInfo(),
    timedelta: DurationTypeInfo(),
    UUID: UuidTypeInfo(),
    Instant: InstantTypeInfo(),
    Any: PickledBytesTypeInfo(),
    object: PickledBytesTypeInfo(),
    Row: PickledBytesTypeInfo(),
}


def type_of(hint: Any) -> TypeInformation[Any]:
    """The type of a type hint.

    Raises:
        JobDefinitionError: the hint, or that of a field, has no type.
    """
    return _Reading(()).of(hint)


class _Reading:
    """Reader of hints, which remembers the enclosing classes and so detects recursive ones."""

    def __init__(self, inside: tuple[type, ...]) -> None:
        self._inside = inside

    def of(self, hint: Any) -> TypeInformation[Any]:
        if isinstance(hint, TypeInformation):
            return hint
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._generic(hint, origin, typing.get_args(hint))
        if isinstance(hint, NewType):
            return self.of(hint.__supertype__)
        if isinstance(hint, TypeVar):
            return _SINGLE[Any]
        if hint in _BARE:
            return _BARE[hint](self, (Any, Any))
        if hint in _SINGLE:
            return _SINGLE[hint]
        if isinstance(hint, type):
            return self._class(hint, hint)
        raise JobDefinitionError(self._refusal(hint))

    def _generic(self, hint: Any, origin: Any, args: tuple[Any, ...]) -> TypeInformation[Any]:
        if origin is Annotated:
            given = [extra for extra in args[1:] if isinstance(extra, TypeInformation)]
            return given[0] if given else self.of(args[0])
        if origin is Union or origin is types.UnionType:
            return self._union(hint, [arg for arg in args if arg is not type(None)])
        if origin is Literal:
            return self._union(hint, list(dict.fromkeys(type(arg) for arg in args)))
        if origin is tuple:
            return self._tuple(args)
        if origin in _BARE:
            return _BARE[origin](self, args)
        if isinstance(origin, type):
            return self._class(origin, hint)
        raise JobDefinitionError(self._refusal(hint))

    def _union(self, hint: Any, members: list[Any]) -> TypeInformation[Any]:
        kinds = [self.of(member) for member in members]
        if len(kinds) == 1:
            return kinds[0]
        if any(member.need_conversion() for member in kinds):
            raise JobDefinitionError(
                f"the type hint {_shown(hint)} has no type, because the type of a value "
                "would be lost; use Any, or one field for each type"
            )
        return UnionTypeInfo(tuple(kinds))

    def _tuple(self, args: tuple[Any, ...]) -> TypeInformation[Any]:
        if len(args) == 2 and args[1] is Ellipsis:
            return VariadicTupleTypeInfo(self.of(args[0]))
        return TupleTypeInfo(tuple(self.of(arg) for arg in args))

    def _class(self, cls: type, hint: Any) -> TypeInformation[Any]:
        if cls in self._inside:
            raise JobDefinitionError(
                f"class {cls.__qualname__} contains itself; declare that field as Any"
            )
        if issubclass(cls, enum.Enum):
            return EnumTypeInfo(cls)
        if dataclasses.is_dataclass(cls):
            return self._fields(cls, [field.name for field in dataclasses.fields(cls)])
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self._fields(cls, list(cls._fields))
        raise JobDefinitionError(self._refusal(hint))

    def _fields(self, cls: type, names: list[str]) -> TypeInformation[Any]:
        hints = _hints(cls)
        inside = _Reading((*self._inside, cls))
        field_types = []
        for name in names:
            try:
                field_types.append(inside.of(hints.get(name, Any)))
            except JobDefinitionError as error:
                raise JobDefinitionError(f"field {cls.__qualname__}.{name}: {error}") from None
        return ClassTypeInfo(cls, tuple(names), tuple(field_types))

    def _refusal(self, hint: Any) -> str:
        return (
            f"the type hint {_shown(hint)} has no type; use a dataclass, a NamedTuple, an "
            "Enum, list, dict, set or tuple of such, or Any (pickled), or a serializer of "
            "your own: Annotated[..., Types.SERIALIZED(...)]"
        )


_Maker = Callable[[_Reading, tuple[Any, ...]], TypeInformation[Any]]

_BARE: dict[Any, _Maker] = {
    list: lambda reading, args: ListTypeInfo(reading.of(args[0])),
    dict: lambda reading, args: MapTypeInfo(reading.of(args[0]), reading.of(args[1])),
    set: lambda reading, args: SetTypeInfo(reading.of(args[0])),
    frozenset: lambda reading, args: SetTypeInfo(reading.of(args[0]), frozen=True),
    tuple: lambda reading, args: VariadicTupleTypeInfo(reading.of(args[0])),
}


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError) as error:
        raise JobDefinitionError(
            f"the type hints of class {cls.__qualname__} cannot be read ({error}); define "
            "the names in them at the top level of its module"
        ) from error


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint)
