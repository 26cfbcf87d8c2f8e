"""Types of JSON functions of a path, and which clauses each of them has.

Flink: ``SqlJsonQueryFunctionWrapper``, ``SqlJsonValueFunctionWrapper``.
"""

from __future__ import annotations

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
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


def _returned(context: CallContext) -> LogicalType:
    returned = (what for clause, what, _ in context.payload or () if clause == "RETURNING")
    kind: LogicalType | None = next(returned, None)
    if kind is not None and not isinstance(kind, _RETURNED):
        raise FunctionResolutionError(
            f"{context.name} returns STRING, BOOLEAN, INTEGER or DOUBLE, or JSON_QUERY an "
            f"ARRAY<STRING>, not {kind}: write CAST around it"
        )
    return logical.VarCharType() if kind is None else kind.with_nullable(True)


_TEXTS = logical.CharType | logical.VarCharType
_NULL_OR_ERROR = frozenset({"NULL", "ERROR"})
_EMPTIES = frozenset({"EMPTY ARRAY", "EMPTY OBJECT"})
_BEHAVIORS = {
    "JSON_EXISTS": {"ERROR": frozenset({"TRUE", "FALSE", "UNKNOWN", "ERROR"})},
    "JSON_VALUE": dict.fromkeys(("EMPTY", "ERROR"), _NULL_OR_ERROR | {"DEFAULT"}),
    "JSON_QUERY": dict.fromkeys(("EMPTY", "ERROR"), _NULL_OR_ERROR | _EMPTIES),
}
"""What a function may be told to do, by clause."""


def _allowed(context: CallContext) -> None:
    """Refuse clauses that a function of a path does not have."""
    known = _BEHAVIORS[context.name]
    for clause, what, _ in context.payload or ():
        if clause == "RETURNING" and context.name == "JSON_EXISTS":
            raise FunctionResolutionError("JSON_EXISTS takes no RETURNING: it gives a BOOLEAN")
        if clause == "WRAPPER" and context.name != "JSON_QUERY":
            raise FunctionResolutionError(f"{context.name} takes no WRAPPER, JSON_QUERY does")
        if clause in ("EMPTY", "ERROR") and what not in known.get(clause, ()):
            can = [f"{each} ON {name}" for name, some in known.items() for each in sorted(some)]
            raise FunctionResolutionError(
                f"{context.name} does not take {what} ON {clause}; it takes {', '.join(can)}"
            )


def exists_type(context: CallContext) -> LogicalType:
    """The type of JSON_EXISTS; refuses clauses that it does not have."""
    _allowed(context)
    return logical.BooleanType()


def value_type(context: CallContext) -> LogicalType:
    """The type of JSON_VALUE; refuses clauses that it does not have."""
    _allowed(context)
    kind = _returned(context)
    if isinstance(kind, logical.ArrayType):
        raise FunctionResolutionError(f"JSON_VALUE returns no {kind}, JSON_QUERY does")
    for clause, what, default in context.payload or ():
        if what == "DEFAULT" and not _is_default_of(kind, default):
            raise FunctionResolutionError(
                f"JSON_VALUE returns {kind}: DEFAULT {default} ON {clause} is no literal of that "
                "type"
            )
    return kind


def _is_default_of(kind: LogicalType, default: object) -> bool:
    """Whether a default is a constant that the type holds."""
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
    """The type of JSON_QUERY; refuses clauses that it does not have."""
    _allowed(context)
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
    for clause, what, _ in context.payload or ():
        if what == "EMPTY OBJECT":
            raise FunctionResolutionError(
                f"JSON_QUERY: Illegal on {clause.lower()} behavior 'EMPTY OBJECT' for return type "
                f"{kind}; NULL, ERROR and EMPTY ARRAY are possible"
            )
    return kind
