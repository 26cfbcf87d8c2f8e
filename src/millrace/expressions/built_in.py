"""Built-in functions that the language, rules and operators refer to; compared by identity.

Flink: ``BuiltInFunctionDefinitions``.

    >>> from millrace.expressions.registry import function
    >>> function("and") is AND
    True
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.registry import function
from millrace.expressions.result_types import fixed

AND: Final = function("AND")
OR: Final = function("OR")
NOT: Final = function("NOT")
IS_NULL: Final = function("IS NULL")
IS_NOT_NULL: Final = function("IS NOT NULL")
IS_TRUE: Final = function("IS TRUE")
IS_NOT_TRUE: Final = function("IS NOT TRUE")
IS_FALSE: Final = function("IS FALSE")
IS_NOT_FALSE: Final = function("IS NOT FALSE")
IS_JSON: Final = function("IS JSON")

EQUALS: Final = function("=")
NOT_EQUALS: Final = function("<>")
LESS_THAN: Final = function("<")
LESS_THAN_OR_EQUAL: Final = function("<=")
GREATER_THAN: Final = function(">")
GREATER_THAN_OR_EQUAL: Final = function(">=")
IS_DISTINCT_FROM: Final = function("IS DISTINCT FROM")
IS_NOT_DISTINCT_FROM: Final = function("IS NOT DISTINCT FROM")
IN: Final = function("IN")
BETWEEN: Final = function("BETWEEN")
TRIM: Final = function("TRIM")
LIKE: Final = function("LIKE")
SIMILAR: Final = function("SIMILAR TO")

PLUS: Final = function("+")
MINUS: Final = function("-")
TIMES: Final = function("*")
DIVIDE: Final = function("/")
MOD: Final = function("%")
MINUS_PREFIX: Final = function("NEGATE")
CONCAT_OPERATOR: Final = function("||")

CASE: Final = function("CASE")
COALESCE: Final = function("COALESCE")
IF: Final = function("IF")
IF_NULL: Final = function("IFNULL")
NULL_IF: Final = function("NULLIF")
GREATEST: Final = function("GREATEST")
LEAST: Final = function("LEAST")

ROW: Final = function("ROW")
ARRAY: Final = function("ARRAY")
MAP: Final = function("MAP")
GET: Final = function("GET")
ITEM: Final = function("ITEM")

JSON: Final = function("JSON")
JSON_OBJECT: Final = function("JSON_OBJECT")
JSON_ARRAY: Final = function("JSON_ARRAY")

CURRENT_DATE: Final = function("CURRENT_DATE")
CURRENT_TIME: Final = function("CURRENT_TIME")
CURRENT_TIMESTAMP: Final = function("CURRENT_TIMESTAMP")
CURRENT_ROW_TIMESTAMP: Final = function("CURRENT_ROW_TIMESTAMP")
LOCAL_TIME: Final = function("LOCALTIME")
LOCAL_TIMESTAMP: Final = function("LOCALTIMESTAMP")
NOW: Final = function("NOW")
FROM_UNIXTIME: Final = function("FROM_UNIXTIME")
UNIX_TIMESTAMP: Final = function("UNIX_TIMESTAMP")
PROCTIME: Final = function("PROCTIME")
CURRENT_WATERMARK: Final = function("CURRENT_WATERMARK")

COUNT: Final = function("COUNT")
SUM: Final = function("SUM")
SUM0: Final = function("SUM0")
AVG: Final = function("AVG")
MIN: Final = function("MIN")
MAX: Final = function("MAX")
STDDEV_POP: Final = function("STDDEV_POP")
STDDEV_SAMP: Final = function("STDDEV_SAMP")
VAR_POP: Final = function("VAR_POP")
VAR_SAMP: Final = function("VAR_SAMP")
PERCENTILE: Final = function("PERCENTILE")
FIRST_VALUE: Final = function("FIRST_VALUE")
LAST_VALUE: Final = function("LAST_VALUE")
SINGLE_VALUE: Final = function("SINGLE_VALUE")
COLLECT: Final = function("COLLECT")
BITMAP_BUILD_AGG: Final = function("BITMAP_BUILD_AGG")
BITMAP_BUILD_CARDINALITY_AGG: Final = function("BITMAP_BUILD_CARDINALITY_AGG")
BITMAP_AND_AGG: Final = function("BITMAP_AND_AGG")
BITMAP_AND_CARDINALITY_AGG: Final = function("BITMAP_AND_CARDINALITY_AGG")
BITMAP_OR_AGG: Final = function("BITMAP_OR_AGG")
BITMAP_OR_CARDINALITY_AGG: Final = function("BITMAP_OR_CARDINALITY_AGG")
BITMAP_XOR_AGG: Final = function("BITMAP_XOR_AGG")
BITMAP_XOR_CARDINALITY_AGG: Final = function("BITMAP_XOR_CARDINALITY_AGG")
ARRAY_AGG: Final = function("ARRAY_AGG")
LISTAGG: Final = function("LISTAGG")
JSON_OBJECTAGG: Final = function("JSON_OBJECTAGG")
JSON_ARRAYAGG: Final = function("JSON_ARRAYAGG")
GROUPING: Final = FunctionDefinition(
    "GROUPING", (("<ANY>*",),), fixed("BIGINT NOT NULL"), kind=FunctionKind.AGGREGATE
)
"""Part of the language: no catalog lists it."""

ROW_NUMBER: Final = function("ROW_NUMBER")
RANK: Final = function("RANK")
DENSE_RANK: Final = function("DENSE_RANK")
PERCENT_RANK: Final = function("PERCENT_RANK")
CUME_DIST: Final = function("CUME_DIST")
NTILE: Final = function("NTILE")
LAG: Final = function("LAG")
LEAD: Final = function("LEAD")

NEGATED_COMPARISONS: Final[Mapping[FunctionDefinition, FunctionDefinition]] = {
    EQUALS: NOT_EQUALS,
    NOT_EQUALS: EQUALS,
    LESS_THAN: GREATER_THAN_OR_EQUAL,
    LESS_THAN_OR_EQUAL: GREATER_THAN,
    GREATER_THAN: LESS_THAN_OR_EQUAL,
    GREATER_THAN_OR_EQUAL: LESS_THAN,
}
"""Comparisons by those that hold of two values exactly if they do not."""
SWAPPED_COMPARISONS: Final[Mapping[FunctionDefinition, FunctionDefinition]] = {
    EQUALS: EQUALS,
    NOT_EQUALS: NOT_EQUALS,
    LESS_THAN: GREATER_THAN,
    LESS_THAN_OR_EQUAL: GREATER_THAN_OR_EQUAL,
    GREATER_THAN: LESS_THAN,
    GREATER_THAN_OR_EQUAL: LESS_THAN_OR_EQUAL,
}
"""Comparisons by those that mean the same with the operands changed over."""
