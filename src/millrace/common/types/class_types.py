"""Types of values of Python classes: dataclasses, named tuples and enums.

Values are written by the names of their fields, so that the class may change between two runs of a
job (Flink docs, "State Schema Evolution").
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.types.composite_types import fields_of
from millrace.common.types.logical.bridged import bridged
from millrace.common.types.logical.logical_type import (
    LogicalType,
    NullType,
    StructuredType,
    VarCharType,
)
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.value_types import ConvertedTypeInfo

__all__ = ["ClassTypeInfo", "EnumTypeInfo"]

_Missing = type(dataclasses.MISSING)


@dataclass(frozen=True, slots=True, repr=False)
class ClassTypeInfo(TypeInformation[Any]):
    """Type of a dataclass or a named tuple; its internal form is a tuple of the values of its
    fields.
    """

    cls: type
    field_names: tuple[str, ...]
    types: tuple[TypeInformation[Any], ...]

    @property
    def name(self) -> str:
        pairs = zip(self.field_names, self.types, strict=True)
        return f"{self.cls.__qualname__}({', '.join(f'{n}: {t.name}' for n, t in pairs)})"

    @property
    def is_named_tuple(self) -> bool:
        """Whether the class is a named tuple."""
        return issubclass(self.cls, tuple)

    @property
    def is_immutable(self) -> bool:
        frozen = self.is_named_tuple or self.cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return bool(frozen) and all(field.is_immutable for field in self.types)

    @property
    def bridged_type(self) -> LogicalType:
        return StructuredType(fields_of(self.field_names, self.types), self.cls.__qualname__)

    def make(self, values: list[Any]) -> Any:
        """A value of the class from the values of its fields, without calling any code of the
        class."""
        if self.is_named_tuple:
            return tuple.__new__(self.cls, values)
        made: Any = object.__new__(self.cls)
        for label, value in zip(self.field_names, values, strict=True):
            object.__setattr__(made, label, value)
        return made

    def defaults(self) -> dict[str, Callable[[], Any]]:
        """Factories of the defaults, by field."""
        if self.is_named_tuple:
            named: dict[str, Any] = self.cls._field_defaults  # type: ignore[attr-defined]
            return {label: constant(value) for label, value in named.items()}
        factories: dict[str, Callable[[], Any]] = {}
        for field in dataclasses.fields(self.cls):
            # not by identity: a class of a job file comes to workers with a copy of MISSING
            if not isinstance(field.default, _Missing):
                factories[field.name] = constant(field.default)
            elif callable(field.default_factory):
                factories[field.name] = field.default_factory
        return factories


@dataclass(frozen=True, slots=True, repr=False)
class EnumTypeInfo(ConvertedTypeInfo):
    """Type of an `enum.Enum`; its internal form is the member's name or, for combined flags, their
    value.
    """

    cls: type[enum.Enum]

    @property
    def name(self) -> str:
        return f"{self.cls.__qualname__}(enum)"

    @property
    def bridged_type(self) -> LogicalType:
        members = ((member, NullType()) for member in self.cls.__members__)
        return bridged(VarCharType(), f"enum {self.cls.__qualname__}", *members)

    def accepts(self, value: Any) -> bool:
        return type(value) is self.cls

    def encode(self, value: enum.Enum) -> Any:
        return value.name if value.name in self.cls.__members__ else value.value

    def decode(self, internal: Any) -> Any:
        return self.cls[internal] if type(internal) is str else self.cls(internal)


def constant(value: Any) -> Callable[[], Any]:
    """Function that always returns ``value``."""
    return lambda: value
