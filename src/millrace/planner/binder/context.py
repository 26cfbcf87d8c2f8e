"""`BindingContext`: state that all parts of the binder share for one statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from millrace.planner.binder.errors import SqlValidationError
from millrace.planner.binder.scope import Scope
from millrace.planner.catalog_reader import CatalogReader
from millrace.planner.relational.rel_node import RelNode
from millrace.sql.position import StatementPosition, position_of

__all__ = ["BindingContext", "CommonTables"]

N = TypeVar("N", bound=RelNode)

CommonTables = Mapping[str, RelNode]
"""Queries of WITH by name: bound once, however often they are read."""


@dataclass(frozen=True)
class BindingContext:
    """State that all parts of the binder share for one statement.

    Attributes:
        text: text that was parsed, for errors.
        bind_query: binds a query inside another query, given the outer scope.
        bind_view: binds the text of a view, with the catalog and database of the view.
        written_names: column names as written, for queries with duplicate names; in the rows the
            names are unique.
    """

    catalog: CatalogReader
    text: str | None
    bind_query: Callable[[exp.Expr, Scope | None, CommonTables], RelNode]
    bind_view: Callable[[str, CatalogReader], RelNode]
    written_names: dict[RelNode, tuple[str, ...]] = field(default_factory=dict)

    def refusal(self, node: exp.Expr | None, reason: str) -> SqlValidationError:
        """The error to raise about a piece of the statement's text."""
        return SqlValidationError(reason, self.text, None if node is None else position_of(node))

    def place(self, node: exp.Expr) -> StatementPosition | None:
        """Position of a syntax node in the statement's text; None if there is no text."""
        position = position_of(node)
        return (
            StatementPosition(self.text, position) if self.text and position is not None else None
        )

    def placed(self, rows: N, node: exp.Expr) -> N:
        """The relational node, marked with the position of its syntax in the statement's text."""
        place = self.place(node)
        return rows if place is None else replace(rows, place=place)
