"""Mathematical functions (Flink docs, "System (Built-in) Functions", Arithmetic)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.numbers import to_decimal
from millrace.expressions.columns import CallSite, Datum, Frame, array_of, is_scalar, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    ResultStrategy,
    Signature,
)
from millrace.expressions.functions.java_random import JavaRandom
from millrace.expressions.result_types import always, argument, fixed

__all__ = ["MATHEMATICS"]

CATEGORY = "Arithmetic"
_LONGEST = 76
"""Digits of ``decimal256``."""
Kernel = Callable[..., Datum]
NUMBER: Signature = ("<NUMERIC>",)


def _double(function: Callable[..., Any]) -> Kernel:
    """Kernel of a NumPy function of doubles; out of range it gives NaN or infinity, as in Java."""

    def kernel(site: CallSite, *datums: Datum) -> Datum:
        casts = [pc.cast(datum, pa.float64(), safe=False) for datum in datums]
        valid = casts[0]
        for operand in casts[1:]:
            valid = pc.if_else(pc.is_valid(operand), valid, pa.scalar(None, pa.float64()))
        if is_scalar(valid) and not valid.is_valid:
            return valid
        with np.errstate(all="ignore"):
            made = function(*(_numpy(value) for value in casts))
        if is_scalar(valid):
            return pa.scalar(float(made), pa.float64())
        result = pa.array(made)
        if not valid.null_count:
            return result
        return pc.if_else(pc.is_valid(valid), result, pa.scalar(None, pa.float64()))

    return kernel


def _numpy(datum: Datum) -> Any:
    if is_scalar(datum):
        return np.float64(datum.as_py() if datum.is_valid else 0)
    return datum.fill_null(0).to_numpy(zero_copy_only=False)


def _log(base_or_value: Any, value: Any = None) -> Any:
    return np.log(base_or_value) if value is None else np.log(value) / np.log(base_or_value)


def _whole(kernel: Callable[[Datum], Datum]) -> Kernel:
    def whole(site: CallSite, value: Datum) -> Datum:
        if isinstance(site.argument_types[0], logical.IntegralType):
            return value
        made = kernel(_with_room(value))
        return made.cast(site.arrow, safe=False) if made.type != site.arrow else made

    return whole


def _with_room(value: Datum) -> Datum:
    """Decimals in a type with one more digit, which 99.9 needs to become 100."""
    if not pa.types.is_decimal(value.type):
        return value
    return value.cast(pa.decimal256(_LONGEST, value.type.scale))


def _whole_type(context: CallContext) -> LogicalType:
    kind = context.types[0]
    if isinstance(kind, logical.DecimalType):
        return logical.DecimalType(kind.precision, 0, nullable=kind.is_nullable)
    return kind


def _absolute(site: CallSite, value: Datum) -> Datum:
    return pc.abs(value)


def _sign(site: CallSite, value: Datum) -> Datum:
    sign = pc.sign(value)
    if isinstance(site.result_type, logical.DecimalType):
        return to_decimal(sign.cast(pa.int64(), safe=False), site.result_type)
    return sign.cast(site.arrow)


def _rounded_type(context: CallContext) -> LogicalType:
    """Type of a rounded number: a decimal keeps the given number of fractional digits, by
    default none."""
    kind = context.types[0].with_nullable(context.any_nullable)
    if not isinstance(kind, logical.DecimalType):
        return kind
    digits = context.literals[1] if len(context.types) > 1 else 0
    if digits is None:
        return kind
    if digits >= kind.scale:
        return kind
    whole = kind.precision - kind.scale + 1
    scale = max(digits, 0)
    return logical.DecimalType(
        max(min(whole + scale, logical.MAX_PRECISION), 1), scale, nullable=kind.is_nullable
    )


def _rounder(mode: str) -> Kernel:
    def kernel(site: CallSite, value: Datum, digits: Datum | None = None) -> Datum:
        if digits is not None and not (is_scalar(digits) and digits.is_valid):
            return per_value(lambda v, d: _one(v, d, mode), site.arrow, value, digits)
        count = 0 if digits is None else digits.as_py()
        kind = site.argument_types[0]
        if isinstance(kind, logical.DecimalType):
            if count >= kind.scale:
                return value
            count = max(count, -logical.MAX_PRECISION)
            assert isinstance(site.result_type, logical.DecimalType)
            return to_decimal(pc.round(_with_room(value), count, mode), site.result_type)
        if isinstance(kind, logical.IntegralType) and count >= 0:
            return value
        return per_value(lambda v: _one(v, count, mode), site.arrow, value)

    return kernel


_EXACT = Context(prec=100)
_MODES = {"half_towards_infinity": "ROUND_HALF_UP", "towards_zero": "ROUND_DOWN"}


def _one(value: Any, digits: int, mode: str) -> Any:
    """The value rounded by its shortest decimal text, as by Java's BigDecimal.valueOf."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    if digits >= -int(exact.as_tuple().exponent):
        return value
    if digits < -exact.adjusted() - 1:
        return type(value)(0)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), _MODES[mode], _EXACT)
    if isinstance(value, Decimal):
        return rounded
    return int(rounded) if isinstance(value, int) else float(rounded) + 0.0  # no -0.0


def _random(site: CallSite, frame: Frame, seed: Datum | None = None) -> Datum:
    if seed is None:
        return pa.array(np.random.default_rng().random(frame.length))
    sources = _sources(site, frame, seed)
    return pa.array([source and source.next_double() for source in sources], pa.float64())


def _random_integer(site: CallSite, frame: Frame, *arguments: Datum) -> Datum:
    *seed, bound = arguments
    bounds = array_of(bound, frame.length)
    least = pc.min(bounds).as_py()
    if least is not None and least <= 0:
        raise EvaluationError(f"{site.function}: the bound must be positive, not {least}")
    if not seed:
        made = np.random.default_rng().integers(0, bounds.fill_null(1).to_numpy(), dtype=np.int32)
        drawn = pa.array(made, pa.int32())
        return pc.if_else(bounds.is_valid(), drawn, pa.scalar(None, pa.int32()))
    pairs = zip(_sources(site, frame, seed[0]), bounds.to_pylist(), strict=True)
    values = [
        source.next_integer(most) if source and most is not None else None for source, most in pairs
    ]
    return pa.array(values, pa.int32())


def _sources(site: CallSite, frame: Frame, seed: Datum) -> Iterable[JavaRandom | None]:
    """Random generator of each row; with a constant seed all rows share one, which continues in
    the next batch."""
    if not is_scalar(seed):
        return (None if value is None else JavaRandom(value) for value in seed.to_pylist())
    if not seed.is_valid:
        return repeat(None, frame.length)
    source = site.memory.get("source")
    if source is None:
        source = site.memory["source"] = JavaRandom(seed.as_py())
    return repeat(source, frame.length)


def _math(
    name: str,
    signatures: tuple[Signature, ...],
    result: ResultStrategy,
    kernel: Kernel,
    text: str,
    *examples: tuple[str, str],
) -> FunctionDefinition:
    return FunctionDefinition(
        name, signatures, result, kernel, category=CATEGORY, text=text, examples=examples
    )


def _of_double(
    name: str, function: Any, text: str, *examples: tuple[str, str]
) -> FunctionDefinition:
    return _math(name, (NUMBER,), always("DOUBLE"), _double(function), text, *examples)


MATHEMATICS: tuple[FunctionDefinition, ...] = (
    _math("ABS", (NUMBER,), argument(0), _absolute, "The value without sign.", ("ABS(-5)", "5")),
    _math("SIGN", (NUMBER,), argument(0), _sign, "-1, 0 or 1.", ("SIGN(-5)", "-1")),
    _math(
        "POWER",
        (("<NUMERIC>", "<NUMERIC>"),),
        always("DOUBLE"),
        _double(np.power),
        "A number to the power of another.",
        ("POWER(2, 10)", "1024.0"),
    ),
    _of_double("SQRT", np.sqrt, "The square root.", ("SQRT(4)", "2.0")),
    _of_double("LN", np.log, "The natural logarithm.", ("LN(1)", "0.0")),
    _of_double("LOG10", np.log10, "The logarithm of base 10.", ("LOG10(100)", "2.0")),
    _of_double("LOG2", np.log2, "The logarithm of base 2.", ("LOG2(8)", "3.0")),
    _math(
        "LOG",
        (NUMBER, ("<NUMERIC>", "<NUMERIC>")),
        always("DOUBLE"),
        _double(_log),
        "The natural logarithm, or the logarithm to a base.",
        ("LOG(1)", "0.0"),
    ),
    _of_double("EXP", np.exp, "e to the power of a number.", ("EXP(0)", "1.0")),
    _of_double("SIN", np.sin, "The sine.", ("SIN(0)", "0.0")),
    _of_double("COS", np.cos, "The cosine.", ("COS(0)", "1.0")),
    _of_double("TAN", np.tan, "The tangent.", ("TAN(0)", "0.0")),
    _of_double("COT", lambda v: 1.0 / np.tan(v), "The cotangent.", ("COT(1) > 0", "TRUE")),
    _of_double("ASIN", np.arcsin, "The arc sine.", ("ASIN(0)", "0.0")),
    _of_double("ACOS", np.arccos, "The arc cosine.", ("ACOS(1)", "0.0")),
    _of_double("ATAN", np.arctan, "The arc tangent.", ("ATAN(0)", "0.0")),
    _math(
        "ATAN2",
        (("<NUMERIC>", "<NUMERIC>"),),
        always("DOUBLE"),
        _double(np.arctan2),
        "The angle of a point, by arc tangent.",
        ("ATAN2(0, 1)", "0.0"),
    ),
    _of_double("SINH", np.sinh, "The hyperbolic sine.", ("SINH(0)", "0.0")),
    _of_double("COSH", np.cosh, "The hyperbolic cosine.", ("COSH(0)", "1.0")),
    _of_double("TANH", np.tanh, "The hyperbolic tangent.", ("TANH(0)", "0.0")),
    _of_double("DEGREES", np.degrees, "Radians in degrees.", ("DEGREES(0)", "0.0")),
    _of_double("RADIANS", np.radians, "Degrees in radians.", ("RADIANS(0)", "0.0")),
    _math(
        "ROUND",
        (("<NUMERIC>", "INT?"),),
        _rounded_type,
        _rounder("half_towards_infinity"),
        "The number rounded half up to a number of digits after the point, or before it if "
        "negative.",
        ("ROUND(1.255, 2)", "1.26"),
        ("ROUND(12345, -2)", "12300"),
    ),
    _math(
        "TRUNCATE",
        (("<NUMERIC>", "INT?"),),
        _rounded_type,
        _rounder("towards_zero"),
        "The number truncated to a number of digits after the point.",
        ("TRUNCATE(42.345, 2)", "42.34"),
    ),
    _math(
        "PI",
        ((),),
        fixed("DOUBLE NOT NULL"),
        lambda site: pa.scalar(math.pi),
        "The ratio of a circle to its diameter.",
        ("PI()", "3.141592653589793"),
    ),
    _math(
        "E",
        ((),),
        fixed("DOUBLE NOT NULL"),
        lambda site: pa.scalar(math.e),
        "The base of natural logarithms.",
        ("E()", "2.718281828459045"),
    ),
    FunctionDefinition(
        "RAND",
        (("INT?",),),
        always("DOUBLE"),
        _random,
        of_batch=True,
        deterministic=False,
        category=CATEGORY,
        text="A random number from 0 to below 1; with a seed, the numbers of Java's Random.",
        examples=(("RAND() < 1", "TRUE"),),
    ),
    FunctionDefinition(
        "RAND_INTEGER",
        (("INT", "INT?"),),
        always("INT"),
        _random_integer,
        of_batch=True,
        may_fail=True,
        deterministic=False,
        category=CATEGORY,
        text=(
            "A random integer from 0 to below a bound; with a seed as first argument, the "
            "numbers of Java's Random."
        ),
        examples=(("RAND_INTEGER(1)", "0"),),
    ),
)
WHOLE_KERNELS: dict[str, Kernel] = {"FLOOR": _whole(pc.floor), "CEIL": _whole(pc.ceil)}
"""FLOOR and CEIL of numbers; `millrace.expressions.functions.temporal` has those of times."""
whole_type = _whole_type
