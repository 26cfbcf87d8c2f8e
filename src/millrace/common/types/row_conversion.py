"""Conversion of emitted values to rows with the names of a declared type. Rows, tuples, lists and
dicts are converted as PyFlink's coders do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.external_type import ExternalTypeInfo
from millrace.common.types.row import Row, named_row
from millrace.common.types.type_information import TypeInformation

Conversion = Callable[[Any], Any]
"""From a value as the program made it to one of the declared type; picklable."""


def row_conversion(type_info: TypeInformation[Any] | None) -> Conversion | None:
    """Converter from values of a type to rows, including nested ones; None if the type has no rows.

    Example:
        >>> from millrace.common import Types
        >>> person = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        >>> row_conversion(person)(("Ann", 11))
        Row(name='Ann', age=11)
        >>> row_conversion(Types.INT()) is None
        True
    """
    if isinstance(type_info, ExternalTypeInfo):
        return row_conversion(type_info.type_info)
    if isinstance(type_info, RowTypeInfo):
        inner = _of_fields(type_info.types)
        return _ToRow(type_info.name, tuple(type_info.get_field_names()), inner)
    if isinstance(type_info, TupleTypeInfo):
        inner = _of_fields(type_info.types)
        return _ToTuple(inner) if inner else None
    if isinstance(type_info, ListTypeInfo):
        element = row_conversion(type_info.element_type)
        return _ToList(element) if element else None
    if isinstance(type_info, MapTypeInfo):
        element = row_conversion(type_info.value_type)
        return _ToMap(element) if element else None
    return None


def _of_fields(types: Sequence[TypeInformation[Any]]) -> tuple[Conversion | None, ...]:
    """One converter per field; an empty list if no field contains rows."""
    inner = tuple(row_conversion(field) for field in types)
    return inner if any(inner) else ()


def _converted(values: Sequence[Any], inner: tuple[Conversion | None, ...]) -> list[Any]:
    pairs = zip(values, inner, strict=True)
    return [value if to is None else to(value) for value, to in pairs]


@dataclass(frozen=True, slots=True)
class _ToRow:
    name: str
    names: tuple[str, ...]
    inner: tuple[Conversion | None, ...]

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        values = self._values(value)
        if len(values) != len(self.names):
            raise SerializationError(
                f"a record has {len(values)} fields, but its declared type {self.name} has "
                f"{len(self.names)}: {value!r}; make the type and the emitted records agree"
            )
        if self.inner:
            values = _converted(values, self.inner)
        kind = value.get_row_kind().value if isinstance(value, Row) else 0
        return named_row(self.names, values, kind)

    def _values(self, value: Any) -> list[Any]:
        if isinstance(value, (Row, tuple, list)):
            return list(value)
        if isinstance(value, dict):
            return [value.get(name) for name in self.names]
        raise SerializationError(
            f"a record is declared as {self.name}, but is {value!r}; emit a Row, a tuple or a "
            "dict, or declare its type"
        )


@dataclass(frozen=True, slots=True)
class _ToTuple:
    inner: tuple[Conversion | None, ...]

    def __call__(self, value: Any) -> Any:
        return None if value is None else tuple(_converted(value, self.inner))


@dataclass(frozen=True, slots=True)
class _ToList:
    element: Conversion

    def __call__(self, value: Any) -> Any:
        return None if value is None else [self.element(item) for item in value]


@dataclass(frozen=True, slots=True)
class _ToMap:
    value: Conversion

    def __call__(self, value: Any) -> Any:
        return None if value is None else {k: self.value(v) for k, v in value.items()}
