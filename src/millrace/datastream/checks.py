"""Checks that a program is sound, made while it is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.base import Function
from millrace.common.state.column_descriptors import ColumnDescriptor
from millrace.common.types.key_types import key_type_refusal
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import instead_of_type
from millrace.common.window import WindowAssigner

A = TypeVar("A")


def checked_function(function: Any, wanted: type[Function], where: str, plain: bool = True) -> None:
    """Raise JobDefinitionError unless ``function`` has the expected class or, where ``plain``
    ones are allowed, is a callable that is not another kind of function object."""
    if isinstance(function, wanted):
        return
    if isinstance(function, type) and issubclass(function, Function):
        raise JobDefinitionError(
            f"{where}() got the class {function.__name__}; pass an instance: {function.__name__}()"
        )
    alternatives = f"a {wanted.__name__}" + (" or a callable" if plain else "")
    if isinstance(function, Function):
        raise JobDefinitionError(
            f"{where}() takes {alternatives}, got {type(function).__name__}, which is neither"
        )
    if not (plain and callable(function)):
        raise JobDefinitionError(f"{where}() takes {alternatives}, got {function!r}")


def checked_key_type(
    where: str, key_type: TypeInformation[Any] | None
) -> TypeInformation[Any] | None:
    """The type; raises JobDefinitionError if it is not a type, or not allowed for keys."""
    if key_type is None:
        return None
    if not isinstance(key_type, TypeInformation):
        raise JobDefinitionError(f"{where}() takes a key_type {instead_of_type(key_type)}")
    refusal = key_type_refusal(key_type)
    if refusal is not None:
        raise JobDefinitionError(f"{where}() cannot have keys of type {key_type.name}: {refusal}")
    return key_type


def built_or_not(item: Any) -> str:
    """The object as an error shows it; for a builder, advice to call its ``build()``."""
    is_builder = callable(getattr(item, "build", None))
    return (
        f"a {type(item).__name__}, which is not built yet: call its build()"
        if is_builder
        else repr(item)
    )


def checked_states(states: Sequence[ColumnDescriptor]) -> tuple[ColumnDescriptor, ...]:
    """Descriptors of state in columns; raises JobDefinitionError for other objects and for
    duplicate names."""
    for state in states:
        if not isinstance(state, ColumnDescriptor):
            raise JobDefinitionError(
                "states of process_batch() are described by ValueColumnDescriptor, "
                f"ReducingColumnDescriptor or AggregatingColumnDescriptor, got {state!r}"
            )
    for name, count in Counter(descriptor.name for descriptor in states).items():
        if count > 1:
            raise JobDefinitionError(f"process_batch() got {count} states of the name {name!r}")
    return tuple(states)


def checked_assigner(where: str, assigner: A) -> A:
    """The window assigner; raises JobDefinitionError for any other object."""
    if not isinstance(assigner, WindowAssigner):
        raise JobDefinitionError(
            f"{where}() takes a window assigner such as "
            f"TumblingEventTimeWindows.of(Time.seconds(10)), got {assigner!r}"
        )
    return assigner


def checked_field(position: int | str) -> int | str:
    """The field; raises JobDefinitionError unless it is given by position or name."""
    if isinstance(position, bool) or not isinstance(position, (int, str)):
        raise JobDefinitionError(
            f"a field must be given by its position or its name, got {position!r}"
        )
    return position
