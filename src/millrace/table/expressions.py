"""Expressions of the Table API: ``col``, ``lit``, ``call`` and other functions that begin one.

Flink: class ``Expressions``; PyFlink: ``pyflink.table.expressions``. Flink docs: "Table API",
"System (Built-in) Functions".

Example:
    >>> col("price") * (1 - lit(0.1))
    price * (1 - 0.1E0)
    >>> concat_ws("-", col("a"), col("b")).upper_case
    UPPER(CONCAT_WS('-', a, b))
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from sqlglot import exp

from millrace.common.types.logical.logical_type import LogicalType
from millrace.sql.dialect import nodes
from millrace.sql.parser import parse_expression
from millrace.table.calls.call_builder import given, node_of
from millrace.table.calls.json import behavior
from millrace.table.column_selection import ColumnRange, ColumnSelection
from millrace.table.data_types import declared_type
from millrace.table.expression import Expression, JsonOnNull, TimePointUnit
from millrace.table.functions.user_defined_function import (  # noqa: F401  (PyFlink has it here)
    UserDefinedFunctionWrapper,
)
from millrace.table.syntax import (
    call_node,
    cast_node,
    column_node,
    identifier,
    literal_node,
    unit_node,
)
from millrace.table.types import DataType  # noqa: F401  (PyFlink has it here)

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]


def _bound(unit: str, kind: str) -> Expression:
    bound = nodes.FrameBound(kind=kind)
    return Expression(nodes.WindowFrame(unit=unit, start=bound))


UNBOUNDED_ROW = _bound("ROWS", "PRECEDING")
"""A window of OVER from the first row of its partition on."""
UNBOUNDED_RANGE = _bound("RANGE", "PRECEDING")
"""A window of OVER from the earliest time of its partition on."""
CURRENT_ROW = _bound("ROWS", "CURRENT ROW")
"""A window of OVER up to the current row."""
CURRENT_RANGE = _bound("RANGE", "CURRENT ROW")
"""A window of OVER up to all rows of the current row's time."""


def _call(name: str, *arguments: Any) -> Expression:
    return Expression(call_node(name, map(node_of, arguments)))


def _call_with(name: str, *arguments: Any) -> Expression:
    """A call with the arguments up to the first that is None."""
    return _call(name, *given(arguments))


def _word(name: str) -> Expression:
    return Expression(call_node(name, (), bare=True))


def col(name: str) -> Expression:
    """A column of the table to which the expression is applied; ``*`` means all of them."""
    return Expression(column_node(name))


def lit(v: Any, data_type: LogicalType | str | None = None) -> Expression:
    """A constant, of the type of its Python value or of a given type.

    Raises:
        JobDefinitionError: there is no constant of its type.

    >>> lit(5), lit("a"), lit(1.5), lit(3, "BIGINT")
    (5, 'a', 1.5E0, CAST(3 AS BIGINT))
    """
    node = literal_node(v)
    return Expression(node if data_type is None else cast_node(node, declared_type(data_type)))


def null_of(data_type: LogicalType | str) -> Expression:
    """NULL of a type."""
    return lit(None, data_type)


def range_(start: str | int, end: str | int) -> Expression:
    """The columns from one column to another, given by names or positions (from 1), for
    `with_columns`."""
    return Expression(ColumnRange(this=start, expression=end))


def with_all_columns() -> Expression:
    """All columns."""
    return col("*")


def with_columns(head: Any, *tails: Any) -> Expression:
    """Some columns, given as `col`, by names, by positions (from 1), or as a `range_` of these.

    >>> with_columns(range_("b", "c"), "a").node.args["without"]
    False
    """
    return _selection((head, *tails), without=False)


def without_columns(head: Any, *tails: Any) -> Expression:
    """All columns except some, which are given as `col`, by names, by positions (from 1), or as
    a `range_` of these."""
    return _selection((head, *tails), without=True)


def _selection(parts: tuple[Any, ...], without: bool) -> Expression:
    return Expression(ColumnSelection(expressions=list(map(node_of, parts)), without=without))


def _joined(kind: type[exp.Expr], operands: tuple[Any, ...]) -> Expression:
    both = (node_of(operand) for operand in operands)
    return Expression(reduce(lambda one, two: kind(this=one, expression=two), both))


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether all conditions are true."""
    return _joined(exp.And, (predicate0, predicate1, *predicates))


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether one of the conditions is true."""
    return _joined(exp.Or, (predicate0, predicate1, *predicates))


def not_(expression: Expression) -> Expression:
    """Whether a condition is false."""
    return ~expression


def current_database() -> Expression:
    """Name of the current database."""
    return _call("CURRENT_DATABASE")


def current_date() -> Expression:
    """Today, in the session's time zone."""
    return _word("CURRENT_DATE")


def current_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _word("CURRENT_TIME")


def current_timestamp() -> Expression:
    """The current time, as a TIMESTAMP_LTZ."""
    return _word("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression:
    """The watermark of a rowtime attribute; NULL before the first watermark. (The argument's name
    is PyFlink's.)
    """
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _word("LOCALTIME")


def local_timestamp() -> Expression:
    """The current time, as a TIMESTAMP of the session's time zone."""
    return _word("LOCALTIMESTAMP")


def source_watermark() -> Expression:
    """The watermark of the source, in the schema of a table."""
    return _call("SOURCE_WATERMARK")


def to_date(date_str: Any, format: Any = None) -> Expression:
    """The DATE of a text in a format of Java."""
    return _call_with("TO_DATE", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression:
    """The TIMESTAMP of a text in a format of Java."""
    return _call_with("TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression:
    """The TIMESTAMP_LTZ of a number of seconds (precision 0) or milliseconds (3), or of a text."""
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two spans of time overlap. Each is given by its start, and by its end or its
    length."""
    periods = ((left_time_point, left_temporal), (right_time_point, right_temporal))
    rows = [
        nodes.RowConstructor(expressions=list(map(node_of, period)), implicit=True)
        for period in periods
    ]
    return Expression(nodes.Overlaps(this=rows[0], expression=rows[1]))


def date_format(timestamp: Any, format: Any) -> Expression:
    """A time as text in a format of Java."""
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression:
    """Number of whole units between two times."""
    unit = unit_node(time_point_unit.name)
    arguments = [unit, node_of(time_point1), node_of(time_point2)]
    return Expression(call_node("TIMESTAMPDIFF", arguments))


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression:
    """A time, given as text, converted from one time zone to another."""
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression:
    """Seconds since 1970 as text."""
    return _call_with("FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression:
    """Seconds since 1970 of a text, or of the current time."""
    return _call_with("UNIX_TIMESTAMP", date_str, format)


def array(head: Any, *tail: Any) -> Expression:
    """An array of values."""
    return Expression(nodes.ArrayConstructor(expressions=list(map(node_of, (head, *tail)))))


def row(head: Any, *tail: Any) -> Expression:
    """A row of values."""
    return Expression(nodes.RowConstructor(expressions=list(map(node_of, (head, *tail)))))


def object_of(class_name: str, *args: Any) -> Expression:
    """An object of a structured type: its class's name, then a name and a value for each field.

    Example:
        >>> object_of("shop.Item", "name", "pen", "n", 2)
        OBJECT_OF('shop.Item', 'name', 'pen', 'n', 2)
    """
    return _call("OBJECT_OF", class_name, *args)


def map_(key: Any, value: Any, *tail: Any) -> Expression:
    """A map of alternating keys and values."""
    return Expression(nodes.MapConstructor(expressions=list(map(node_of, (key, value, *tail)))))


def map_from_arrays(key: Any, value: Any) -> Expression:
    """A map of an array of keys and an array of values."""
    return _call("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression:
    """Names of columns, as an argument of a table function."""
    return Expression(nodes.Descriptor(expressions=list(map(identifier, column_names))))


def row_interval(rows: int) -> Expression:
    """A number of rows, for the bound of an OVER window or the size of `Tumble` and `Slide`.

    >>> row_interval(2).node.args["unit"]
    'ROWS'
    """
    bound = nodes.FrameBound(kind="PRECEDING", this=literal_node(rows))
    return Expression(nodes.WindowFrame(unit="ROWS", start=bound))


def pi() -> Expression:
    """The number pi."""
    return _call("PI")


def e() -> Expression:
    """The number e."""
    return _call("E")


def rand(seed: Any = None) -> Expression:
    """A random number from 0 to 1."""
    return _call_with("RAND", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression:
    """A random whole number from 0 up to, but not including, a bound."""
    return _call("RAND_INTEGER", bound) if seed is None else _call("RAND_INTEGER", seed, bound)


def atan2(y: Any, x: Any) -> Expression:
    """Arc tangent of y / x: the angle of the point (x, y), in radians."""
    return _call("ATAN2", y, x)


def negative(v: Any) -> Expression:
    """The negated number."""
    return Expression(exp.Neg(this=node_of(v)))


def concat(first: Any, *others: Any) -> Expression:
    """The concatenation of texts."""
    return _call("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression:
    """Texts joined by a separator; NULL is skipped."""
    return _call("CONCAT_WS", separator, first, *others)


def uuid() -> Expression:
    """A new universally unique identifier for each row."""
    return _call("UUID")


def log(v: Any, base: Any = None) -> Expression:
    """Logarithm, natural or to a base."""
    return _call("LOG", v) if base is None else _call("LOG", base, v)


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression:
    """One value if a condition is true, else another."""
    return Expression(node_of(condition)).then(if_true, if_false)


def coalesce(*args: Any) -> Expression:
    """The first value that is not NULL."""
    return _call("COALESCE", *args)


def json(value: Any) -> Expression:
    """A text that is JSON already. `json_object` and `json_array` insert it unchanged."""
    return _call("JSON", value)


def json_string(value: Any) -> Expression:
    """A value as JSON."""
    return _call("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression:
    """A JSON object of alternating keys and values.

    >>> json_object(JsonOnNull.NULL, "a", col("b"))
    JSON_OBJECT(KEY 'a' VALUE b NULL ON NULL)
    """
    pairs = zip(args[::2], args[1::2], strict=True)
    entries = [
        nodes.JsonEntry(this=node_of(key), expression=node_of(value)) for key, value in pairs
    ]
    return Expression(call_node("JSON_OBJECT", [*entries, behavior("NULL", on_null.name)]))


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression:
    """A JSON object of a group's keys and values."""
    entry = nodes.JsonEntry(this=node_of(key_expr), expression=node_of(value_expr))
    return Expression(call_node("JSON_OBJECTAGG", [entry, behavior("NULL", on_null.name)]))


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression:
    """A JSON array of values."""
    values = [*map(node_of, args), behavior("NULL", on_null.name)]
    return Expression(call_node("JSON_ARRAY", values))


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression:
    """A JSON array of a group's values."""
    values = [node_of(item_expr), behavior("NULL", on_null.name)]
    return Expression(call_node("JSON_ARRAYAGG", values))


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value of an earlier row, for OVER."""
    return _call_with("LAG", expr, offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value of a later row, for OVER."""
    return _call_with("LEAD", expr, offset, default)


def call(f: Any, *args: Any) -> Expression:
    """A call of a function: by the name of a built-in or registered one, or of a Python function
    from `millrace.table.udf`."""
    return _call(f, *args) if isinstance(f, str) else f(*args)


def call_sql(sql_expression: str) -> Expression:
    """An expression written in SQL.

    Raises:
        SqlParserError: the text is no expression; the error shows where.

    >>> call_sql("a + 1 > 2")
    a + 1 > 2
    """
    return Expression(parse_expression(sql_expression))
