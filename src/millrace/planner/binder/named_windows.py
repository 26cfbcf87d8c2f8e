"""The WINDOW clause, whose windows are checked even if no call uses them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millrace.planner.binder.aggregate_calls import CallBinder, bind_specification
from millrace.planner.binder.context import BindingContext
from millrace.sql.dialect import nodes

__all__ = ["check_windows", "named_windows"]


def named_windows(
    context: BindingContext, clauses: Sequence[exp.Expr]
) -> dict[str, nodes.WindowSpecification]:
    """Windows of a WINDOW clause by name.

    Raises:
        SqlValidationError: two have the same name, or are the same.
    """
    found: dict[str, nodes.WindowSpecification] = {}
    for clause in clauses:
        name, window = clause.this.name, clause.expression
        if name.upper() in map(str.upper, found):
            raise context.refusal(
                clause.this, f"Duplicate window names not allowed: there is a window {name!r} above"
            )
        if window in found.values():
            raise context.refusal(
                window, "Duplicate window specification not allowed in the same window clause"
            )
        found[name] = window
    return found


def check_windows(binder: CallBinder, windows: dict[str, nodes.WindowSpecification]) -> None:
    """Bind each window of a WINDOW clause; a window may extend earlier ones.

    Raises:
        SqlValidationError: a window has a column, function or window that does not exist.
    """
    before: dict[str, nodes.WindowSpecification] = {}
    for name, window in windows.items():
        bind_specification(binder, window, before)
        before[name] = window
