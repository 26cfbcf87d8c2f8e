"""`Scope`: columns that the names in a query can refer to, including those of the outer queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.resolved import FieldReference, ResolvedExpression
from millrace.planner.relational.outer_references import from_inside

__all__ = ["AmbiguousNameError", "FoundColumn", "Scope", "ScopeTable", "table_of"]


class AmbiguousNameError(Exception):
    """A name refers to several columns, of several tables or of one query.

    Args:
        name: name of the columns.
        within_one: whether the columns belong to one query.
    """

    def __init__(self, name: str, within_one: bool) -> None:
        super().__init__(name)
        self.within_one = within_one


@dataclass(frozen=True, slots=True)
class ScopeTable:
    """A table in FROM.

    Attributes:
        path: alias of the table, or catalog, database and name. A qualifier is a suffix of the
            path.
        columns: names and the positions in the row of the whole FROM clause.
    """

    path: tuple[str, ...]
    columns: tuple[FieldReference, ...]

    def matches(self, qualifier: tuple[str, ...]) -> bool:
        """Whether a qualifier refers to this table."""
        return bool(self.path) and self.path[-len(qualifier) :] == qualifier

    def called(self, names: tuple[str, ...]) -> ScopeTable:
        """The same table with other column names, which may contain duplicates."""
        columns = (
            FieldReference(column.index, column.type, name)
            for column, name in zip(self.columns, names, strict=True)
        )
        return ScopeTable(self.path, tuple(columns))

    def shifted(self, by: int) -> ScopeTable:
        """The same table, with its columns further to the right in the row of a join."""
        columns = (
            FieldReference(column.index + by, column.type, column.name) for column in self.columns
        )
        return ScopeTable(self.path, tuple(columns))

    def nullable(self) -> ScopeTable:
        """The same table on the optional side of an outer join, with nullable columns."""
        columns = (
            FieldReference(column.index, column.type.with_nullable(True), column.name)
            for column in self.columns
        )
        return ScopeTable(self.path, tuple(columns))


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """Result of resolving a name: a column, and the rest of the name, which refers to its nested
    fields."""

    expression: ResolvedExpression
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Scope:
    """The tables of FROM, from left to right.

    Attributes:
        merged: columns of USING and NATURAL, which unqualified names mean: one for two.
        parent: the scope of the query around this one, for correlated subqueries.
    """

    tables: tuple[ScopeTable, ...] = ()
    merged: Mapping[str, ResolvedExpression] = field(default_factory=dict)
    parent: Scope | None = None

    @property
    def width(self) -> int:
        """Number of columns of the row."""
        return sum(len(table.columns) for table in self.tables)

    def within(self, parent: Scope | None) -> Scope:
        """The same tables as the scope of a subquery, with another scope outside."""
        return Scope(self.tables, self.merged, parent)

    def find(self, names: tuple[str, ...]) -> FoundColumn | None:
        """The column that a name refers to in this scope or, failing that, in the outer scopes.

        Raises:
            AmbiguousNameError: an unqualified name is in several tables.
        """
        scope: Scope | None = self
        level = 0
        while scope is not None:
            column = scope._find_here(names)
            if column is not None:
                expression = (
                    column.expression if level == 0 else from_inside(column.expression, level)
                )
                return FoundColumn(expression, column.fields)
            scope, level = scope.parent, level + 1
        return None

    def _find_here(self, names: tuple[str, ...]) -> FoundColumn | None:
        # a table's name wins over a column of rows that is called the same
        for length in range(min(3, len(names) - 1), 0, -1):
            for table in self.tables:
                if table.matches(names[:length]):
                    columns = [column for column in table.columns if column.name == names[length]]
                    if len(columns) > 1:
                        raise AmbiguousNameError(names[length], True)
                    if columns:
                        return FoundColumn(columns[0], names[length + 1 :])
        if names[0] in self.merged:
            return FoundColumn(self.merged[names[0]], names[1:])
        matching = [
            column for table in self.tables for column in table.columns if column.name == names[0]
        ]
        if len(matching) > 1:
            shared = [
                sum(column.name == names[0] for column in table.columns) for table in self.tables
            ]
            raise AmbiguousNameError(names[0], max(shared) > 1)
        return FoundColumn(matching[0], names[1:]) if matching else None

    def table(self, qualifier: tuple[str, ...]) -> ScopeTable | None:
        """The table that ``t.*`` refers to."""
        return next((table for table in self.tables if table.matches(qualifier)), None)

    def star(self) -> Iterator[tuple[str, ResolvedExpression]]:
        """The columns of ``*``: first each column of USING once, then all other columns."""
        yield from self.merged.items()
        for table in self.tables:
            for column in table.columns:
                if column.name not in self.merged:
                    yield column.name, column

    def names(self) -> Iterator[str]:
        """Column names to suggest in an error."""
        for table in self._all_tables():
            yield from (column.name for column in table.columns)

    def table_names(self) -> list[str]:
        """Table names to suggest in an error."""
        return [table.path[-1] for table in self._all_tables() if table.path]

    def _all_tables(self) -> Iterator[ScopeTable]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope.tables
            scope = scope.parent


def table_of(path: tuple[str, ...], row_type: RowType) -> ScopeTable:
    """The `ScopeTable` for a table that stands alone in FROM."""
    columns = (
        FieldReference(i, row_field.type, row_field.name) for i, row_field in enumerate(row_type)
    )
    return ScopeTable(path, tuple(columns))
