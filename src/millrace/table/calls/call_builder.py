"""`CallBuilder`: an expression of the Table API, with its syntax tree."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, Self

from sqlglot import exp

from millrace.table.syntax import call_node, literal_node

__all__ = ["CallBuilder", "given", "node_of"]


class CallBuilder:
    """An expression, with methods that build function calls on it.

    Args:
        node: its syntax tree.
    """

    __slots__ = ("node",)

    def __init__(self, node: exp.Expr) -> None:
        self.node = node

    def _made(self, node: exp.Expr) -> Self:
        return type(self)(node)

    def _call(self, name: str, *arguments: Any) -> Self:
        """A call of a function whose first argument is this expression."""
        return self._made(call_node(name, [self.node, *map(node_of, arguments)]))

    def _call_with(self, name: str, *arguments: Any) -> Self:
        """`_call` with the arguments up to the first that is None."""
        return self._call(name, *given(arguments))


def given(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments before the first None. They are compared by identity, because ``==`` on an
    expression builds a new expression.
    """
    return tuple(takewhile(lambda argument: argument is not None, arguments))


def node_of(value: Any) -> exp.Expr:
    """The syntax tree of an expression, or of a Python value."""
    return value.node if isinstance(value, CallBuilder) else literal_node(value)
