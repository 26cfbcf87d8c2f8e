"""Bitmap functions (Flink docs, "System (Built-in) Functions", Bitmap)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from millrace.common.types.bitmaps import bitmap_class, written_bitmap
from millrace.expressions.bitmap_values import bitmap_of, bitmap_text, canonical_bitmap
from millrace.expressions.columns import CallSite, Datum, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionDefinition, Signature
from millrace.expressions.result_types import always

if TYPE_CHECKING:
    from pyroaring import BitMap

__all__ = ["BITMAPS", "MOST_ELEMENTS"]

CATEGORY = "Bitmaps"
MOST_ELEMENTS = 1 << 26
"""Numbers of a bitmap that may be taken apart: a few bytes can stand for four billion of them."""


def _built(numbers: list[int | None]) -> bytes:
    return written_bitmap(bitmap_class()([n & 0xFFFFFFFF for n in numbers if n is not None]))


def _elements(raw: bytes) -> Any:
    bitmap = bitmap_of(raw)
    if len(bitmap) > MOST_ELEMENTS:
        raise EvaluationError(
            f"Failed to convert bitmap to an array: it has {len(bitmap)} numbers, and an array at "
            f"most {MOST_ELEMENTS}; BITMAP_CARDINALITY counts them"
        )
    return np.asarray(bitmap.to_array(), np.uint32).view(np.int32)


def _combined(operation: Callable[[BitMap, BitMap], BitMap]) -> Callable[[bytes, bytes], bytes]:
    return lambda one, other: written_bitmap(operation(bitmap_of(one), bitmap_of(other)))


def _kernel(function: Callable[..., Any]) -> Callable[..., Datum]:
    def run(site: CallSite, *datums: Datum) -> Datum:
        return per_value(function, site.arrow, *datums)

    return run


def _bitmap_function(
    name: str,
    signature: Signature,
    result: str,
    function: Callable[..., Any],
    text: str,
    example: tuple[str, str],
) -> FunctionDefinition:
    return FunctionDefinition(
        name,
        (signature,),
        always(result),
        _kernel(function),
        may_fail=name != "BITMAP_BUILD",
        category=CATEGORY,
        text=text,
        examples=(example,),
    )


_ONE: Signature = ("BITMAP",)
_TWO: Signature = ("BITMAP", "BITMAP")
_A, _B = "BITMAP_BUILD(ARRAY[1, 2, 3])", "BITMAP_BUILD(ARRAY[3, 4])"

BITMAPS: tuple[FunctionDefinition, ...] = (
    _bitmap_function(
        "BITMAP_BUILD",
        ("ARRAY<INT>",),
        "BITMAP",
        _built,
        "A bitmap of numbers; NULLs among them are left out.",
        ("BITMAP_BUILD(ARRAY[3, 1, 3, -1])", "{1,3,4294967295}"),
    ),
    _bitmap_function(
        "BITMAP_FROM_BYTES",
        ("<BINARY_STRING>",),
        "BITMAP",
        canonical_bitmap,
        "The bitmap that bytes in the portable format of the Roaring libraries encode; "
        "fails for other bytes.",
        (f"BITMAP_FROM_BYTES(BITMAP_TO_BYTES({_A}))", "{1,2,3}"),
    ),
    _bitmap_function(
        "BITMAP_TO_BYTES",
        _ONE,
        "BYTES",
        canonical_bitmap,
        "The bitmap in the portable format of the Roaring libraries, run-length encoded if "
        "that is shorter.",
        (f"BITMAP_FROM_BYTES(BITMAP_TO_BYTES({_B})) = {_B}", "TRUE"),
    ),
    _bitmap_function(
        "BITMAP_TO_ARRAY",
        _ONE,
        "ARRAY<INT>",
        _elements,
        "The numbers of the bitmap; negative numbers come last.",
        ("BITMAP_TO_ARRAY(BITMAP_BUILD(ARRAY[-1, 3, 1]))", "[1, 3, -1]"),
    ),
    _bitmap_function(
        "BITMAP_TO_STRING",
        _ONE,
        "STRING",
        bitmap_text,
        "The numbers of the bitmap as text, with negative numbers as unsigned ones; a very "
        "long text ends with three points.",
        (f"BITMAP_TO_STRING({_A})", "{1,2,3}"),
    ),
    _bitmap_function(
        "BITMAP_CARDINALITY",
        _ONE,
        "BIGINT",
        lambda raw: len(bitmap_of(raw)),
        "Number of numbers in the bitmap.",
        (f"BITMAP_CARDINALITY({_A})", "3"),
    ),
    _bitmap_function(
        "BITMAP_AND",
        _TWO,
        "BITMAP",
        _combined(lambda one, other: one & other),
        "The numbers that both bitmaps contain.",
        (f"BITMAP_AND({_A}, {_B})", "{3}"),
    ),
    _bitmap_function(
        "BITMAP_OR",
        _TWO,
        "BITMAP",
        _combined(lambda one, other: one | other),
        "The numbers that at least one of the bitmaps contains.",
        (f"BITMAP_OR({_A}, {_B})", "{1,2,3,4}"),
    ),
    _bitmap_function(
        "BITMAP_XOR",
        _TWO,
        "BITMAP",
        _combined(lambda one, other: one ^ other),
        "The numbers that exactly one of the bitmaps contains.",
        (f"BITMAP_XOR({_A}, {_B})", "{1,2,4}"),
    ),
    _bitmap_function(
        "BITMAP_ANDNOT",
        _TWO,
        "BITMAP",
        _combined(lambda one, other: one - other),
        "The numbers that the first bitmap contains and the second does not.",
        (f"BITMAP_ANDNOT({_A}, {_B})", "{1,2}"),
    ),
)
