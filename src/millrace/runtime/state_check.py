"""Checks values against their declared type when they are written to state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.state.descriptors import StateDescriptor
from millrace.common.types.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    TupleTypeInfo,
)
from millrace.common.types.logical.logical_type import IntegralType
from millrace.common.types.row import Row
from millrace.common.types.type_check import batch_check, mismatch
from millrace.common.types.type_information import BasicTypeInfo, TypeInformation
from millrace.runtime.current_key import CurrentKey
from millrace.state.flat_table import FlatTable

__all__ = [
    "StateCheck",
    "checked_update",
    "entry_check",
    "key_check",
    "usual_class",
    "value_check",
]

NEVER = type("Never", (), {})
"""A class without instances."""


class StateCheck:
    """Refuses values that do not have the declared type of a state.

    The class that most values have, and the range of whole numbers, can be read as attributes,
    because a state that checks a value for every record cannot afford a call.
    """

    __slots__ = ("_fits", "_ranges", "_subject", "_type_info", "_usual", "cls", "high", "low")

    def __init__(self, subject: str, type_info: TypeInformation[Any]) -> None:
        self._subject = subject
        self._type_info = type_info
        self._fits = batch_check(type_info) or _anything
        self.cls, self.low, self.high = usual_class(type_info)
        fields = type_info.types if isinstance(type_info, TupleTypeInfo) else ()
        leaves = [usual_class(field) for field in fields]
        self._usual = tuple(cls for cls, _, _ in leaves) if leaves else (NEVER,)
        self._ranges = [
            (i, low, high) for i, (_, low, high) in enumerate(leaves) if low is not None
        ]

    def __call__(self, value: Any) -> None:
        """Raises SerializationError unless the value has the type or is None."""
        kind = type(value)
        if kind is self.cls and (self.low is None or self.low <= value <= self.high):
            return
        if kind is tuple and self.is_usual(value):
            return
        if not self._fits((value,)):
            raise SerializationError(
                f"{self._subject} is declared as {self._type_info.name}, but "
                f"{mismatch(self._type_info, value)}: {value!r}; store what is declared, or "
                "declare what is stored"
            )

    def is_usual(self, value: tuple[Any, ...]) -> bool:
        """Whether a value passes a quick test and needs no further check: the declared type is a
        tuple, and all fields have exactly the usual classes and are within their ranges.
        """
        if tuple(map(type, value)) != self._usual:
            return False
        return all(low <= value[index] <= high for index, low, high in self._ranges)


def _anything(values: Sequence[Any]) -> bool:
    return True


def usual_class(type_info: TypeInformation[Any]) -> tuple[type, Any, Any]:
    """Usual class of a plain type, and its range if it has one."""
    if not isinstance(type_info, BasicTypeInfo):
        return NEVER, None, None
    kind = type_info.logical_type
    bounds = kind.bounds() if isinstance(kind, IntegralType) else (None, None)
    return type_info.python_types[0], *bounds


def checked_update(
    table: FlatTable, current: CurrentKey, check: StateCheck
) -> Callable[[Any], None]:
    """Make a replacement of `ValueState.update` for a type of immutable values. It avoids the
    attribute lookups that a method would need for every record.
    """
    put, remove = table.put_immutable, table.remove

    def update_other(value: Any) -> None:
        if type(value) is tuple and check.is_usual(value):
            put(current.key, value)
            return
        check(value)
        if value is None:
            remove(current.key)
        else:
            put(current.key, _as_tuple(value))

    return table.update_of(current, check.cls, (check.low, check.high), update_other)


def _as_tuple(value: Any) -> Any:
    """The value with lists and rows converted to tuples. Where a tuple is declared, lists and
    rows are accepted; but if state kept them, a change in place would go unnoticed."""
    return tuple(map(_as_tuple, value)) if type(value) in (tuple, list, Row) else value


def value_check(descriptor: StateDescriptor) -> StateCheck | None:
    """Check of the values of a value, reducing or aggregating state. None if there is none."""
    return _check(f"state '{descriptor.name}'", descriptor.type_info)


def entry_check(descriptor: StateDescriptor) -> StateCheck | None:
    """Check of the elements of a list state, or of the values of a map state. None if there is
    none."""
    kind = descriptor.type_info
    if isinstance(kind, MapTypeInfo):
        return _check(f"a value of state '{descriptor.name}'", kind.value_type)
    if isinstance(kind, ListTypeInfo):
        return _check(f"an element of state '{descriptor.name}'", kind.element_type)
    return None


def key_check(descriptor: StateDescriptor) -> StateCheck | None:
    """Check of the keys of a map state. None if there is none."""
    kind = descriptor.type_info
    if not isinstance(kind, MapTypeInfo):
        return None
    return _check(f"a key of state '{descriptor.name}'", kind.key_type)


def _check(subject: str, type_info: TypeInformation[Any]) -> StateCheck | None:
    return None if batch_check(type_info) is None else StateCheck(subject, type_info)
