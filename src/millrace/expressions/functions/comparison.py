"""Comparison functions (Flink docs, "System (Built-in) Functions", Comparison)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import BetweenOrder
from millrace.expressions.columns import CallSite, Datum, Frame, is_scalar, per_value
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
)
from millrace.expressions.functions.java_pattern import JavaPattern
from millrace.expressions.functions.java_regex import java_pattern
from millrace.expressions.functions.lists import key_of
from millrace.expressions.functions.pattern_columns import by_pattern
from millrace.expressions.functions.sql_patterns import like_regex, similar_regex
from millrace.expressions.parameters import BYTES, CHARACTERS, NUMBERS
from millrace.expressions.result_types import always, fixed
from millrace.expressions.type_merging import common_type

__all__ = ["COMPARISON", "comparable", "equality"]

CATEGORY = "Comparison"
_MEET_TEXTS = (
    *NUMBERS,
    logical.BooleanType,
    logical.DateType,
    logical.TimeType,
    logical.TimestampType,
    logical.LocalZonedTimestampType,
)
"""Types to which a text that is compared with one of them is cast."""
_EQUALITIES = ("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
"""Comparisons that do not read numbers from texts, as in Flink; the others do."""

_ORDERS = ("<", "<=", ">", ">=", "BETWEEN")


def comparable(context: CallContext) -> tuple[LogicalType, ...] | None:
    """Types in which operands are compared. A text operand is cast to the type of the other
    operand.
    """
    known = tuple(k for k in context.types if not isinstance(k, CHARACTERS))
    texts = len(known) < len(context.types)
    if texts and known:
        if not all(isinstance(k, (*_MEET_TEXTS, logical.NullType)) for k in known):
            return None
        if context.name in _EQUALITIES and any(isinstance(k, NUMBERS) for k in known):
            left, right = context.types
            raise FunctionResolutionError(
                f"implicit type conversion between {left} and {right} is not supported: "
                f"CAST one side of {context.name} to the type of the other"
            )
    kind = common_type(known if texts and known else context.types)
    if texts and known and isinstance(kind, logical.NullType):
        kind = common_type(context.types)
    if kind is None:
        return None
    if context.name in _ORDERS and kind.children():
        raise FunctionResolutionError(
            f"rows, arrays and maps have no order: {context.name} does not take {kind}"
        )
    if isinstance(kind, logical.NullType):  # NULL = NULL: of a type that can be compared
        kind = logical.BooleanType()
    return tuple(_compared(given, kind) for given in context.types)


def _compared(given: LogicalType, kind: LogicalType) -> LogicalType:
    """Type in which one operand is compared: texts keep their own type, since lengths do not
    matter."""
    if isinstance(given, CHARACTERS) and isinstance(kind, CHARACTERS):
        return given
    if isinstance(kind, BYTES):  # to one length they would be filled up with zeros
        kind = logical.VarBinaryType()
    nullable = given.is_nullable or isinstance(given, logical.NullType)
    return kind.with_nullable(nullable)


def _compare(kernel: Callable[[Datum, Datum], Datum], name: str) -> Callable[..., Datum]:
    def compare(site: CallSite, left: Datum, right: Datum) -> Datum:
        if pa.types.is_nested(left.type):
            return per_value(_nested_compare(name), pa.bool_(), left, right)
        return kernel(left, right)

    return compare


def equality(left: Datum, right: Datum) -> Datum:
    """Comparison of values of any type for equality; NULL if one of the values is NULL."""
    if pa.types.is_nested(left.type):
        return per_value(_same, pa.bool_(), left, right)
    return pc.equal(left, right)


def _nested_compare(name: str) -> Callable[[Any, Any], bool]:
    return _same if name == "=" else lambda left, right: not _same(left, right)


def _same(left: Any, right: Any) -> bool:
    """Whether two values are equal; the order of a map's entries (a list of pairs) does not
    matter."""
    return bool(key_of(left) == key_of(right))


def _comparison(name: str, kernel: Any, text: str, example: tuple[str, str]) -> FunctionDefinition:
    return FunctionDefinition(
        name,
        (("<ANY>", "<ANY>"),),
        always("BOOLEAN"),
        _compare(kernel, name),
        adjust=comparable,
        category=CATEGORY,
        text=text,
        examples=(example,),
    )


def _distinct(negated: bool) -> Callable[..., Datum]:
    def distinct(site: CallSite, left: Datum, right: Datum) -> Datum:
        if pa.types.is_nested(left.type):
            compare = _same if negated else (lambda a, b: not _same(a, b))
            return per_value(compare, pa.bool_(), left, right, with_nulls=True)
        one, other = pc.is_null(left), pc.is_null(right)
        equal = pc.if_else(pc.or_(one, other), pc.and_(one, other), pc.equal(left, right))
        return equal if negated else pc.invert(equal)

    return distinct


def _between(site: CallSite, value: Datum, low: Datum, high: Datum) -> Datum:
    """Whether the value lies between the bounds; with SYMMETRIC the bounds may be in either
    order."""
    inside = pc.and_kleene(pc.greater_equal(value, low), pc.less_equal(value, high))
    if site.options is not BetweenOrder.SYMMETRIC:
        return inside
    swapped = pc.and_kleene(pc.greater_equal(value, high), pc.less_equal(value, low))
    return pc.or_kleene(inside, swapped)


def _in(site: CallSite, frame: Frame, needle: Any, *items: Any) -> Datum:
    value = needle(frame)
    nested = pa.types.is_nested(value.type)
    if any(item.constant is None for item in items) or nested or is_scalar(value):
        contained: Datum = pa.scalar(False)
        for item in items:
            equal = _compare(pc.equal, "=")(site, value, item(frame))
            contained = pc.or_kleene(contained, equal)
        return contained
    constants = [item.constant for item in items]
    known = [constant.as_py() for constant in constants if constant.is_valid]
    contained = pc.is_in(value, _value_set(value.type, tuple(known)))
    missing = len(known) < len(constants)
    unknown = pc.or_(pc.is_null(value), pc.invert(contained)) if missing else pc.is_null(value)
    if missing or value.null_count:
        return pc.if_else(unknown, pa.scalar(None, pa.bool_()), contained)
    return contained


@lru_cache(maxsize=256)
def _value_set(arrow: Any, values: tuple[Any, ...]) -> Any:
    return pa.array(values, arrow)


def _like(site: CallSite, text: Datum, pattern: Datum, escape: Datum | None = None) -> Datum:
    if escape is not None and not is_scalar(escape):
        return per_value(_is_like, pa.bool_(), text, pattern, escape)
    if escape is not None and not escape.is_valid:
        return pa.scalar(None, pa.bool_())
    sign = None if escape is None else escape.as_py()

    def column(sample: str, texts: Any) -> Any:
        if sign is None and "\\" not in sample and "_" not in sample:
            return pc.match_like(texts, sample)
        return pc.match_substring_regex(texts, _whole(like_regex(sample, sign)))

    return by_pattern(column, text, pattern, pa.bool_())


def _is_like(text: str, pattern: str, escape: str) -> bool:
    return bool(_compiled(like_regex(pattern, escape)).fullmatch(text))


_compiled = lru_cache(maxsize=1024)(re.compile)


def _whole(regex: str) -> str:
    """The regular expression, anchored so that RE2 matches only whole texts."""
    return f"\\A(?:{regex})\\z"


def _similar(site: CallSite, text: Datum, pattern: Datum, escape: Datum | None = None) -> Datum:
    if escape is not None and not is_scalar(escape):
        return per_value(_is_similar, pa.bool_(), text, pattern, escape)
    if escape is not None and not escape.is_valid:
        return pa.scalar(None, pa.bool_())
    sign = None if escape is None else escape.as_py()

    def column(sample: str, texts: Any) -> Any:
        known = _similar_pattern(sample, sign)
        if known.linear is not None:
            return pc.match_substring_regex(texts, _whole(known.linear))
        return per_value(lambda one: known.compiled.fullmatch(one) is not None, pa.bool_(), texts)

    return by_pattern(column, text, pattern, pa.bool_())


def _is_similar(text: str, pattern: str, escape: str) -> bool:
    return bool(_similar_pattern(pattern, escape).compiled.fullmatch(text))


def _similar_pattern(pattern: str, escape: str | None = None) -> JavaPattern:
    return java_pattern(similar_regex(pattern, escape))


def _null_test(kernel: Callable[[Datum], Datum]) -> Callable[[CallSite, Datum], Datum]:
    return lambda site, value: kernel(value)


COMPARISON: tuple[FunctionDefinition, ...] = (
    _comparison(
        "=", pc.equal, "Whether two values are equal; unknown if one is NULL.", ("1 = 1.0", "TRUE")
    ),
    _comparison(
        "<>", pc.not_equal, "Whether two values differ; unknown if one is NULL.", ("1 <> 2", "TRUE")
    ),
    _comparison(
        "<", pc.less, "Whether the first value is less than the second.", ("'abc' < 'abd'", "TRUE")
    ),
    _comparison(
        "<=",
        pc.less_equal,
        "Whether the first value is less than or equal to the second.",
        ("2 <= 2", "TRUE"),
    ),
    _comparison(
        ">", pc.greater, "Whether the first value is greater than the second.", ("2 > 3", "FALSE")
    ),
    _comparison(
        ">=",
        pc.greater_equal,
        "Whether the first value is greater than or equal to the second.",
        ("3 >= 2", "TRUE"),
    ),
    *(
        FunctionDefinition(
            name,
            (("<ANY>",),),
            fixed("BOOLEAN NOT NULL"),
            _null_test(kernel),
            category=CATEGORY,
            text=f"Whether a value {name.lower().replace('null', 'NULL')}.",
            examples=((f"1 {name}", answer),),
        )
        for name, kernel, answer in (
            ("IS NULL", pc.is_null, "FALSE"),
            ("IS NOT NULL", pc.is_valid, "TRUE"),
        )
    ),
    *(
        FunctionDefinition(
            name,
            (("<ANY>", "<ANY>"),),
            fixed("BOOLEAN NOT NULL"),
            _distinct(negated),
            adjust=comparable,
            category=CATEGORY,
            text=text,
            examples=((f"NULLIF(1, 1) {name} 1", answer),),
        )
        for name, negated, answer, text in (
            ("IS DISTINCT FROM", False, "TRUE", "Whether two values differ; two NULLs are equal."),
            (
                "IS NOT DISTINCT FROM",
                True,
                "FALSE",
                "Whether two values are equal; two NULLs are equal.",
            ),
        )
    ),
    FunctionDefinition(
        "BETWEEN",
        (("<ANY>", "<ANY>", "<ANY>"),),
        always("BOOLEAN"),
        _between,
        adjust=comparable,
        category=CATEGORY,
        text=(
            "Whether a value lies within bounds, both included; with SYMMETRIC the bounds may "
            "be in either order."
        ),
        examples=(("5 BETWEEN 1 AND 10", "TRUE"),),
    ),
    FunctionDefinition(
        "IN",
        (("<ANY>", "<ANY>*"),),
        always("BOOLEAN"),
        _in,
        lazy=True,
        adjust=comparable,
        category=CATEGORY,
        text="Whether a value is in a list; unknown if it is not, and the list contains NULL.",
        examples=(("5 IN (1, 5)", "TRUE"),),
    ),
    FunctionDefinition(
        "LIKE",
        (("<CHARACTER_STRING>", "<CHARACTER_STRING>", "<CHARACTER_STRING>?"),),
        always("BOOLEAN"),
        _like,
        category=CATEGORY,
        text=(
            "Whether a text matches a pattern, in which % stands for any characters and _ for one."
        ),
        examples=(("'abc' LIKE 'a%'", "TRUE"),),
    ),
    FunctionDefinition(
        "SIMILAR TO",
        (("<CHARACTER_STRING>", "<CHARACTER_STRING>", "<CHARACTER_STRING>?"),),
        always("BOOLEAN"),
        _similar,
        category=CATEGORY,
        text="Whether a text matches a regular expression of SQL.",
        examples=(("'abc' SIMILAR TO '(a|b)bc'", "TRUE"),),
    ),
)
