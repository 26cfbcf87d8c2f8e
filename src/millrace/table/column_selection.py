"""Columns selected by name, position or range. Flink docs: "Table API", "Column Operations"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.table.syntax import column_node

__all__ = ["ColumnRange", "ColumnSelection", "no_such_column", "with_selections_expanded"]


class ColumnRange(exp.Expression, exp.Condition):
    """``range_("b", "d")``: ``this`` and ``expression`` are names, or positions from 1."""

    arg_types = {"this": True, "expression": True}  # noqa: RUF012  # as sqlglot declares it


class ColumnSelection(exp.Expression, exp.Condition):
    """``with_columns(...)``, or with ``without`` all other columns."""

    arg_types = {"expressions": True, "without": True}  # noqa: RUF012  # as sqlglot declares it


def with_selections_expanded(node: exp.Expr, columns: Sequence[str]) -> list[exp.Expr]:
    """An expression in which selections of columns are replaced by the columns, also within
    arguments of calls.

    Raises:
        JobDefinitionError: there is no such column.
    """
    if isinstance(node, ColumnSelection):
        return [column_node(name) for name in _chosen(node, columns)]
    if isinstance(node, ColumnRange):
        raise JobDefinitionError(
            "range_() is allowed only inside with_columns() or without_columns()"
        )
    _expand_arguments(node, columns)
    return [node]


def _expand_arguments(node: exp.Expr, columns: Sequence[str]) -> None:
    for key, part in list(node.args.items()):
        if isinstance(part, exp.Expression):
            _expand_arguments(part, columns)
        elif isinstance(part, list) and any(isinstance(item, exp.Expression) for item in part):
            expanded = [
                expression
                for item in part
                for expression in (
                    with_selections_expanded(item, columns)
                    if isinstance(item, exp.Expression)
                    else [item]
                )
            ]
            node.set(key, expanded)


def _chosen(selection: ColumnSelection, columns: Sequence[str]) -> list[str]:
    names = [name for part in selection.expressions for name in _names(part, columns)]
    if selection.args["without"]:
        return [name for name in columns if name not in names]
    return list(dict.fromkeys(names))


def _names(part: Any, columns: Sequence[str]) -> Iterator[str]:
    node = part
    if isinstance(node, exp.Star):
        yield from columns
    elif isinstance(node, ColumnRange):
        first, last = (_position(end, columns) for end in (node.this, node.expression))
        if first > last:
            raise JobDefinitionError(f"range_(): {columns[first]!r} comes after {columns[last]!r}")
        yield from columns[first : last + 1]
    elif isinstance(node, ColumnSelection):
        yield from _chosen(node, columns)
    elif isinstance(node, exp.Literal):
        yield columns[_position(node.this if node.is_string else int(node.this), columns)]
    else:
        name = node.name if isinstance(node, exp.Expression) else node
        yield columns[_position(name, columns)]


def _position(column: Any, columns: Sequence[str]) -> int:
    if isinstance(column, int):
        if not 1 <= column <= len(columns):
            raise JobDefinitionError(
                f"there is no column {column}: positions are numbers from 1, and the table has "
                f"{len(columns)} columns"
            )
        return column - 1
    if column not in columns:
        hint = did_you_mean(str(column), columns)
        raise JobDefinitionError(f"there is no column {column!r}{hint}")
    return columns.index(column)


def no_such_column(name: str, columns: Sequence[str]) -> str:
    """Error for an attribute of a table that is neither a method nor a column.

    Example:
        >>> text = no_such_column("prise", ["name", "price"])
        >>> text.partition(": ")[0]
        'a table has no method prise(), and this table has no column of this name'
        >>> text.partition(": ")[2]
        "name, price; did you mean 'price'?"
    """
    known = ", ".join(columns)
    hint = did_you_mean(name, columns)
    return (
        f"a table has no method {name}(), and this table has no column of this name: {known}{hint}"
    )
