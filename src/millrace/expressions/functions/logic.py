"""Logical functions with three-valued logic (Flink docs, "System (Built-in) Functions", Logical).

Like Flink's generated code, AND and OR look at their second argument only where the first leaves
the answer open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.expressions.columns import CallSite, Datum, ExpressionNode, Frame, array_of, is_scalar
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.result_types import always, fixed

__all__ = ["LOGIC"]

CATEGORY = "Logical"


def _and(site: CallSite, frame: Frame, *arguments: ExpressionNode) -> Datum:
    return _connected(frame, arguments, pc.and_kleene, False)


def _or(site: CallSite, frame: Frame, *arguments: ExpressionNode) -> Datum:
    return _connected(frame, arguments, pc.or_kleene, True)


def _connected(
    frame: Frame,
    arguments: tuple[ExpressionNode, ...],
    kernel: Callable[[Datum, Datum], Datum],
    decides: bool,
) -> Datum:
    """Value of AND or OR; a later condition is evaluated only for rows that are not decided yet.

    Args:
        decides: the value of one that is the value of all.
    """
    value = arguments[0](frame)
    for argument in arguments[1:]:
        if not argument.may_fail:
            value = kernel(value, argument(frame))
            continue
        known = array_of(pc.equal(value, decides), frame.length).fill_null(False)
        rows = np.flatnonzero(~known.to_numpy(zero_copy_only=False))
        if len(rows) == frame.length:
            value = kernel(value, argument(frame))
        elif len(rows):
            part = array_of(argument(frame.narrowed(rows)), len(rows))
            other = pc.replace_with_mask(
                pa.repeat(pa.scalar(decides), frame.length), pc.invert(known), part
            )
            value = kernel(value, other)
    return value


def _is_unknown(value: Datum) -> Datum:
    return pc.is_null(value)


def _is_true(value: Datum) -> Datum:
    return pc.coalesce(value, pa.scalar(False))


def _is_false(value: Datum) -> Datum:
    return pc.coalesce(pc.invert(value), pa.scalar(False))


_TESTS = {"TRUE": _is_true, "FALSE": _is_false, "UNKNOWN": _is_unknown}


def _truth(name: str, value: str, answer: str, negated: bool = False) -> FunctionDefinition:
    test = _TESTS[value]
    return FunctionDefinition(
        name,
        (("BOOLEAN",),),
        fixed("BOOLEAN NOT NULL"),
        (lambda site, datum: pc.invert(test(datum)))
        if negated
        else (lambda site, datum: test(datum)),
        category=CATEGORY,
        text=f"Whether a condition {name.lower().replace(value.lower(), value)}; never unknown.",
        examples=((f"(1 = 1) {name}", answer),),
    )


def _not(site: CallSite, value: Datum) -> Any:
    return (
        pa.scalar(None, pa.bool_()) if is_scalar(value) and not value.is_valid else pc.invert(value)
    )


LOGIC: tuple[FunctionDefinition, ...] = (
    FunctionDefinition(
        "AND",
        (("BOOLEAN", "BOOLEAN*"),),
        always("BOOLEAN"),
        _and,
        lazy=True,
        category=CATEGORY,
        text="TRUE if all conditions are TRUE, FALSE if one is FALSE, otherwise unknown.",
        examples=(("TRUE AND FALSE", "FALSE"),),
    ),
    FunctionDefinition(
        "OR",
        (("BOOLEAN", "BOOLEAN*"),),
        always("BOOLEAN"),
        _or,
        lazy=True,
        category=CATEGORY,
        text="TRUE if one condition is TRUE, FALSE if all are FALSE, otherwise unknown.",
        examples=(("TRUE OR FALSE", "TRUE"),),
    ),
    FunctionDefinition(
        "NOT",
        (("BOOLEAN",),),
        always("BOOLEAN"),
        _not,
        category=CATEGORY,
        text="The opposite of a condition; unknown if the condition is unknown.",
        examples=(("NOT TRUE", "FALSE"),),
    ),
    _truth("IS TRUE", "TRUE", "TRUE"),
    _truth("IS NOT TRUE", "TRUE", "FALSE", negated=True),
    _truth("IS FALSE", "FALSE", "FALSE"),
    _truth("IS NOT FALSE", "FALSE", "TRUE", negated=True),
    _truth("IS UNKNOWN", "UNKNOWN", "FALSE"),
    _truth("IS NOT UNKNOWN", "UNKNOWN", "TRUE", negated=True),
)
