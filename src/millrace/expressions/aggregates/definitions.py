"""Aggregate functions and their types (Flink docs, "System (Built-in) Functions", Aggregate)."""

from __future__ import annotations

from collections.abc import Callable

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionKind,
    FunctionResolutionError,
    ResultStrategy,
    Signature,
)
from millrace.expressions.parameters import NUMBERS
from millrace.expressions.result_types import fixed

__all__ = ["AGGREGATES"]

CATEGORY = "Aggregate"


def _sum(context: CallContext) -> LogicalType:
    kind = context.types[0]
    if isinstance(kind, logical.DecimalType):
        return logical.DecimalType(logical.MAX_PRECISION, kind.scale)
    return kind.with_nullable(True)


def _average(context: CallContext) -> LogicalType:
    kind = context.types[0]
    if isinstance(kind, logical.DecimalType):
        return logical.DecimalType(logical.MAX_PRECISION, max(kind.scale, 6))
    return kind.with_nullable(True)


def _spread(context: CallContext) -> LogicalType:
    return _average(context)


def _argument(context: CallContext) -> LogicalType:
    return context.types[0].with_nullable(True)


def _ordered(context: CallContext) -> LogicalType:
    kind = _argument(context)
    if kind.children():
        raise FunctionResolutionError(
            f"{context.name} takes values that have an order; arrays, maps and rows have none"
        )
    return kind


def _count_of(made: Callable[[LogicalType], LogicalType]) -> ResultStrategy:
    return lambda context: made(context.types[0])


def _percentile(context: CallContext) -> LogicalType:
    shares = context.types[1]
    if isinstance(shares, logical.ArrayType):
        if not isinstance(shares.element_type, NUMBERS):
            raise FunctionResolutionError(f"PERCENTILE: shares must be numbers, not {shares}")
        return logical.ArrayType(logical.DoubleType())
    return logical.DoubleType()


def _aggregate(
    name: str, result: ResultStrategy, text: str, *signatures: Signature
) -> FunctionDefinition:
    return FunctionDefinition(
        name,
        signatures,
        result,
        kind=FunctionKind.AGGREGATE,
        category=CATEGORY,
        text=text,
    )


def _window_size(name: str, result: str, text: str, *signatures: Signature) -> FunctionDefinition:
    return _aggregate(name, fixed(result), text, *(signatures or ((),)))


def _pairs(kind: LogicalType) -> LogicalType:
    return logical.MultisetType(kind)


AGGREGATES: tuple[FunctionDefinition, ...] = (
    _aggregate(
        "COUNT",
        fixed("BIGINT NOT NULL"),
        "Number of rows; with arguments, the number of rows where no argument is NULL.",
        ("<ANY>*",),
    ),
    _aggregate("SUM", _sum, "The sum of the values; NULL if there are none.", ("<NUMERIC>",)),
    _aggregate(
        "SUM0",
        lambda c: _sum(c).not_null(),
        "The sum of the values; 0 if there are none.",
        ("<NUMERIC>",),
    ),
    _aggregate("AVG", _average, "The mean of the values; truncated for integers.", ("<NUMERIC>",)),
    _aggregate("MIN", _ordered, "The least value.", ("<ANY>",)),
    _aggregate("MAX", _ordered, "The greatest value.", ("<ANY>",)),
    _aggregate("STDDEV_POP", _spread, "The population standard deviation.", ("<NUMERIC>",)),
    _aggregate("STDDEV_SAMP", _spread, "The sample standard deviation.", ("<NUMERIC>",)),
    _aggregate("VAR_POP", _spread, "The population variance.", ("<NUMERIC>",)),
    _aggregate("VAR_SAMP", _spread, "The sample variance.", ("<NUMERIC>",)),
    _aggregate(
        "COLLECT", _count_of(_pairs), "A multiset of the values that are not NULL.", ("<ANY>",)
    ),
    _aggregate(
        "ARRAY_AGG",
        _count_of(logical.ArrayType),
        "An array of the values in the order of arrival; `IGNORE NULLS` leaves NULLs out.",
        ("<ANY>",),
    ),
    _aggregate(
        "LISTAGG",
        fixed("STRING"),
        "The texts in the order of arrival, joined by a separator (by default a comma).",
        ("<CHARACTER_STRING>", "<CHARACTER_STRING>?"),
    ),
    _aggregate("FIRST_VALUE", _argument, "The first value that is not NULL.", ("<ANY>",)),
    _aggregate("LAST_VALUE", _argument, "The last value that is not NULL.", ("<ANY>",)),
    _aggregate(
        "SINGLE_VALUE", _argument, "The only value; fails if there are several.", ("<ANY>",)
    ),
    _aggregate(
        "PERCENTILE",
        _percentile,
        "The value below which the given share of all values lies, interpolated.",
        ("<NUMERIC>", "<NUMERIC>", "<INTEGER_NUMERIC>?"),
        ("<NUMERIC>", "ARRAY", "<INTEGER_NUMERIC>?"),
    ),
    _aggregate(
        "APPROX_COUNT_DISTINCT",
        fixed("BIGINT NOT NULL"),
        "Number of distinct values.",
        ("<ANY>",),
    ),
    _aggregate(
        "JSON_OBJECTAGG",
        fixed("VARCHAR(2000) NOT NULL"),
        "A JSON object of keys, which must be distinct, and values; `ABSENT ON NULL` leaves "
        "NULLs out.",
        ("<CHARACTER_STRING>", "<ANY>"),
    ),
    _aggregate(
        "JSON_ARRAYAGG",
        fixed("VARCHAR(2000) NOT NULL"),
        "A JSON array of values; `NULL ON NULL` keeps NULLs.",
        ("<ANY>",),
    ),
    _aggregate(
        "BITMAP_BUILD_AGG",
        fixed("BITMAP"),
        "A bitmap of the values; NULL if there are none.",
        ("INT",),
    ),
    _aggregate(
        "BITMAP_BUILD_CARDINALITY_AGG",
        fixed("BIGINT"),
        "Number of distinct values; NULL if there are none.",
        ("INT",),
    ),
    *(
        definition
        for name, what in (("AND", "all"), ("OR", "any"), ("XOR", "an odd number"))
        for definition in (
            _aggregate(
                f"BITMAP_{name}_AGG",
                fixed("BITMAP"),
                f"A bitmap of the numbers that are in {what} of the bitmaps; NULL if there "
                "are no bitmaps.",
                ("BITMAP",),
            ),
            _aggregate(
                f"BITMAP_{name}_CARDINALITY_AGG",
                fixed("BIGINT"),
                f"How many numbers are in {what} of the bitmaps; NULL if there are no bitmaps.",
                ("BITMAP",),
            ),
        )
    ),
    _window_size(
        "RANK", "BIGINT NOT NULL", "The rank of the row, with gaps after rows of equal rank."
    ),
    _window_size("DENSE_RANK", "BIGINT NOT NULL", "The rank of the row, without gaps."),
    _window_size("ROW_NUMBER", "BIGINT NOT NULL", "The number of the row in the order, from 1."),
    _window_size(
        "CUME_DIST",
        "DOUBLE NOT NULL",
        "The share of rows up to and including this row in the order.",
    ),
    _window_size("PERCENT_RANK", "DOUBLE NOT NULL", "The rank as a share from 0 to 1."),
    _window_size(
        "NTILE",
        "BIGINT NOT NULL",
        "The number of the row's bucket, if the rows are divided into this number of buckets.",
        ("<INTEGER_NUMERIC>",),
    ),
    _aggregate(
        "LAG",
        _argument,
        "The value a number of rows before this one in the order, or a default.",
        ("<ANY>", "<INTEGER_NUMERIC>?", "<ANY>?"),
    ),
    _aggregate(
        "LEAD",
        _argument,
        "The value a number of rows after this one in the order, or a default.",
        ("<ANY>", "<INTEGER_NUMERIC>?", "<ANY>?"),
    ),
)
