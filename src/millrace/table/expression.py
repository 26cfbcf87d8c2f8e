"""`Expression`: a column, a constant or a call of the Table API. Flink: ``Expression``.

Flink docs: "Table API", "System (Built-in) Functions".
"""

from __future__ import annotations

from enum import Enum
from typing import NoReturn, Self, TypeVar

from sqlglot import exp

from millrace.common.similar_names import did_you_mean
from millrace.sql.dialect.printer import to_sql
from millrace.table.calls.aggregates import AggregateFunctions
from millrace.table.calls.bitmaps import BitmapFunctions
from millrace.table.calls.collections import CollectionFunctions
from millrace.table.calls.json import (
    JsonExistsOnError,
    JsonFunctions,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from millrace.table.calls.mathematics import MathematicalFunctions
from millrace.table.calls.operators import Operators
from millrace.table.calls.temporal import TemporalFunctions
from millrace.table.calls.texts import TextFunctions
from millrace.table.data_types import DataTypes
from millrace.table.syntax import identifier
from millrace.table.types import DataType

__all__ = [
    "DataType",
    "DataTypes",
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]


def unaliased(node: exp.Expr) -> exp.Expr:
    """The tree of an expression without its alias."""
    return node.this if isinstance(node, exp.Alias) else node


class TimeIntervalUnit(Enum):
    """Units of `Expression.extract`, `Expression.floor` and `Expression.ceil`."""

    YEAR = 0
    YEAR_TO_MONTH = 1
    QUARTER = 2
    MONTH = 3
    WEEK = 4
    DAY = 5
    DAY_TO_HOUR = 6
    DAY_TO_MINUTE = 7
    DAY_TO_SECOND = 8
    HOUR = 9
    SECOND = 10
    HOUR_TO_MINUTE = 11
    HOUR_TO_SECOND = 12
    MINUTE = 13
    MINUTE_TO_SECOND = 14
    DECADE = 15
    CENTURY = 16
    MILLENNIUM = 17
    MILLISECOND = 18


class TimePointUnit(Enum):
    """Units of `millrace.table.expressions.timestamp_diff`."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    HOUR = 3
    MINUTE = 4
    SECOND = 5
    QUARTER = 6
    WEEK = 7
    MILLISECOND = 8
    MICROSECOND = 9


class Expression(
    Operators,
    MathematicalFunctions,
    TextFunctions,
    TemporalFunctions,
    CollectionFunctions,
    BitmapFunctions,
    AggregateFunctions,
    JsonFunctions,
):
    """A column, a constant or a call, made by `millrace.table.expressions`.

    Python's operators make calls; ``&``, ``|`` and ``~`` are AND, OR and NOT. Names and types are
    looked at when a `Table` takes the expression.

    Example:
        >>> from millrace.table.expressions import col
        >>> (col("price") * 2 > 10) & col("name").like("A%")
        price * 2 > 10 AND name LIKE 'A%'
    """

    __slots__ = ("alias_names",)

    def __init__(self, node: exp.Expr, alias_names: tuple[str, ...] = ()) -> None:
        super().__init__(node)
        self.alias_names = alias_names

    def alias(self, name: str, *extra_names: str) -> Self:
        """The expression under another name; for a table function, with names of its columns."""
        made = exp.Alias(this=unaliased(self.node), alias=identifier(name))
        return type(self)(made, (name, *extra_names))

    def __getattr__(self, name: str) -> NoReturn:
        message = f"an expression has no attribute {name!r}"
        if not name.startswith("_"):  # Python and pickle ask for names with an underscore
            near = did_you_mean(name, dir(type(self)))
            message += f"{near} A" if near else "; a"
            message += f" field of a row is .get({name!r})"
        raise AttributeError(message, name=name)

    def __getitem__(self, index: object) -> Self:
        return self.at(index)

    def __iter__(self) -> object:
        raise TypeError("an expression has no elements before the query runs")

    def __str__(self) -> str:
        try:
            return to_sql(self.node)
        except TypeError:
            return repr(self.node)

    __repr__ = __str__


T = TypeVar("T")
