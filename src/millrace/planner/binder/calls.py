"""Calls of scalar functions: from the syntax of their arguments to arguments and payload.

What is no expression becomes the call's ``payload``:

- a unit of time, its name: ``EXTRACT(YEAR FROM x)`` is ``EXTRACT(x)`` with payload ``"YEAR"``;
- TRIM's word: ``TRIM(x, y)`` of the text to remove and the text, with payload ``"BOTH"``;
- clauses of JSON functions: a tuple of ``(clause, what, value)``, such as
  ``("EMPTY", "DEFAULT", ValueLiteral(0))`` or ``("RETURNING", IntType(), None)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.registry import find, function, nearest, resolve_call
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.errors import nearest_name
from millrace.planner.catalog_reader import NameKind
from millrace.sql.dialect import nodes

__all__ = ["called_function", "definition_of", "function_kind", "resolved_call", "split_arguments"]


def split_arguments(
    arguments: list[exp.Expr], bind: Callable[[exp.Expr], ResolvedExpression]
) -> tuple[tuple[ResolvedExpression, ...], Any]:
    """Arguments that are expressions, bound, and the payload that the others make."""
    bound: list[ResolvedExpression] = []
    clauses: list[tuple[str, Any, ResolvedExpression | None]] = []
    payload: Any = None
    for argument in arguments:
        if isinstance(argument, nodes.TimeUnit):
            payload = str(argument.this).upper()
        elif isinstance(argument, exp.Var):
            payload = argument.name.upper()
        elif isinstance(argument, nodes.JsonBehavior):
            what = argument.args["this"]
            kind = what.logical_type if isinstance(what, nodes.TypeName) else str(what)
            value = argument.args.get("expression")
            clauses.append((argument.args["on"], kind, None if value is None else bind(value)))
        elif isinstance(argument, nodes.JsonEntry):
            bound += [bind(argument.this), bind(argument.expression)]
        elif not isinstance(argument, exp.Star):
            bound.append(bind(argument))
    return tuple(bound), tuple(clauses) if clauses else payload


def definition_of(context: BindingContext, call: nodes.FunctionCall) -> FunctionDefinition | None:
    """The definition of a function of the user; None: it is built in, or there is none."""
    own: FunctionDefinition | None = call.args.get("definition")
    return own or context.catalog.resolve_function(call.path)


def called_function(context: BindingContext, call: nodes.FunctionCall) -> FunctionDefinition:
    """The function that is called, of which is known that there is one (`function_kind`)."""
    return definition_of(context, call) or function(call.name)


def function_kind(context: BindingContext, call: nodes.FunctionCall) -> FunctionKind:
    """What kind of function is called.

    Raises:
        SqlValidationError: there is no such function.
    """
    definition = definition_of(context, call)
    if definition is None and len(call.path) == 1:
        definition = find(call.name)
    if definition is None:
        known = list(context.catalog.names(NameKind.FUNCTION))
        known += nearest(call.name)
        hint = nearest_name(call.name, known)
        name = ".".join(call.path)
        raise context.refusal(call, f"there is no function called {name!r}{hint}")
    return definition.kind


def resolved_call(
    context: BindingContext,
    node: exp.Expr,
    definition: FunctionDefinition,
    arguments: tuple[ResolvedExpression, ...],
    payload: Any = None,
) -> ResolvedExpression:
    """A call with implicit casts and its type.

    Raises:
        SqlValidationError: the function does not take such arguments.
    """
    try:
        return resolve_call(definition, arguments, payload)
    except JobDefinitionError as error:
        raise context.refusal(node, str(error)) from None
