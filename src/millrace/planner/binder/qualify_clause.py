"""`QualifyNames`: names of SELECT's columns in a QUALIFY clause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlglot import exp

from millrace.expressions.function_definition import FunctionKind
from millrace.expressions.resolved import ResolvedExpression
from millrace.planner.binder.calls import function_kind
from millrace.planner.binder.context import BindingContext
from millrace.planner.binder.placeholders import OverPlaceholder, has
from millrace.sql.dialect import nodes
from millrace.sql.dialect.nodes import names_of

__all__ = ["QualifyNames"]


class QualifyNames:
    """Finds the column of SELECT that a name in QUALIFY refers to.

    Inside an aggregate, and inside OVER where the column is made by OVER itself, a name is that of
    a column of FROM.

    Args:
        items: names and expressions of SELECT.
    """

    def __init__(
        self, context: BindingContext, items: Sequence[tuple[str | None, ResolvedExpression]]
    ) -> None:
        self._context = context
        self._count = Counter(name for name, _ in items)
        self._columns = dict(items)

    def find(self, node: exp.Expr) -> ResolvedExpression | None:
        """The column that a node names; None if the node does not name a column of SELECT.

        Raises:
            SqlValidationError: several columns have the name.
        """
        names = names_of(node)
        if names is None or len(names) != 1 or names[0] not in self._columns:
            return None
        column = self._columns[names[0]]
        for call in _calls_around(node):
            if call.args.get("over") is not None:
                if has(column, OverPlaceholder):
                    return None
            elif function_kind(self._context, call) is FunctionKind.AGGREGATE:
                return None
        if self._count[names[0]] > 1:
            raise self._context.refusal(
                node, f"the column {names[0]!r} is ambiguous: SELECT has several of that name"
            )
        return column


def _calls_around(node: exp.Expr) -> list[nodes.FunctionCall]:
    found: list[nodes.FunctionCall] = []
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Qualify):
        if isinstance(parent, nodes.FunctionCall):
            found.append(parent)
        parent = parent.parent
    return found
