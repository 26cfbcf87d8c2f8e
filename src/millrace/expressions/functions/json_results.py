"""Result types of JSON functions with a path, and the clauses that each of them allows.

Flink: ``SqlJsonQueryFunctionWrapper``, ``SqlJsonValueFunctionWrapper``.
"""

from __future__ import annotations

from collections.abc import Mapping

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import JsonChoice, JsonClauses, JsonEvent, option
from millrace.expressions.function_definition import CallContext, FunctionResolutionError
from millrace.expressions.parameters import implicit_cast
from millrace.expressions.resolved import ValueLiteral

__all__ = ["exists_type", "query_type", "value_type"]

_RETURNED = (
    logical.VarCharType,
    logical.CharType,
    logical.BooleanType,
    logical.IntegralType,
    logical.FloatType,
    logical.DoubleType,
    logical.ArrayType,
)


def _clauses(context: CallContext) -> JsonClauses:
    return option(JsonClauses, context.options) or JsonClauses()


def _returned(context: CallContext) -> LogicalType:
    kind = _clauses(context).returning
    if kind is not None and not isinstance(kind, _RETURNED):
        raise FunctionResolutionError(
            f"{context.name} returns STRING, BOOLEAN, INTEGER or DOUBLE, or JSON_QUERY an "
            f"ARRAY<STRING>, not {kind}: write CAST around it"
        )
    return logical.VarCharType() if kind is None else kind.with_nullable(True)


_TEXTS = logical.CharType | logical.VarCharType
_EVENTS = (JsonEvent.EMPTY, JsonEvent.ERROR)
_NULL_OR_ERROR = frozenset({JsonChoice.NULL, JsonChoice.ERROR})
_EMPTIES = frozenset({JsonChoice.EMPTY_ARRAY, JsonChoice.EMPTY_OBJECT})
_EXISTS = frozenset({JsonChoice.TRUE, JsonChoice.FALSE, JsonChoice.UNKNOWN, JsonChoice.ERROR})
_Choices = Mapping[JsonEvent, frozenset[JsonChoice]]


def _allowed(
    context: CallContext, known: _Choices, returning: bool = True, wrapper: bool = False
) -> None:
    """Refuse clauses that a function does not allow.

    Args:
        known: choices that the function allows, by event.
    """
    for clause in _clauses(context).written:
        event = clause.event
        if event is JsonEvent.RETURNING and not returning:
            raise FunctionResolutionError(
                f"{context.name} takes no RETURNING: it returns a BOOLEAN"
            )
        if event is JsonEvent.WRAPPER and not wrapper:
            raise FunctionResolutionError(f"{context.name} takes no WRAPPER, JSON_QUERY does")
        if event in _EVENTS and clause.choice not in known.get(event, ()):
            can = [f"{choice} ON {name}" for name, some in known.items() for choice in sorted(some)]
            raise FunctionResolutionError(
                f"{context.name} does not take {clause.choice} ON {event}; it takes "
                f"{', '.join(can)}"
            )


def exists_type(context: CallContext) -> LogicalType:
    """Type of JSON_EXISTS; refuses clauses that it does not allow."""
    _allowed(context, {JsonEvent.ERROR: _EXISTS}, returning=False)
    return logical.BooleanType()


def value_type(context: CallContext) -> LogicalType:
    """Type of JSON_VALUE; refuses clauses that it does not allow."""
    _allowed(context, dict.fromkeys(_EVENTS, _NULL_OR_ERROR | {JsonChoice.DEFAULT}))
    kind = _returned(context)
    if isinstance(kind, logical.ArrayType):
        raise FunctionResolutionError(f"JSON_VALUE returns no {kind}, JSON_QUERY does")
    for clause in _clauses(context).written:
        if clause.choice is JsonChoice.DEFAULT and not _is_default_of(kind, clause.default):
            raise FunctionResolutionError(
                f"JSON_VALUE returns {kind}: DEFAULT {clause.default} ON {clause.event} is not a "
                "literal of that type"
            )
    return kind


def _is_default_of(kind: LogicalType, default: object) -> bool:
    """Whether a default is a constant that is valid for the type."""
    if not isinstance(default, ValueLiteral):
        return False
    given = default.output_type
    if isinstance(kind, logical.IntegralType) and isinstance(given, logical.IntegralType):
        return kind.holds(default.value)
    if isinstance(kind, _TEXTS) and isinstance(given, _SHOWN):
        return True
    return implicit_cast(given, kind) is not None


_SHOWN = logical.BooleanType | logical.IntegralType | logical.DecimalType
"""Types whose constants may stand for a text, as in Flink."""


def query_type(context: CallContext) -> LogicalType:
    """Type of JSON_QUERY; refuses clauses that it does not allow."""
    _allowed(context, dict.fromkeys(_EVENTS, _NULL_OR_ERROR | _EMPTIES), wrapper=True)
    kind = _returned(context)
    if isinstance(kind, _TEXTS):
        return kind
    if not isinstance(kind, logical.ArrayType):
        raise FunctionResolutionError(
            f"JSON_QUERY returns a STRING or an ARRAY<STRING>, not {kind}: write CAST around it, "
            "or JSON_VALUE for a scalar"
        )
    if not isinstance(kind.element_type, _TEXTS):
        raise FunctionResolutionError(
            f"JSON_QUERY returns an ARRAY<STRING>, not {kind}: Unsupported array element type "
            f"'{kind.element_type}' for RETURNING ARRAY"
        )
    for clause in _clauses(context).written:
        if clause.choice is JsonChoice.EMPTY_OBJECT:
            raise FunctionResolutionError(
                f"JSON_QUERY: Illegal on {clause.event.lower()} behavior 'EMPTY OBJECT' for return "
                f"type {kind}; NULL, ERROR and EMPTY ARRAY are possible"
            )
    return kind
