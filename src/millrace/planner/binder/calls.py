"""Calls of scalar functions: turns the syntax of their arguments into arguments and options.

Arguments that are not expressions become options: ``EXTRACT(YEAR FROM x)`` is ``EXTRACT(x)`` with
`TemporalUnit`, ``TRIM(BOTH x FROM y)`` is ``TRIM(x, y)`` with `TrimSide`, clauses of JSON functions
are `JsonClauses`.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.expressions.call_options import (
    CallOptions,
    JsonChoice,
    JsonClause,
    JsonClauses,
    JsonEvent,
    TemporalUnit,
    TrimSide,
)
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.registry import find, function, known_names, resolve_call
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.binder.context import BindingContext
from millrace.planner.catalog_reader import NameKind
from millrace.sql.dialect import nodes

__all__ = ["called_function", "definition_of", "function_kind", "resolved_call", "split_arguments"]


def split_arguments(
    arguments: list[exp.Expr], bind: Callable[[exp.Expr], ResolvedExpression]
) -> tuple[tuple[ResolvedExpression, ...], CallOptions | None]:
    """The bound arguments that are expressions, and the call options made of the other
    arguments."""
    bound: list[ResolvedExpression] = []
    clauses: list[JsonClause] = []
    options: CallOptions | None = None
    for argument in arguments:
        if isinstance(argument, nodes.TimeUnit):
            options = TemporalUnit(str(argument.this).upper())
        elif isinstance(argument, exp.Var):
            options = TrimSide(argument.name.upper())
        elif isinstance(argument, nodes.JsonBehavior):
            clauses.append(_clause(argument, bind))
        elif isinstance(argument, nodes.JsonEntry):
            bound += [bind(argument.this), bind(argument.expression)]
        elif not isinstance(argument, exp.Star):
            bound.append(bind(argument))
    return tuple(bound), JsonClauses(tuple(clauses)) if clauses else options


def _clause(node: nodes.JsonBehavior, bind: Callable[[exp.Expr], ResolvedExpression]) -> JsonClause:
    what, value = node.args["this"], node.args.get("expression")
    choice = what.logical_type if isinstance(what, nodes.TypeName) else JsonChoice(what)
    default = None if value is None else bind(value)
    return JsonClause(JsonEvent(node.args["on"]), choice, default)


def definition_of(context: BindingContext, call: nodes.FunctionCall) -> FunctionDefinition | None:
    """Definition of a user function; None if the function is built in or unknown."""
    own: FunctionDefinition | None = call.args.get("definition")
    return own or context.catalog.resolve_function(call.path)


def called_function(context: BindingContext, call: nodes.FunctionCall) -> FunctionDefinition:
    """The called function; `function_kind` has already made sure that it exists."""
    return definition_of(context, call) or function(call.name)


def function_kind(context: BindingContext, call: nodes.FunctionCall) -> FunctionKind:
    """Kind of the called function.

    Raises:
        SqlValidationError: the function does not exist.
    """
    definition = definition_of(context, call)
    if definition is None and len(call.path) == 1:
        definition = find(call.name)
    if definition is None:
        known = [*context.catalog.names(NameKind.FUNCTION), *known_names()]
        hint = did_you_mean(call.name, known)
        name = ".".join(call.path)
        raise context.refusal(call, f"there is no function called {name!r}{hint}")
    return definition.kind


def resolved_call(
    context: BindingContext,
    node: exp.Expr,
    definition: FunctionDefinition,
    arguments: tuple[ResolvedExpression, ...],
    options: CallOptions | None = None,
) -> ResolvedExpression:
    """A call with its type, and with implicit casts of its arguments.

    Raises:
        SqlValidationError: the function does not take such arguments.
    """
    try:
        return resolve_call(definition, arguments, options)
    except JobDefinitionError as error:
        raise context.refusal(node, str(error)) from None
