"""Hints of a SELECT and of a table: the known hints, and the tables they name.

Flink docs, "Hints": a hint that is not known, or whose table is not in the query, is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.scope import Scope
from millrace.sql.dialect import nodes

__all__ = ["query_hints", "require_tables", "table_options", "written_hints"]

_OF_QUERIES = (
    *("OPTIONS", "STATE_TTL", "LOOKUP", "MULTI_JOIN"),
    *("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP"),
)
"""Hints of a query. Those about the exchange of rows change nothing: Spark decides it."""
_OF_TABLES = ("OPTIONS",)


def written_hints(select: exp.Select) -> Sequence[Any]:
    """Syntax nodes of the hints after SELECT."""
    hint = select.args.get("hint")
    return [] if hint is None else hint.expressions


def query_hints(context: BindingContext, select: exp.Select) -> tuple[tuple[str, Any], ...]:
    """The hints after SELECT, as pairs of a name and its options.

    Raises:
        SqlValidationError: the hint is unknown.
    """
    made: list[tuple[str, Any]] = []
    for hint in written_hints(select):
        _require_known(context, hint, _OF_QUERIES)
        if hint.options:
            made.append((hint.name.upper(), tuple(hint.options.items())))
        else:
            made.append((hint.name.upper(), tuple(part.name for part in hint.expressions)))
    return tuple(made)


def require_tables(context: BindingContext, select: exp.Select, scope: Scope) -> None:
    """Refuse a hint that names a table which is not in FROM.

    Raises:
        SqlValidationError: there is one.
    """
    for hint in written_hints(select):
        for name in _tables_of(hint):
            if not any(table.matches((name,)) for table in scope.tables):
                raise context.refusal(
                    hint,
                    f"{hint.name.upper()}: there is no table {name!r} in FROM"
                    + did_you_mean(name, scope.table_names()),
                )


def table_options(context: BindingContext, table: exp.Expr) -> tuple[tuple[str, str], ...]:
    """Options that the hint after a table sets for the table.

    Raises:
        SqlValidationError: the hint is unknown.
    """
    options: tuple[tuple[str, str], ...] = ()
    for hint in table.args.get("hints") or ():
        if isinstance(hint, nodes.Hint):
            _require_known(context, hint, _OF_TABLES)
            options += tuple(hint.options.items())
    return options


def _require_known(context: BindingContext, hint: Any, known: Sequence[str]) -> None:
    if hint.name.upper() not in known:
        near = did_you_mean(hint.name.upper(), known)
        raise context.refusal(hint, f"there is no hint called {hint.name!r}{near}")


def _tables_of(hint: Any) -> list[str]:
    match hint.name.upper():
        case "OPTIONS":
            return []
        case "STATE_TTL":
            return list(hint.options)
        case "LOOKUP":
            return [name for key, name in hint.options.items() if key == "table"]
    return [part.name for part in hint.expressions]
