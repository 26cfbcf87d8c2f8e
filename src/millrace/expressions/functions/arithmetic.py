"""Arithmetic operators: integers as in Java, decimals as in Flink, and times with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.numbers import to_decimal
from millrace.expressions.columns import CallSite, Datum, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import CallContext, FunctionDefinition
from millrace.expressions.functions.time_arithmetic import (
    interval_times,
    minus_interval,
    plus_interval,
    sum_of_times,
    times_to_add,
)
from millrace.expressions.result_types import argument
from millrace.expressions.type_merging import common_type, decimal_of

__all__ = ["ARITHMETIC", "remainder"]

CATEGORY = "Arithmetic"
_LONGEST = 76
"""Digits of ``decimal256``."""
_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
Kernel = Callable[[CallSite, Datum, Datum], Datum]
_NUMBERS = (logical.IntegralType, logical.DecimalType, logical.FloatType, logical.DoubleType)


def _operands(context: CallContext) -> tuple[LogicalType, ...] | None:
    """Types of the operands: numbers are cast to their common type, except decimals, which keep
    their own precision."""
    left, right = context.types
    if not all(isinstance(kind, _NUMBERS) for kind in context.types):
        return times_to_add(context)
    kind = common_type((left, right))
    assert kind is not None
    if isinstance(kind, logical.DecimalType):
        return left, right
    return kind.with_nullable(left.is_nullable), kind.with_nullable(right.is_nullable)


def _result(context: CallContext) -> LogicalType:
    left, right = context.types
    if not all(isinstance(kind, _NUMBERS) for kind in context.types):
        return sum_of_times(context)
    if isinstance(left, logical.DecimalType) or isinstance(right, logical.DecimalType):
        return decimal_of(context.name, left, right).with_nullable(context.any_nullable)
    return left.with_nullable(context.any_nullable)


def _arithmetic(
    kernel: Callable[[Datum, Datum], Datum], of_times: Callable[[CallSite, Datum, Datum], Datum]
) -> Kernel:
    """Kernel that adds, subtracts or multiplies.

    Args:
        kernel: kernel for numbers.
        of_times: kernel for times and intervals.
    """

    def computed(site: CallSite, left: Datum, right: Datum) -> Datum:
        result = site.result_type
        if isinstance(result, logical.DecimalType):
            return _decimal(kernel, site, left, right)
        if isinstance(result, _NUMBERS):
            return kernel(left, right)
        return of_times(site, left, right)

    return computed


def _decimal(
    kernel: Callable[[Datum, Datum], Datum], site: CallSite, left: Datum, right: Datum
) -> Datum:
    result = site.result_type
    assert isinstance(result, logical.DecimalType)
    left, right = _exact(left, site.argument_types[0]), _exact(right, site.argument_types[1])
    one, two = left.type, right.type
    if kernel is pc.multiply:
        digits = one.precision + two.precision + 1
    else:
        scale = max(one.scale, two.scale)
        digits = max(one.precision - one.scale, two.precision - two.scale) + scale + 1
    if digits > _LONGEST:
        return per_value(lambda a, b: _product(a, b, result), site.arrow, left, right)
    if digits > logical.MAX_PRECISION:
        left, right = _wide(left), _wide(right)
    made = kernel(left, right)
    return made if made.type == site.arrow else to_decimal(made, result)


def _exact(datum: Datum, kind: LogicalType) -> Datum:
    if isinstance(kind, logical.DecimalType):
        return datum
    digits = {8: 3, 16: 5, 32: 10, 64: 19}[kind.BITS]  # type: ignore[attr-defined]
    return datum.cast(pa.decimal128(digits, 0))


def _wide(datum: Datum) -> Datum:
    """The datum as ``decimal256``, which has room for sums and most products of two decimals."""
    return datum.cast(pa.decimal256(datum.type.precision, datum.type.scale))


def _product(one: Decimal, two: Decimal, result: logical.DecimalType) -> Decimal | None:
    return _fitted(_EXACT.multiply(one, two), result)


def _fitted(value: Decimal, kind: logical.DecimalType) -> Decimal | None:
    """The value rounded half up to a type; None if it does not fit."""
    # abs() would round to the 28 digits of Python's own context
    limit = Decimal(10) ** (kind.precision - kind.scale)
    if value.copy_abs() >= limit:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _EXACT)
    return rounded if rounded.copy_abs() < limit else None


def _divide(site: CallSite, left: Datum, right: Datum) -> Datum:
    result = site.result_type
    if isinstance(result, logical.DecimalType):
        return _divide_decimals(site, left, right, result)
    if isinstance(result, logical.IntegralType):
        return _divide_integers(left, right)
    return pc.divide(left, right)


def _divide_integers(left: Datum, right: Datum) -> Datum:
    try:
        made = pc.divide(left, right)
    except pa.ArrowInvalid:
        raise EvaluationError("/ by zero: guard it with NULLIF(divisor, 0), or CASE") from None
    minus = pc.equal(right, -1)
    if minus.as_py() if is_scalar(minus) else minus.true_count:
        # Arrow gives 0 for the least integer by -1, Java wraps
        made = pc.if_else(minus, pc.negate(left), made)
    return made


def _divide_decimals(
    site: CallSite, left: Datum, right: Datum, result: logical.DecimalType
) -> Datum:
    """Quotients of decimals, rounded half up to the result's scale."""
    left, right = _exact(left, site.argument_types[0]), _exact(right, site.argument_types[1])
    zero = pc.equal(right, pa.scalar(Decimal(0), right.type))
    if zero.as_py() if is_scalar(zero) else zero.true_count:
        raise EvaluationError("Division by zero: guard it with NULLIF(divisor, 0), or CASE")
    return per_value(
        lambda one, two: _fitted(_EXACT.divide(one, two), result), site.arrow, left, right
    )


def remainder(site: CallSite, left: Datum, right: Datum) -> Datum:
    """The remainder with the sign of the dividend, as in Java."""
    if isinstance(site.result_type, logical.DecimalType):
        return _decimal_remainder(site, left, right)
    scalars = is_scalar(left), is_scalar(right)
    if any(
        scalar and not datum.is_valid for scalar, datum in zip(scalars, (left, right), strict=True)
    ):
        length = None if all(scalars) else len(right if scalars[0] else left)
        return pa.scalar(None, site.arrow) if length is None else pa.nulls(length, site.arrow)
    arrays = [operand for operand in (left, right) if not is_scalar(operand)]
    valids = [pc.is_valid(array) for array in arrays if array.null_count]
    one, two = _numpy(left, 0), _numpy(right, 1)
    integers = isinstance(site.result_type, logical.IntegralType)
    if integers and np.any(two == 0):
        raise EvaluationError("/ by zero: guard it with NULLIF(divisor, 0), or CASE")
    with np.errstate(all="ignore"):
        rest = _rest_by_constant(one, two) if integers and two.ndim == 0 else np.fmod(one, two)
    if all(scalars):
        return pa.scalar(rest.item(), arrow_type(site.argument_types[0]))
    made = pa.array(rest)
    for valid in valids:
        made = pc.if_else(valid, made, pa.scalar(None, made.type))
    return made


def _rest_by_constant(one: Any, two: Any) -> Any:
    """Remainders by a constant, from a division where possible: NumPy divides by a constant
    faster than it takes remainders."""
    if two < 0 or one.ndim == 0 or (one.size and one.min() < 0):
        return np.fmod(one, two)
    if two & (two - 1) == 0:
        return one & (two - 1)
    rest = one // two
    rest *= two
    return np.subtract(one, rest, out=rest)


def _numpy(datum: Datum, filler: int) -> Any:
    if is_scalar(datum):
        return np.asarray(datum.as_py(), datum.type.to_pandas_dtype())
    filled = datum.fill_null(filler) if datum.null_count else datum
    return filled.to_numpy(zero_copy_only=False)


def _decimal_remainder(site: CallSite, left: Datum, right: Datum) -> Datum:
    left, right = _exact(left, site.argument_types[0]), _exact(right, site.argument_types[1])

    def rest(one: Any, two: Any) -> Any:
        if not two:
            raise EvaluationError("Division by zero: guard it with NULLIF(divisor, 0), or CASE")
        return one % two

    return per_value(rest, site.arrow, left, right)


def _modulo_result(context: CallContext) -> LogicalType:
    """Type of MOD: for integers the type of the divisor."""
    left, right = context.types
    if isinstance(left, logical.IntegralType) and isinstance(right, logical.IntegralType):
        return right.with_nullable(context.any_nullable)
    return _result(CallContext("%", context.types))


def _modulo_operands(context: CallContext) -> tuple[LogicalType, ...] | None:
    left, right = context.types
    if isinstance(left, logical.IntegralType) and isinstance(right, logical.IntegralType):
        return left, right
    return _operands(context)


def _remainder_any(site: CallSite, left: Datum, right: Datum) -> Datum:
    if left.type != right.type and isinstance(site.result_type, logical.IntegralType):
        left, right = left.cast(pa.int64()), right.cast(pa.int64())
    return remainder(site, left, right)


def _negate(site: CallSite, value: Datum) -> Datum:
    return pc.negate(value)


def _by_a_number(constants: Sequence[Any]) -> bool:
    """Whether the divisor is a constant other than 0 and NULL, so that the division cannot fail."""
    divisor = constants[-1]
    return divisor is not None and divisor.is_valid and divisor.as_py() != 0


def _operator(name: str, kernel: Any, text: str, *examples: tuple[str, str]) -> FunctionDefinition:
    signatures: tuple[tuple[str, ...], ...] = (("<NUMERIC>", "<NUMERIC>"),)
    if name in "+-":
        signatures += (("<DATETIME>", "<INTERVAL>"), ("<INTERVAL>", "<INTERVAL>"))
    if name == "-":
        signatures += (("<DATETIME>", "<DATETIME>"),)
    if name == "+":
        signatures += (("<INTERVAL>", "<DATETIME>"),)
    if name == "*":
        signatures += (("<INTERVAL>", "<NUMERIC>"), ("<NUMERIC>", "<INTERVAL>"))
    return FunctionDefinition(
        name,
        signatures,
        _result,
        kernel,
        adjust=_operands,
        may_fail=name == "/",
        safe_with=_by_a_number if name == "/" else None,
        category=CATEGORY,
        text=text,
        examples=examples,
    )


_SUM = _arithmetic(pc.add, plus_interval)
_DIFFERENCE = _arithmetic(pc.subtract, minus_interval)
_PRODUCT = _arithmetic(pc.multiply, interval_times)
ARITHMETIC: tuple[FunctionDefinition, ...] = (
    _operator(
        "+",
        _arithmetic(pc.add, plus_interval),
        "The sum; integers wrap around on overflow.",
        ("1.5 + 2", "3.5"),
    ),
    _operator(
        "-",
        _arithmetic(pc.subtract, minus_interval),
        "The difference; integers wrap around on overflow.",
        ("1 - 3", "-2"),
    ),
    _operator(
        "*",
        _arithmetic(pc.multiply, interval_times),
        "The product; integers wrap around on overflow.",
        ("1.5 * 2.25", "3.375"),
    ),
    _operator(
        "/",
        _divide,
        "The quotient, truncated for integers. Division by zero fails, except for DOUBLE.",
        ("7 / 2", "3"),
        ("10 / 3.0", "3.333333"),
    ),
    FunctionDefinition(
        "%",
        (("<NUMERIC>", "<NUMERIC>"),),
        _modulo_result,
        _remainder_any,
        adjust=_modulo_operands,
        may_fail=True,
        safe_with=_by_a_number,
        category=CATEGORY,
        text="The remainder of a division, with the sign of the dividend.",
        examples=(("-7 % 3", "-1"),),
    ),
    FunctionDefinition(
        "MOD",
        (("<NUMERIC>", "<NUMERIC>"),),
        _modulo_result,
        _remainder_any,
        adjust=_modulo_operands,
        may_fail=True,
        safe_with=_by_a_number,
        category=CATEGORY,
        text="The remainder of a division, with the sign of the dividend.",
        examples=(("MOD(-7, 3)", "-1"),),
    ),
    FunctionDefinition(
        "NEGATE",
        (("<NUMERIC>",), ("<INTERVAL>",)),
        argument(0),
        _negate,
        category=CATEGORY,
        text="The number with the opposite sign (the prefix -).",
        examples=(("-(5)", "-5"),),
    ),
)
