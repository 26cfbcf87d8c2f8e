"""Types of JSON functions of a path, and which clauses each of them has.

Flink: ``SqlJsonQueryFunctionWrapper``, ``SqlJsonValueFunctionWrapper``.
"""

from __future__ import annotations

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.function_definition import CallContext, FunctionResolutionError

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
    return kind


def query_type(context: CallContext) -> LogicalType:
    """The type of JSON_QUERY; refuses clauses that it does not have."""
    _allowed(context)
    kind = _returned(context)
    if not isinstance(kind, logical.ArrayType):
        return kind
    if not isinstance(kind.element_type, logical.CharType | logical.VarCharType):
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
