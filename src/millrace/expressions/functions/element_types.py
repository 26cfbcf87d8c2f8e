"""Parameter types of array functions: the arrays they accept, and the types of the cast
arguments."""

from __future__ import annotations

from collections.abc import Callable

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.function_definition import CallContext, FunctionResolutionError
from millrace.expressions.parameters import CHARACTERS
from millrace.expressions.type_merging import common_type

__all__ = ["needle", "of_texts", "ordered_elements", "with_element"]

_ORDERED = (
    *(logical.NumericType, *CHARACTERS, logical.BinaryType, logical.VarBinaryType),
    *(logical.DateType, logical.TimeType, logical.TimestampType, logical.NullType),
    *(logical.LocalZonedTimestampType, logical.ZonedTimestampType),
)
Types = tuple[LogicalType, ...]


def ordered_elements(context: CallContext) -> Types:
    """Types for arrays whose elements have an order, as in Flink."""
    element = context.types[0].children()[0]
    if not isinstance(element, _ORDERED):
        raise FunctionResolutionError(
            f"{context.name} takes elements that have an order: numbers, texts, bytes and times; "
            f"{element} has none"
        )
    return context.types


def of_texts(context: CallContext) -> Types | None:
    """The parameter types, if the argument is an array of texts; else None."""
    element = context.types[0].children()[0]
    return context.types if isinstance(element, (*CHARACTERS, logical.NullType)) else None


def with_element() -> Callable[[CallContext], Types | None]:
    """Strategy that casts the elements of an array and the arguments behind the array to their
    common type."""

    def adjust(context: CallContext) -> Types | None:
        array, *others = context.types
        kind = common_type((array.children()[0], *others))
        if kind is None:
            return None
        made = logical.ArrayType(kind, nullable=array.is_nullable)
        return (made, *(kind.with_nullable(each.is_nullable) for each in others))

    return adjust


def needle(context: CallContext) -> Types | None:
    """Types of an array and of the value to search in it: their common type."""
    array, sought = context.types
    kind = common_type((array.children()[0].with_nullable(True), sought))
    if kind is None:
        return None
    inner = kind.with_nullable(array.children()[0].is_nullable)
    made = logical.ArrayType(inner, nullable=array.is_nullable)
    return made, kind.with_nullable(sought.is_nullable)
