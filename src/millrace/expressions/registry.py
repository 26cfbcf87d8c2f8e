"""The registry of built-in functions: finds them by name, and resolves calls by their argument
types.

Operators are functions with their symbol as the name (``+``, ``=``, ``||``), and ``NEGATE`` for
the prefix minus; ``AND``, ``OR``, ``NOT``, ``IS NULL``, ``IS NOT NULL``, ``IS TRUE`` and its kin,
``IS DISTINCT FROM``, ``BETWEEN`` (options ``SYMMETRIC``), ``IN``, ``LIKE``, ``SIMILAR TO``; negated
forms are ``NOT`` of them. ``CASE`` takes condition, value, condition, value, ..., value of ELSE.
``ITEM`` is the bracket of arrays and maps. Casts are nodes of their own
(`millrace.expressions.resolved.Cast`), which `resolve_cast` makes.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from typing import Any

from millrace.common.similar_names import did_you_mean
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.definitions import AGGREGATES
from millrace.expressions.call_options import CallOptions, JsonClause, JsonClauses, JsonEvent
from millrace.expressions.casting.cast import caster
from millrace.expressions.function_definition import (
    FunctionDefinition,
    FunctionKind,
    FunctionResolutionError,
)
from millrace.expressions.functions.arithmetic import ARITHMETIC
from millrace.expressions.functions.bitmaps import BITMAPS
from millrace.expressions.functions.collections import COLLECTIONS, TYPES
from millrace.expressions.functions.comparison import COMPARISON
from millrace.expressions.functions.conditional import CONDITIONAL
from millrace.expressions.functions.encodings import ENCODINGS
from millrace.expressions.functions.hashes import HASHES
from millrace.expressions.functions.json_functions import JSON_FUNCTIONS
from millrace.expressions.functions.logic import LOGIC
from millrace.expressions.functions.mathematics import MATHEMATICS
from millrace.expressions.functions.regular_expressions import REGULAR_EXPRESSIONS
from millrace.expressions.functions.strings import STRINGS
from millrace.expressions.functions.structured_objects import STRUCTURED_OBJECTS
from millrace.expressions.functions.temporal import TEMPORAL
from millrace.expressions.resolved import Call, Cast, ResolvedExpression, ValueLiteral
from millrace.expressions.session_settings import SessionSettings

__all__ = [
    "find",
    "function",
    "functions",
    "known_names",
    "resolve_aggregate",
    "resolve_call",
    "resolve_cast",
    "with_nested_json",
]

_FUNCTIONS: dict[str, FunctionDefinition] = {
    definition.name: definition
    for definitions in (
        COMPARISON,
        LOGIC,
        ARITHMETIC,
        MATHEMATICS,
        STRINGS,
        ENCODINGS,
        REGULAR_EXPRESSIONS,
        TEMPORAL,
        CONDITIONAL,
        TYPES,
        COLLECTIONS,
        STRUCTURED_OBJECTS,
        JSON_FUNCTIONS,
        HASHES,
        BITMAPS,
        AGGREGATES,
    )
    for definition in definitions
}
_OTHER_NAMES = {
    "!=": "<>",
    "POW": "POWER",
    "CEILING": "CEIL",
    "SUBSTR": "SUBSTRING",
    "CHARACTER_LENGTH": "CHAR_LENGTH",
    "STDDEV": "STDDEV_SAMP",
    "VARIANCE": "VAR_SAMP",
    "LCASE": "LOWER",
    "UCASE": "UPPER",
}
_JSON, *_JSON_MAKERS = (_FUNCTIONS[name] for name in ("JSON", "JSON_OBJECT", "JSON_ARRAY"))


def functions() -> Iterator[FunctionDefinition]:
    """All built-in functions, in the order of the documentation."""
    yield from _FUNCTIONS.values()


def find(name: str) -> FunctionDefinition | None:
    """The function with the given name, in upper or lower case; None if there is none."""
    upper = name.upper()
    return _FUNCTIONS.get(_OTHER_NAMES.get(upper, upper))


def function(name: str) -> FunctionDefinition:
    """The function with the given name, in upper or lower case.

    Raises:
        FunctionResolutionError: the function does not exist; the error names the nearest ones.

    >>> function("nullif").name
    'NULLIF'
    """
    definition = find(name)
    if definition is None:
        hint = did_you_mean(name, known_names())
        raise FunctionResolutionError(f"there is no function {name.upper()}{hint}")
    return definition


def known_names() -> tuple[str, ...]:
    """Names of all functions, including their other names. Operators have no names.

    >>> "COALESCE" in known_names(), "+" in known_names()
    (True, False)
    """
    return tuple(name for name in (*_FUNCTIONS, *_OTHER_NAMES) if name[0].isalpha())


def resolve_call(
    definition: FunctionDefinition,
    arguments: tuple[ResolvedExpression, ...],
    options: CallOptions | None = None,
) -> Call:
    """A call of a scalar or table function with its type, and with its arguments cast as the
    function requires.

    Args:
        definition: the function.
        arguments: the arguments, with resolved types.
        options: arguments that are not expressions.

    Raises:
        FunctionResolutionError: no signature of the function takes these types.
    """
    if definition.kind is FunctionKind.AGGREGATE:
        raise FunctionResolutionError(
            f"{definition.name} is of kind {definition.kind.value}: it has no value of one row"
        )
    if definition in _JSON_MAKERS:
        options = with_nested_json(arguments, options)
    types = tuple(argument.output_type for argument in arguments)
    literals = tuple(e.value if isinstance(e, ValueLiteral) else None for e in arguments)
    wanted, result = definition.infer(types, literals, options)
    cast = tuple(
        argument
        if argument.output_type.with_nullable(True) == kind.with_nullable(True)
        else _cast(argument, kind)
        for argument, kind in zip(arguments, wanted, strict=True)
    )
    return Call(definition, cast, result, options)


def with_nested_json(
    arguments: tuple[ResolvedExpression, ...], options: CallOptions | None
) -> CallOptions | None:
    """The clauses of a JSON function. If arguments are JSON already, a clause with their
    positions is added, so that they are not quoted again."""
    nested = tuple(
        index
        for index, argument in enumerate(arguments)
        if isinstance(argument, Call) and argument.function in (_JSON, *_JSON_MAKERS)
    )
    if not nested:
        return options
    written = options.written if isinstance(options, JsonClauses) else ()
    return JsonClauses((*written, JsonClause(JsonEvent.NESTED, nested)))


def resolve_cast(
    operand: ResolvedExpression, target: LogicalType, safe: bool = False
) -> ResolvedExpression:
    """CAST or TRY_CAST of an expression; as in Flink, a cast of a nullable operand is nullable.

    Raises:
        FunctionResolutionError: there is no cast between the two types.
    """
    caster(operand.output_type, target, SessionSettings(), safe)
    return Cast(operand, target.with_nullable(safe or operand.output_type.is_nullable), safe)


def _cast(operand: ResolvedExpression, target: LogicalType) -> ResolvedExpression:
    caster(operand.output_type, target, SessionSettings())
    if isinstance(operand, ValueLiteral) and operand.value is None:
        return ValueLiteral(None, target.with_nullable(True))
    return Cast(operand, target.with_nullable(operand.output_type.is_nullable))


def resolve_aggregate(
    definition: FunctionDefinition,
    types: tuple[LogicalType, ...],
    distinct: bool = False,
    options: CallOptions | None = None,
    literals: tuple[Any, ...] = (),
) -> LogicalType:
    """Type of an aggregate function's value. COUNT(*) has no arguments.

    Raises:
        FunctionResolutionError: it is no aggregate, or does not take these types.

    >>> from millrace.common.types.logical.logical_type import DecimalType
    >>> resolve_aggregate(function("SUM"), (DecimalType(10, 2),))
    DECIMAL(38, 2)
    """
    if definition.kind is not FunctionKind.AGGREGATE:
        raise FunctionResolutionError(f"{definition.name} is not an aggregate function")
    if distinct and not types:
        raise FunctionResolutionError(f"{definition.name}(DISTINCT) needs a column")
    _, result = definition.infer(types, literals, options)
    return result


def _reduced(definition: FunctionDefinition) -> Any:
    """Reduce a registered function to its name for pickling, so that it stays a single object."""
    if _FUNCTIONS.get(definition.name) is definition:
        return function, (definition.name,)
    return definition.__reduce_ex__(4)


copyreg.pickle(FunctionDefinition, _reduced)
