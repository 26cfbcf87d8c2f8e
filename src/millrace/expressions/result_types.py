"""Result types that many functions share. Flink: ``TypeStrategies`` and ``ReturnTypes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.parser import parse_type
from millrace.expressions.function_definition import CallContext, ResultStrategy
from millrace.expressions.type_merging import common_type

__all__ = [
    "always",
    "argument",
    "common",
    "fixed",
    "forced_nullable",
    "merged_arguments",
    "where_sure",
    "varying",
]


def always(text: str) -> ResultStrategy:
    """Strategy that returns a fixed type, which is nullable if any argument is nullable."""
    kind = parse_type(text)
    return lambda context: kind.with_nullable(context.any_nullable)


def fixed(text: str) -> ResultStrategy:
    """Strategy that returns a fixed type with its own nullability, whatever the arguments are."""
    kind = parse_type(text)
    return lambda context: kind


def where_sure(text: str, is_sure: Callable[[Any], bool], position: int = 0) -> ResultStrategy:
    """Strategy that returns a fixed type. It is nullable if an argument is nullable, or if
    ``is_sure`` is false for the argument.

    Args:
        text: the type.
        is_sure: whether a constant (None for other arguments) always leads to a value.
        position: position of the argument.
    """
    kind = parse_type(text)

    def strategy(context: CallContext) -> LogicalType:
        known = context.literals[position] if position < len(context.literals) else None
        return kind.with_nullable(context.any_nullable or not is_sure(known))

    return strategy


def argument(position: int) -> ResultStrategy:
    """Strategy that returns the type of one argument, nullable if any argument is nullable."""
    return lambda context: context.types[position].with_nullable(context.any_nullable)


def forced_nullable(strategy: ResultStrategy) -> ResultStrategy:
    """Strategy that makes the type of another strategy nullable."""
    return lambda context: strategy(context).with_nullable(True)


def varying(position: int) -> ResultStrategy:
    """Strategy that returns the type of texts or bytes that are at most as long as an argument."""

    def strategy(context: CallContext) -> LogicalType:
        kind = context.types[position]
        length = getattr(kind, "length", logical.MAX_LENGTH)
        made = (
            logical.VarBinaryType
            if isinstance(kind, (logical.BinaryType, logical.VarBinaryType))
            else logical.VarCharType
        )
        return made(length, nullable=context.any_nullable)

    return strategy


def common(context: CallContext) -> LogicalType:
    """The common type of the arguments, nullable if any argument is."""
    kind = common_type(context.types)
    assert kind is not None, "the arguments were merged before"
    return kind


def merged_arguments(
    start: int = 0,
) -> Callable[[CallContext], tuple[LogicalType, ...] | None]:
    """Casts of all arguments from a position on to their common type."""

    def adjust(context: CallContext) -> tuple[LogicalType, ...] | None:
        kind = common_type(context.types[start:])
        if kind is None:
            return None
        cast = tuple(
            kind.with_nullable(given.is_nullable or isinstance(given, logical.NullType))
            for given in context.types[start:]
        )
        return (*context.types[:start], *cast)

    return adjust
